/* SPDX-License-Identifier: MIT */
/* Scenarios that compare every result with what it should be: which came up, and
 * whether it is the right one. */
#ifndef CHECK_RESULTS_H
#define CHECK_RESULTS_H

#include "outside.h"

/* What was seen in this execution; counts when that comes to its end. */
static uint64_t seen;

OUTSIDE static inline void see(int sight)
{
	seen |= (uint64_t)1 << sight;
}

static inline void expect(const char *call, int result, int expected)
{
	if (result != expected)
		explore_fail(VERDICT_ASSERTION, "%s returned %d, not %d", call, result,
			     expected);
}

#endif /* CHECK_RESULTS_H */
