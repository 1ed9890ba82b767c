/* SPDX-License-Identifier: MIT */
/*
 * pawl/park.h - sleeping, once for all locks.
 *
 * A thread that has polled long enough registers in a table hashed by the
 * address it waits on, and sleeps. Whoever stores to that address looks at the
 * table's bucket afterwards: one load, no read-modify-write and no fence,
 * because the sleeper pays for the order with the heavy fence.
 *
 *   sleeper:  bucket.wanted++ ; heavy fence ; look at the word ; sleep
 *   waker:    store to the word ; light fence ; look at bucket.wanted
 *
 *   P1  Of a sleeper and a waker at least one sees the other's store.
 *   P2  wanted counts the sleepers of a bucket whom nobody has woken yet. It may
 *       be too high for the asker (other addresses share the bucket); it must
 *       never be too low.
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

struct pawl_sleeper;

/* The wakers' word has a line of its own, which is read only while nobody
 * comes or goes. */
struct pawl_bucket {
	PAWL_SEQUESTER pawl_atomic64 wanted; /* P2 */
	/* pawl_mutex's: who makes room for a head that is not up yet, or 0, and since
	 * when it waits: who woke it, or another one; see there. */
	pawl_atomic64 caller, called;
	__attribute__((aligned(64))) pawl_atomic64 lock; /* guards the list */
	struct pawl_sleeper *first, *last;
	uint64_t arrivals; /* so far */
};

/* What a sleeper waits for: the word to be, or not to be, a value. CHANGE is
 * as NE, but does not sleep for long. */
enum pawl_until { PAWL_UNTIL_EQ, PAWL_UNTIL_NE, PAWL_UNTIL_CHANGE };

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

extern struct pawl_bucket pawl_buckets_[];

/* Polls *w for a while, then sleeps until some pawl_unpark_(w, v) comes with a
 * v that fits. May return early for no reason. */
void pawl_park_(const pawl_atomic64 *w, enum pawl_until until, uint64_t value)
	__attribute__((cold));

/* Wakes who waits on w for what `value` satisfies. */
void pawl_unpark_(const pawl_atomic64 *w, uint64_t value) __attribute__((cold));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Neighbouring words fall into different buckets. */
static inline struct pawl_bucket *pawl_bucket_of_(const volatile void *address)
{
	struct pawl_bucket *buckets;

	pawl_raw_find(pawl_buckets_, buckets);
	return &buckets[pawl_hash(pawl_raw_place(address), PAWL_BUCKET_BITS)];
}

/* The waker's look at the table, after its store: true if there may be a
 * sleeper (P1, P2). */
static inline bool pawl_parked_near_(const volatile void *address)
{
	if (!PAWL_PARKS) /* in a program that is checked nobody sleeps */
		return false;
	pawl_bare_light_fence(); /* [L] */
	/* Relaxed: [L] and its partner order it after the caller's store. */
	return __builtin_expect(pawl_load_relaxed(&pawl_bucket_of_(address)->wanted) != 0,
				false);
}

#endif /* PAWL_PARK_H */
