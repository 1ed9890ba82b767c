/* SPDX-License-Identifier: MIT */
#include "cli/common/interrupt.h"

#include "crew.h"

#include <stddef.h>

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	crew_interrupt();
}

void catch_interrupt(void)
{
	struct sigaction action = {.sa_flags = (int)SA_RESETHAND | SA_RESTART};

	action.sa_handler = on_interrupt;
	sigaction(SIGINT, &action, NULL);
}

bool was_interrupted(void)
{
	return crew_interrupted();
}
