/* SPDX-License-Identifier: MIT */
/*
 * pawl/atomic.h - the memory and waiting seam.
 *
 * Every shared word of every lock is a pawl_atomic64, and every access to one
 * goes through a function below that carries its order in its name. This is
 * the only file that names memory orders. The operations themselves belong to
 * the back end, which is chosen once, by include path: backend/native for real
 * hardware, backend/sim for the model checker and the coherence simulator.
 *
 * Orders are those of C11. A word is accessed at one width only. Pointers are
 * kept as 64-bit values (pawl_address, pawl_pointer): one type, one seam.
 *
 * Waiting is a primitive, not a loop: pawl_await_* return once the word has
 * the value asked for, and the store that makes it so is followed by
 * pawl_notify on the same word and policy. `how` must be a compile-time
 * constant; it then inlines away.
 */
#ifndef PAWL_ATOMIC_H
#define PAWL_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a thread waits. Lock and unlock of one lock must agree on it. */
enum pawl_wait {
	PAWL_SPIN, /* polls: best while threads do not outnumber CPUs */
	PAWL_PARK, /* polls for a few microseconds, then sleeps */
};

#include <pawl/backend/memory.h>

/* A struct, so that a plain access does not compile. Zero is a valid value. */
typedef struct {
	uint64_t raw __attribute__((aligned(8)));
} pawl_atomic64;

/*
 * All bytes zero: what every lock, and every word in it, starts from. Empty
 * braces are C23 and C++, and an extension of C11 that gcc and clang both have;
 * {0} would draw -Wmissing-braces for a lock inside another struct.
 */
/* clang-format off */
#define PAWL_ZERO {}
/* clang-format on */

/* Keeps what it annotates clear of its neighbours' cache lines. Two lines:
 * x86 prefetches them in pairs (Hapax paper, appendix A). */
#define PAWL_SEQUESTER __attribute__((aligned(128)))

static inline uint64_t pawl_address(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static inline void *pawl_pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

/* Loads. */

static inline uint64_t pawl_load_relaxed(const pawl_atomic64 *w)
{
	return pawl_raw_load(&w->raw, __ATOMIC_RELAXED);
}

static inline uint64_t pawl_load_acquire(const pawl_atomic64 *w)
{
	return pawl_raw_load(&w->raw, __ATOMIC_ACQUIRE);
}

static inline uint64_t pawl_load_seq_cst(const pawl_atomic64 *w)
{
	return pawl_raw_load(&w->raw, __ATOMIC_SEQ_CST);
}

/* Stores. */

static inline void pawl_store_relaxed(pawl_atomic64 *w, uint64_t value)
{
	pawl_raw_store(&w->raw, value, __ATOMIC_RELAXED);
}

static inline void pawl_store_release(pawl_atomic64 *w, uint64_t value)
{
	pawl_raw_store(&w->raw, value, __ATOMIC_RELEASE);
}

static inline void pawl_store_seq_cst(pawl_atomic64 *w, uint64_t value)
{
	pawl_raw_store(&w->raw, value, __ATOMIC_SEQ_CST);
}

/* Exchange: stores the value, returns the one it replaced. */

static inline uint64_t pawl_exchange_relaxed(pawl_atomic64 *w, uint64_t value)
{
	return pawl_raw_exchange(&w->raw, value, __ATOMIC_RELAXED);
}

static inline uint64_t pawl_exchange_acquire(pawl_atomic64 *w, uint64_t value)
{
	return pawl_raw_exchange(&w->raw, value, __ATOMIC_ACQUIRE);
}

static inline uint64_t pawl_exchange_release(pawl_atomic64 *w, uint64_t value)
{
	return pawl_raw_exchange(&w->raw, value, __ATOMIC_RELEASE);
}

static inline uint64_t pawl_exchange_acq_rel(pawl_atomic64 *w, uint64_t value)
{
	return pawl_raw_exchange(&w->raw, value, __ATOMIC_ACQ_REL);
}

/*
 * Compare and swap: returns true if the word was `from` and is now `to`. Never
 * fails spuriously. A failure is a load: relaxed, or acquire where said so.
 */

static inline bool pawl_cas_relaxed(pawl_atomic64 *w, uint64_t from, uint64_t to)
{
	return pawl_raw_cas(&w->raw, from, to, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static inline bool pawl_cas_acquire(pawl_atomic64 *w, uint64_t from, uint64_t to)
{
	return pawl_raw_cas(&w->raw, from, to, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline bool pawl_cas_release(pawl_atomic64 *w, uint64_t from, uint64_t to)
{
	return pawl_raw_cas(&w->raw, from, to, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static inline bool pawl_cas_acq_rel(pawl_atomic64 *w, uint64_t from, uint64_t to)
{
	return pawl_raw_cas(&w->raw, from, to, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* A failure is a sequentially consistent load. */
static inline bool pawl_cas_seq_cst(pawl_atomic64 *w, uint64_t from, uint64_t to)
{
	return pawl_raw_cas(&w->raw, from, to, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Fetch and add: returns the value before the addition. */

static inline uint64_t pawl_fetch_add_relaxed(pawl_atomic64 *w, uint64_t n)
{
	return pawl_raw_fetch_add(&w->raw, n, __ATOMIC_RELAXED);
}

static inline uint64_t pawl_fetch_add_release(pawl_atomic64 *w, uint64_t n)
{
	return pawl_raw_fetch_add(&w->raw, n, __ATOMIC_RELEASE);
}

static inline uint64_t pawl_fetch_add_seq_cst(pawl_atomic64 *w, uint64_t n)
{
	return pawl_raw_fetch_add(&w->raw, n, __ATOMIC_SEQ_CST);
}

/* Full fence: a sequentially consistent one. */
static inline void pawl_full_fence(void)
{
	pawl_raw_full_fence();
}

/* Orders the loads before it before all that follows; and all that precedes it
 * before the stores after it. */

static inline void pawl_acquire_fence(void)
{
	pawl_raw_acquire_fence();
}

static inline void pawl_release_fence(void)
{
	pawl_raw_release_fence();
}

/*
 * Asymmetric fence. A thread that stored, passed the light fence and then
 * loads, and another that stored, passed the heavy fence and then loads, do
 * not both miss the other's store. The light side is all but free; the heavy
 * side interrupts every running thread of the process. Both are sequentially
 * consistent in effect against each other; two light fences order nothing.
 */

static inline void pawl_light_fence(void)
{
	pawl_raw_light_fence();
}

/* As pawl_light_fence, for whoever knows that the heavy fence works here, or
 * has another remedy where it does not: never more than a compiler fence. */
static inline void pawl_bare_light_fence(void)
{
	pawl_raw_bare_light_fence();
}

/* Returns false where it is no more than a full fence, so that it pairs with
 * pawl_light_fence, which then is one too, and not with the bare one. */
static inline bool pawl_heavy_fence(void)
{
	return pawl_raw_heavy_fence();
}

/* Sleeping, and waking whoever sleeps; it uses the operations above. */
#include <pawl/park.h>

/* Waits until the word is `value`. */

static inline void pawl_await_eq_relaxed(const pawl_atomic64 *w, uint64_t value,
					 enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		pawl_raw_await_eq(&w->raw, value, __ATOMIC_RELAXED);
	else
		while (pawl_load_relaxed(w) != value)
			pawl_park(w, PAWL_UNTIL_EQ, value);
}

static inline void pawl_await_eq_acquire(const pawl_atomic64 *w, uint64_t value,
					 enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		pawl_raw_await_eq(&w->raw, value, __ATOMIC_ACQUIRE);
	else
		while (pawl_load_acquire(w) != value)
			pawl_park(w, PAWL_UNTIL_EQ, value);
}

/* Waits until the word is not `value`; returns what it is. */

static inline uint64_t pawl_await_ne_relaxed(const pawl_atomic64 *w, uint64_t value,
					     enum pawl_wait how)
{
	uint64_t seen;

	if (how == PAWL_SPIN)
		return pawl_raw_await_ne(&w->raw, value, __ATOMIC_RELAXED);
	while ((seen = pawl_load_relaxed(w)) == value)
		pawl_park(w, PAWL_UNTIL_NE, value);
	return seen;
}

static inline uint64_t pawl_await_ne_acquire(const pawl_atomic64 *w, uint64_t value,
					     enum pawl_wait how)
{
	uint64_t seen;

	if (how == PAWL_SPIN)
		return pawl_raw_await_ne(&w->raw, value, __ATOMIC_ACQUIRE);
	while ((seen = pawl_load_acquire(w)) == value)
		pawl_park(w, PAWL_UNTIL_NE, value);
	return seen;
}

/*
 * Waits until the word differs from `seen`, but gives up from time to time:
 * for a waiter whose condition lives in another word and who looks there
 * after each return. Returns the last value read.
 */

static inline uint64_t pawl_await_change_acquire(const pawl_atomic64 *w, uint64_t seen,
						 enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		return pawl_raw_await_change(&w->raw, seen, __ATOMIC_ACQUIRE);
	pawl_park(w, PAWL_UNTIL_CHANGE, seen);
	return pawl_load_acquire(w);
}

/*
 * Waits while the word is `value`, but not for long: for a waiter who then goes
 * on to wait in another way. Returns the last value read.
 */

static inline uint64_t pawl_await_briefly_acquire(const pawl_atomic64 *w, uint64_t value,
						  enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		return pawl_raw_await_briefly(&w->raw, value, __ATOMIC_ACQUIRE);
	pawl_park(w, PAWL_UNTIL_CHANGE, value);
	return pawl_load_acquire(w);
}

/*
 * Waits with read-modify-writes, so that the line is already ours to write
 * when the wait ends (Hemlock paper, section 2.1). pawl_await_cas_* wait until
 * they changed the word from `from` to `to`.
 */

static inline void pawl_await_cas_acquire(pawl_atomic64 *w, uint64_t from, uint64_t to,
					  enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		pawl_raw_await_cas(&w->raw, from, to, __ATOMIC_ACQUIRE);
	else
		while (!pawl_cas_acquire(w, from, to))
			pawl_park(w, PAWL_UNTIL_EQ, from);
}

static inline void pawl_await_cas_acq_rel(pawl_atomic64 *w, uint64_t from, uint64_t to,
					  enum pawl_wait how)
{
	if (how == PAWL_SPIN)
		pawl_raw_await_cas(&w->raw, from, to, __ATOMIC_ACQ_REL);
	else
		while (!pawl_cas_acq_rel(w, from, to))
			pawl_park(w, PAWL_UNTIL_EQ, from);
}

/*
 * Waits until the word is (is not) `value`, polling with fetch-and-add of 0;
 * a waiter that sleeps does not poll, and has no use for that.
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
 * Follows the store of `value` that may end a wait on *w. Uses the address
 * alone: *w may be gone by now, freed by the thread that the store let in.
 */
static inline void pawl_notify(const pawl_atomic64 *w, uint64_t value, enum pawl_wait how)
{
	if (how == PAWL_PARK && pawl_parked_near(w))
		pawl_unpark(w, value);
}

#endif /* PAWL_ATOMIC_H */
