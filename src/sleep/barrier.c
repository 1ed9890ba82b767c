/* SPDX-License-Identifier: MIT */
/*
 * The reverse fence service: one barrier is under way at a time, and whoever asks
 * meanwhile shares the next one.
 *
 *   F1  Requests are numbered. A barrier serves those whose number was given out
 *       before it began: its thread reads the last one first, [P], and with it
 *       all that these had stored before they asked, [Q]. A request that finds a
 *       barrier under way is not served by that one: it may have passed the CPU
 *       that matters already.
 *   F2  `served` is the last number that a barrier which is over has served; it is
 *       stored by the lock's holder. Who reads it sees what every thread had
 *       stored when the barrier reached it.
 *   F3  The queue spares calls, no more: whoever has waited there for long, perhaps
 *       for a thread that is stopped, makes a barrier of its own.
 *
 * Order: [P] pairs with [Q]: F1.
 */
#include "sleep/fences.h"
#include "sleep/parking.h"

/* Many times what a barrier takes. */
enum { QUEUE_NS = 1000 * 1000 };

bool pawl_barrier_call(unsigned cpu)
{
	if (cpu == PAWL_ALL_CPUS)
		return pawl_os_barrier();
	return cpu == PAWL_ALL_RESTART ? pawl_os_barrier_restart()
				       : pawl_os_barrier_cpu(cpu);
}

static void add(pawl_atomic64 *count, uint64_t n)
{
	/* Relaxed: under the lock; who reads wants no order. */
	pawl_store_relaxed(count, pawl_load_relaxed(count) + n);
}

bool pawl_barriers_pass(struct pawl_barriers *b, unsigned cpu)
{
	uint64_t mine = pawl_fetch_add_release(&b->asked, 1) + 1; /* [Q] */
	bool good = true;

	/* Ends with the barrier that is under way, and those queued before us. */
	if (!pawl_guard_lock_for(&b->lock, QUEUE_NS))
		return pawl_barrier_call(cpu); /* F3 */
	/* Relaxed: stored under the lock only, which also gives F2. */
	if (pawl_load_relaxed(&b->served) >= mine) {
		add(&b->joined, 1);
	} else {
		/* Relaxed: the barrier is an acquire fence too. */
		uint64_t all = pawl_load_relaxed(&b->asked); /* [P] */
		uint64_t start = pawl_os_now();

		good = pawl_barrier_call(cpu);
		add(&b->calls, 1);
		add(&b->ns, pawl_os_now() - start);
		if (good)
			pawl_store_relaxed(&b->served, all); /* Relaxed: F2 */
	}
	pawl_guard_unlock(&b->lock);
	return good;
}
