/* SPDX-License-Identifier: MIT */
/*
 * pawl/park.h - sleeping, once for all locks.
 *
 * A thread that has polled long enough queues under the address it waits on, in the
 * runtime's parking table, and sleeps. A thread that stores to that address then
 * loads one cell of a filter, which a fixed hash of the address chooses: one
 * load, no read-modify-write and no fence, because the sleeper pays for the order
 * with the heavy fence.
 *
 *   sleeper:  cell.wanted++ ; heavy fence ; load the word ; sleep
 *   waker:    store to the word ; light fence ; load cell.wanted
 *
 *   P1  Of a sleeper and a waker at least one sees the other's store.
 *   P2  wanted counts the sleepers of a cell that no waker has woken yet. It may be
 *       too high for a waker (other addresses share the cell); it must never be too
 *       low.
 *   P3  A waker uses the address of the word it stored to, never its content;
 *       and marks a sleeper woken as its last access to it, but for the system
 *       call, which gets an address and nothing else.
 *
 * Order      [L] pairs with the heavy fence in the runtime's park.c: P1.
 *
 * Where the system has no membarrier, wanted never falls to 0: every waker then
 * takes the slow path, and passes a full fence there.
 */
#ifndef PAWL_PARK_H
#define PAWL_PARK_H

#include <pawl/word.h>

/* A cell has a line of its own, which is only read while no thread falls asleep or
 * is woken. */
struct pawl_filter {
	PAWL_SEQUESTER pawl_atomic64 wanted; /* P2 */
	/* pawl_mutex's hints: which thread cedes its CPU to a head that was woken and does
	 * not run yet, or 0; and since when that head waits for a CPU. */
	pawl_atomic64 waker, woken_at;
};

/* What a sleeper waits for: the word to be, or not to be, a value. CHANGE is like NE
 * with a short time limit. */
enum pawl_until { PAWL_UNTIL_EQ, PAWL_UNTIL_NE, PAWL_UNTIL_CHANGE };

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

extern struct pawl_filter pawl_filter_[];

/* Polls *w for a while, then sleeps until a pawl_unpark_(w, v) with a v that satisfies
 * the condition. May return spuriously. */
void pawl_park_(const pawl_atomic64 *w, enum pawl_until until, uint64_t value)
	__attribute__((cold));

/* Wakes the threads that wait on w for what `value` satisfies. */
void pawl_unpark_(const pawl_atomic64 *w, uint64_t value) __attribute__((cold));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* The cell of an address. Neighbouring words have different cells. */
static inline struct pawl_filter *pawl_filter_of_(const volatile void *address)
{
	struct pawl_filter *filter;

	pawl_raw_find(pawl_filter_, filter);
	return &filter[pawl_hash(pawl_raw_place(address), PAWL_FILTER_BITS)];
}

/* The waker's check of the filter, after its store: true if there may be a sleeper
 * (P1, P2). */
static inline bool pawl_parked_near_(const volatile void *address)
{
	if (!PAWL_PARKS) /* under `pawl check --program` no thread sleeps */
		return false;
	pawl_bare_light_fence(); /* [L] */
	/* Relaxed: [L] and its partner order it after the caller's store. */
	return __builtin_expect(pawl_load_relaxed(&pawl_filter_of_(address)->wanted) != 0,
				false);
}

#endif /* PAWL_PARK_H */
