/* SPDX-License-Identifier: MIT */
/*
 * pawl/word.h - the memory seam: words that threads share.
 *
 * Every shared word of every lock is a pawl_atomic64, and every access to one
 * goes through a function below that carries its order in its name. No file but
 * this one and pawl/atomic.h, which adds waiting and is what to include, names
 * memory orders. The operations themselves belong to the back end, which is
 * chosen once, by include path: backend/native for real hardware, backend/sim
 * for the model checker and the coherence simulator.
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
 * All bytes zero: what every lock, and every word in it, starts from. clang warns of
 * empty braces before C23, and gcc of {0} for a lock inside another struct; so each
 * gets what it likes.
 */
#if defined(__clang__) && !defined(__cplusplus)
#define PAWL_ZERO \
	{         \
		0 \
	}
#else
#include <pawl/zero.h>
#endif

/* Keeps what it annotates clear of its neighbours' cache lines. Two lines:
 * x86 prefetches them in pairs (Hapax paper, appendix A). */
#define PAWL_SEQUESTER __attribute__((aligned(128)))

/* A pointer as a word has it. */
static inline uint64_t pawl_address(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* The pointer that pawl_address was given. */
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

#endif /* PAWL_WORD_H */
