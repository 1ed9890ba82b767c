/* SPDX-License-Identifier: MIT */
/*
 * What the workloads lease, idalloc, pool and counter have in common: an episode is
 * so short that the loop around it matters, so each is run twice: with nothing
 * between two episodes, which is what is reported, and with about 90 ns of work,
 * which is what remains in a program that does something else, too.
 */
#ifndef PAWL_BENCH_EPISODES_H
#define PAWL_BENCH_EPISODES_H

#include "lcg.h"
#include "workload.h"

/* The first thing in a member of the crew. */
struct episodes {
	PAWL_SEQUESTER pawl_atomic64 *stop;
	uint64_t random, count;
	uint32_t work; /* steps between two episodes */
};

/* Figures 2 and 3 are episodes_run's, the others the workload's. */
/* clang-format off */
#define EPISODE_FIGURES {"shards", "overflow_percent", "cpu_ns", "cpu_ns_with_work"}
/* clang-format on */

/*
 * Ends an episode, the *count-th; false when it was the last. The fence: what an
 * episode leaves in memory is there, and not in a register, when the next begins;
 * but not the count, which is the loop's own.
 */
static inline bool episode_again(struct episodes *e, uint64_t *count)
{
	++*count;
	pawl_bare_light_fence();
	if (__builtin_expect(e->work > 0, false))
		e->random = lcg_walk(e->random, e->work);
	/* Relaxed: only says when to end. */
	return pawl_load_relaxed(e->stop) == 0;
}

/*
 * Runs the loop on the members, of so many bytes each, both times. `between` is
 * called after the first, to look at what it left. Returns false as run() does.
 */
bool episodes_run(const struct bench_shape *shape, crew_work *loop, void *members,
		  size_t size, void (*between)(struct bench_outcome *outcome),
		  struct bench_outcome *outcome);

#endif /* PAWL_BENCH_EPISODES_H */
