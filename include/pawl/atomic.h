/* SPDX-License-Identifier: MIT */
/*
 * pawl/atomic.h - the memory seam, pawl/word.h, and on top of it the waiting seam.
 *
 * Waiting is a primitive, not a loop: pawl_await_* return once the word has
 * the requested value. The thread that stores this value calls pawl_notify
 * afterwards, with the same word and policy. `how` must be a compile-time
 * constant; it then inlines away.
 */
#ifndef PAWL_ATOMIC_H
#define PAWL_ATOMIC_H

#include <pawl/park.h>
#include <pawl/word.h>

/* How a thread waits. Lock and unlock of one lock must agree on it. */
enum pawl_wait {
	PAWL_SPIN, /* polls: best while threads do not outnumber CPUs */
	PAWL_PARK, /* polls for a few microseconds, then sleeps */
};

/* Waits until the word is `value`. */

static inline void pawl_await_eq_relaxed(const pawl_atomic64 *w, uint64_t value,
					 enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		pawl_raw_await_eq(&w->raw, value, __ATOMIC_RELAXED);
	else
		while (pawl_load_relaxed(w) != value)
			pawl_park_(w, PAWL_UNTIL_EQ, value);
}

static inline void pawl_await_eq_acquire(const pawl_atomic64 *w, uint64_t value,
					 enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		pawl_raw_await_eq(&w->raw, value, __ATOMIC_ACQUIRE);
	else
		while (pawl_load_acquire(w) != value)
			pawl_park_(w, PAWL_UNTIL_EQ, value);
}

/* Waits until the word is not `value`; returns what it is. */

static inline uint64_t pawl_await_ne_relaxed(const pawl_atomic64 *w, uint64_t value,
					     enum pawl_wait how)
{
	uint64_t seen;

	if (how == PAWL_SPIN)
		return pawl_raw_await_ne(&w->raw, value, __ATOMIC_RELAXED);
	while ((seen = pawl_load_relaxed(w)) == value)
		pawl_park_(w, PAWL_UNTIL_NE, value);
	return seen;
}

static inline uint64_t pawl_await_ne_acquire(const pawl_atomic64 *w, uint64_t value,
					     enum pawl_wait how)
{
	uint64_t seen;

	if (how == PAWL_SPIN)
		return pawl_raw_await_ne(&w->raw, value, __ATOMIC_ACQUIRE);
	while ((seen = pawl_load_acquire(w)) == value)
		pawl_park_(w, PAWL_UNTIL_NE, value);
	return seen;
}

/*
 * Waits until the word differs from `seen`, but returns from time to time even
 * if it does not: for a waiter whose condition is in another word, which it
 * checks after each return. Returns the last value read.
 */

static inline uint64_t pawl_await_change_acquire(const pawl_atomic64 *w, uint64_t seen,
						 enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		return pawl_raw_await_change(&w->raw, seen, __ATOMIC_ACQUIRE);
	pawl_park_(w, PAWL_UNTIL_CHANGE, seen);
	return pawl_load_acquire(w);
}

/*
 * Waits while the word is `value`, for a short time only: for a waiter that then
 * waits in another way. Returns the last value read.
 */

static inline uint64_t pawl_await_briefly_acquire(const pawl_atomic64 *w, uint64_t value,
						  enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		return pawl_raw_await_briefly(&w->raw, value, __ATOMIC_ACQUIRE);
	pawl_park_(w, PAWL_UNTIL_CHANGE, value);
	return pawl_load_acquire(w);
}

/*
 * Waits with read-modify-writes, so that this CPU owns the line when the wait
 * ends (Hemlock paper, section 2.1). pawl_await_cas_* wait until their
 * compare-and-swap from `from` to `to` succeeds.
 */

static inline void pawl_await_cas_acquire(pawl_atomic64 *w, uint64_t from, uint64_t to,
					  enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		pawl_raw_await_cas(&w->raw, from, to, __ATOMIC_ACQUIRE);
	else
		while (!pawl_cas_acquire(w, from, to))
			pawl_park_(w, PAWL_UNTIL_EQ, from);
}

static inline void pawl_await_cas_acq_rel(pawl_atomic64 *w, uint64_t from, uint64_t to,
					  enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		pawl_raw_await_cas(&w->raw, from, to, __ATOMIC_ACQ_REL);
	else
		while (!pawl_cas_acq_rel(w, from, to))
			pawl_park_(w, PAWL_UNTIL_EQ, from);
}

/*
 * Waits until the word is (is not) `value`, polling with fetch-and-add of 0.
 * A waiter that sleeps does not poll and uses plain loads.
 */

static inline void pawl_await_eq_rmw_acquire(pawl_atomic64 *w, uint64_t value,
					     enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		pawl_raw_await_eq_rmw(&w->raw, value, __ATOMIC_ACQUIRE);
	else
		pawl_await_eq_acquire(w, value, how);
}

static inline void pawl_await_ne_rmw_acquire(pawl_atomic64 *w, uint64_t value,
					     enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		pawl_raw_await_ne_rmw(&w->raw, value, __ATOMIC_ACQUIRE);
	else
		pawl_await_ne_acquire(w, value, how);
}

/*
 * Call it after the store of `value` that may end a wait on *w. It uses only the
 * address: the thread that the store let in may have freed *w already.
 */
static inline void pawl_notify(const pawl_atomic64 *w, uint64_t value, enum pawl_wait how)
{
	if (how == PAWL_PARK && pawl_parked_near_(w))
		pawl_unpark_(w, value);
}

#endif /* PAWL_ATOMIC_H */
