/* SPDX-License-Identifier: MIT */
/* The reverse fence service from the inside; pawl/word.h has its contract. */
#ifndef PAWL_SLEEP_FENCES_H
#define PAWL_SLEEP_FENCES_H

#include <pawl/atomic.h>

/* Whether the heavy fence is more than a full one, as far as is known: whoever would
 * rely on the bare light fence had better ask first. */
bool pawl_heavy_fence_works(void);

/* CPUs that can be aimed at have numbers below this. */
enum { PAWL_FENCE_CPUS = 4096 };

/*
 * As pawl_heavy_fence, against light fences on one CPU. False, and no more than
 * a full fence, where the system cannot aim: then use pawl_heavy_fence.
 */
bool pawl_heavy_fence_cpu(unsigned cpu);

/* As pawl_heavy_fence, and ends the restartable sequences that others are in. False,
 * and no more than a full fence, where the system cannot. */
bool pawl_heavy_fence_restart(void);

/* The queue for barriers of one kind; see barrier.c. */
struct pawl_barriers {
	__attribute__((aligned(64))) pawl_atomic64 lock;
	pawl_atomic64 asked;  /* F1 */
	pawl_atomic64 served; /* F2 */
	pawl_atomic64 calls, joined, ns;
};

/* Passes a barrier that begins after the call, against one CPU or against all, with
 * their sequences or without; false if the system refused. */
#define PAWL_ALL_CPUS	 (~0u)
#define PAWL_ALL_RESTART (~0u - 1)
bool pawl_barrier_call(unsigned cpu);
bool pawl_barriers_pass(struct pawl_barriers *b, unsigned cpu);

struct pawl_fence_stats {
	uint64_t barriers; /* system calls */
	uint64_t joined;   /* heavy fences that needed none of their own */
	uint64_t ns;	   /* spent in the calls */
};
void pawl_fence_stats(struct pawl_fence_stats *stats);

/* Nobody is in a barrier, in the child of a fork. */
void pawl_fence_forget(void);

#endif /* PAWL_SLEEP_FENCES_H */
