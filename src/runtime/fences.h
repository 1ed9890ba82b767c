/* SPDX-License-Identifier: MIT */
/* The reverse fence service from the inside; pawl/atomic.h has its contract. */
#ifndef PAWL_RUNTIME_FENCES_H
#define PAWL_RUNTIME_FENCES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * As pawl_heavy_fence, against light fences on one CPU. False, and no more than
 * a full fence, where the system cannot aim: then use pawl_heavy_fence.
 */
bool pawl_heavy_fence_cpu(unsigned cpu);

struct pawl_fence_stats {
	uint64_t barriers; /* system calls */
	uint64_t joined;   /* heavy fences that needed none of their own */
	uint64_t ns;	   /* spent in the calls */
};
void pawl_fence_stats(struct pawl_fence_stats *stats);

/* Nobody is in a barrier, in the child of a fork. */
void pawl_fence_forget(void);

#endif /* PAWL_RUNTIME_FENCES_H */
