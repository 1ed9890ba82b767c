/* SPDX-License-Identifier: MIT */
/* What the scenarios of all objects share: see scenario.h. */
#ifndef CHECK_OUTSIDE_H
#define CHECK_OUTSIDE_H

#include "scenario.h"

/* What runs while no engine does must not be instrumented. */
#define OUTSIDE __attribute__((no_sanitize_thread))

OUTSIDE static inline bool always(const struct lock_type *type)
{
	(void)type;
	return true;
}

OUTSIDE static inline enum verdict passes(const struct lock_type *type)
{
	(void)type;
	return VERDICT_PASSED;
}

#endif /* CHECK_OUTSIDE_H */
