/* SPDX-License-Identifier: MIT */
/*
 * Shared by the workloads lease, idalloc, pool and counter: an episode is so short that
 * the loop around it matters, so each is run twice: with nothing between two episodes,
 * which is the reported result, and with about 90 ns of work, which is the cost left in a
 * program that also does other things.
 */
#ifndef PAWL_BENCH_EPISODES_H
#define PAWL_BENCH_EPISODES_H

#include "lcg.h"
#include "workload.h"

/* The first field of a crew member. */
struct episodes {
	PAWL_SEQUESTER pawl_atomic64 *stop;
	uint64_t random, count;
	uint32_t work; /* steps between two episodes */
};

/* Figures 2 and 3 are set by episodes_run, the others by the workload. */
/* clang-format off */
#define EPISODE_FIGURES {"shards", "overflow_percent", "cpu_ns", "cpu_ns_with_work"}
/* clang-format on */

/*
 * Ends episode number *count; false when it was the last. The fence forces what an
 * episode writes out of registers before the next one begins; the count, which belongs to
 * the loop, may stay in one.
 */
static inline bool episode_again(struct episodes *e, uint64_t *count)
{
	++*count;
	pawl_bare_light_fence();
	if (__builtin_expect(e->work > 0, false))
		e->random = lcg_walk(e->random, e->work);
	/* Relaxed: only ends the loop. */
	return pawl_load_relaxed(e->stop) == 0;
}

/*
 * Runs the loop on the members, of `size` bytes each, both times; `between` is called
 * after the first. Returns false as run() does.
 */
bool episodes_run(const struct bench_shape *shape, crew_work *loop, void *members,
		  size_t size, void (*between)(struct bench_outcome *outcome),
		  struct bench_outcome *outcome);

#endif /* PAWL_BENCH_EPISODES_H */
