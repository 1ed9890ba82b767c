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

/* One of these, for so many threads that come once; behind `ends` the sights that it must
 * show, each by its SIGHT, and what else is to be said of it. */
#define SCENARIO(called, is, count, makes, does, ends, ...)                             \
	{                                                                               \
		.name = called, .what = is, .least_threads = count,                     \
		.only_threads = count, .only_episodes = 1, .waiting_slots = 1,          \
		.applies = always, .expected = passes, .set_up = makes, .thread = does, \
		.finished = ends, .sight_names = sight_names, .sights = __VA_ARGS__     \
	}
#define ONE(called, is, ...)   SCENARIO(called, is, 1, __VA_ARGS__)
#define TWO(called, is, ...)   SCENARIO(called, is, 2, __VA_ARGS__)
#define THREE(called, is, ...) SCENARIO(called, is, 3, __VA_ARGS__)
#define SIGHT(what)	       ((uint64_t)1 << SAW_##what)

#endif /* CHECK_RESULTS_H */
