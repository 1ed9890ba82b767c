/* SPDX-License-Identifier: MIT */
/*
 * Unique integers: every thread gets one and puts it back in a loop. This measures the
 * allocator alone; cpu_ns_with_work is the cost left when the program does other work,
 * too (Khuong's notes on contention management).
 */
#include "stores.h"

static inline void use(struct store_thread *me, uint64_t slot)
{
	(void)me, (void)slot;
	pawl_bare_light_fence(); /* as in episode_again */
}

#include "store_loops.h"

static __attribute__((flatten)) void pawl_loop(void *m)
{
	loop(m, pawl_get, pawl_put);
}

const struct workload workload_idalloc = {
	.name = "idalloc",
	.about = "get a unique integer and put it back",
	STORE_WORKLOAD,
};
