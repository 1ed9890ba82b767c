/* SPDX-License-Identifier: MIT */
/*
 * pawl/word.h - the memory seam: words that threads share.
 *
 * Every shared word of every lock is a pawl_atomic64, and every access to one
 * goes through a function below that carries its order in its name. Only this
 * file and pawl/atomic.h name memory orders; include pawl/atomic.h, which adds
 * waiting. The back end supplies the operations and is chosen once, by include
 * path: backend/native for real hardware, backend/sim for the model checker and
 * the coherence simulator.
 *
 * Orders are those of C11. A word is accessed at one width only. Pointers are
 * kept as 64-bit values (pawl_address, pawl_pointer): one type, one seam.
 */
#ifndef PAWL_WORD_H
#define PAWL_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/backend/memory.h>

/* A struct, so that a plain access does not compile. Zero is a valid value. */
typedef struct {
	uint64_t raw __attribute__((aligned(8)));
} pawl_atomic64;

/*
 * All bytes zero: the initial state of every lock and every word. clang warns about
 * empty braces before C23, gcc about {0} for a lock inside another struct; so each
 * compiler gets the form that it accepts.
 */
#if defined(__clang__) && !defined(__cplusplus)
#define PAWL_ZERO \
	{         \
		0 \
	}
#else
#include <pawl/zero.h>
#endif

/* Keeps an object off the cache lines of its neighbours. Two lines: x86
 * prefetches them in pairs (Hapax paper, appendix A). */
#define PAWL_SEQUESTER __attribute__((aligned(128)))

/* A pointer as a 64-bit value, to be stored in a word. */
static inline uint64_t pawl_address(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* The inverse of pawl_address. */
static inline void *pawl_pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

/* Fibonacci hashing: neighbouring values differ in these bits, 1 to 64 of them. */
static inline uint64_t pawl_hash(uint64_t value, unsigned bits)
{
	return (value * 0x9E3779B97F4A7C15u) >> (64 - bits);
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
 * fails spuriously. A failed one is a relaxed load, unless the function says otherwise.
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

/* A failed one is a sequentially consistent load. */
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

/* The acquire fence orders earlier loads before all later accesses, the release
 * fence all earlier accesses before later stores. */

static inline void pawl_acquire_fence(void)
{
	pawl_raw_acquire_fence();
}

static inline void pawl_release_fence(void)
{
	pawl_raw_release_fence();
}

/*
 * Asymmetric fence. If one thread stores, passes the light fence and loads, and
 * another stores, passes the heavy fence and loads, at least one of them sees the
 * other's store. The light side is almost free; the heavy side interrupts every
 * running thread of the process. A light and a heavy fence together act as
 * sequentially consistent fences; two light fences order nothing.
 */

static inline void pawl_light_fence(void)
{
	pawl_raw_light_fence();
}

/* As pawl_light_fence, but always a compiler fence only: for code that knows that the
 * heavy fence works, or that handles its absence in another way. */
static inline void pawl_bare_light_fence(void)
{
	pawl_raw_bare_light_fence();
}

/* Returns false where the system has no membarrier and this is only a full fence. It
 * then pairs with pawl_light_fence, which is a full fence, too, but not with
 * pawl_bare_light_fence. */
static inline bool pawl_heavy_fence(void)
{
	return pawl_raw_heavy_fence();
}

#endif /* PAWL_WORD_H */
