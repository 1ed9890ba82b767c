/* SPDX-License-Identifier: MIT */
/* What hapax-vw alone does: see pawl/hapax_vw.h. */
#include "locks.h"

#include <sim/runtime.h>

#include <string.h>

/* tired: a visible waiter may leave its slot and go on unseen. */
static void tired_set_up(void *argument)
{
	sections_set_up(argument);
	sim_impatient = true;
}

OUTSIDE static bool tired_applies(const struct lock_type *type)
{
	return strcmp(type->name, "hapax-vw") == 0;
}

const struct scenario hapax_vw_scenarios[] = {
	{"tired", "a visible waiter may leave its slot and go on unseen", 3, 3, 1, 1,
	 tired_applies, passes, tired_set_up, sections_thread, check_finished},
	{.name = NULL},
};
