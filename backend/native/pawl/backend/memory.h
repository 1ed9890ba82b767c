/* SPDX-License-Identifier: MIT */
/*
 * The memory and waiting seam on real hardware: the compiler's atomics, and
 * polite polling. Only pawl/word.h includes this file; the seam passes every order
 * as a constant.
 */
#ifndef PAWL_BACKEND_MEMORY_H
#define PAWL_BACKEND_MEMORY_H

#include <pawl/backend/arch.h>

/* log2 of the number of cells of the parking filter, and of buckets of the first table. */
#define PAWL_FILTER_BITS 8
#define PAWL_BUCKET_BITS 8
/* Whether the table grows, and how many addresses may share a bucket before it does. */
#define PAWL_PARK_GROWS 1
#define PAWL_PARK_CROWD 4
/* The multiplier of the table's hash, or 0: a random one from the system. */
#define PAWL_PARK_SEED 0
/* Whether another copy of the library may own the process's parking table. */
#define PAWL_PARK_JOINS 1

/* Whether threads sleep: not where `pawl check --program` explores their schedules. */
#ifdef PAWL_PLAYED
#define PAWL_PARKS 0
#else
#define PAWL_PARKS 1
#endif

/* Sets `into` to the address of the library's object of that name. */
#define pawl_raw_find(name, into) pawl_arch_find(name, into)

/* The value that is hashed to choose a bucket. */
static inline uint64_t pawl_raw_place(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static inline uint64_t pawl_raw_load(const uint64_t *p, int order)
{
	return __atomic_load_n(p, order);
}

static inline void pawl_raw_store(uint64_t *p, uint64_t value, int order)
{
	__atomic_store_n(p, value, order);
}

static inline uint64_t pawl_raw_exchange(uint64_t *p, uint64_t value, int order)
{
	return __atomic_exchange_n(p, value, order);
}

static inline bool pawl_raw_cas(uint64_t *p, uint64_t from, uint64_t to, int order,
				int failure_order)
{
	return __atomic_compare_exchange_n(p, &from, to, false, order, failure_order);
}

static inline uint64_t pawl_raw_fetch_add(uint64_t *p, uint64_t n, int order)
{
	return __atomic_fetch_add(p, n, order);
}

/* In libpawl: membarrier, or a full fence where the kernel refuses it. */
#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
extern uint64_t pawl_light_fence_full_; /* not 0: the light fence is full, too */
bool pawl_heavy_fence_native_(void);
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

static inline void pawl_raw_full_fence(void)
{
	pawl_arch_full_fence();
}

static inline void pawl_raw_acquire_fence(void)
{
	pawl_arch_acquire_fence();
}

static inline void pawl_raw_release_fence(void)
{
	pawl_arch_release_fence();
}

static inline void pawl_raw_bare_light_fence(void)
{
	__asm__ __volatile__("" ::: "memory");
}

static inline void pawl_raw_light_fence(void)
{
	const uint64_t *full;

	pawl_raw_bare_light_fence();
	pawl_raw_find(pawl_light_fence_full_, full);
	if (__builtin_expect(pawl_raw_load(full, __ATOMIC_RELAXED) != 0, false))
		pawl_arch_full_fence(); /* [F] of sleep/fence.c */
}

static inline bool pawl_raw_heavy_fence(void)
{
	return pawl_heavy_fence_native_();
}

/* Waits that poll. Sleeping is built on top, in pawl/park.h. */

static inline void pawl_raw_await_eq(const uint64_t *p, uint64_t value, int order)
{
	uint64_t seen;

	while ((seen = pawl_raw_load(p, order)) != value)
		pawl_arch_wait_while(p, seen);
}

static inline uint64_t pawl_raw_await_ne(const uint64_t *p, uint64_t value, int order)
{
	uint64_t seen;

	while ((seen = pawl_raw_load(p, order)) == value)
		pawl_arch_wait_while(p, seen);
	return seen;
}

/* Polls at most `polls` times; returns the last value read. */
static inline uint64_t pawl_raw_poll(const uint64_t *p, uint64_t seen, int order,
				     int polls)
{
	uint64_t now = seen;

	for (; polls > 0; polls--) {
		now = pawl_raw_load(p, order);
		if (now != seen)
			break;
		pawl_arch_wait_while(p, seen);
	}
	return now;
}

/* How many times a waiter polls a hint before it checks its condition itself: the check
 * is a cache miss and rarely succeeds. Once under `pawl check --program`, which then
 * recognises the caller's loop as a wait. */
enum { PAWL_POLLS_PER_LOOK = PAWL_PARKS ? 1 << 16 : 1 };

static inline uint64_t pawl_raw_await_change(const uint64_t *p, uint64_t seen, int order)
{
	return pawl_raw_poll(p, seen, order, PAWL_POLLS_PER_LOOK);
}

/* How many times a waiter polls in a stage that it must leave: about a millisecond,
 * which is longer than a queue of running threads takes. */
enum { PAWL_POLLS_PER_STAGE = PAWL_PARKS ? 1 << 15 : 1 };

static inline uint64_t pawl_raw_await_briefly(const uint64_t *p, uint64_t value,
					      int order)
{
	return pawl_raw_poll(p, value, order, PAWL_POLLS_PER_STAGE);
}

static inline void pawl_raw_await_cas(uint64_t *p, uint64_t from, uint64_t to, int order)
{
	while (!pawl_raw_cas(p, from, to, order, __ATOMIC_RELAXED))
		pawl_arch_pause();
}

static inline void pawl_raw_await_eq_rmw(uint64_t *p, uint64_t value, int order)
{
	while (pawl_raw_fetch_add(p, 0, order) != value)
		pawl_arch_pause();
}

static inline void pawl_raw_await_ne_rmw(uint64_t *p, uint64_t value, int order)
{
	while (pawl_raw_fetch_add(p, 0, order) == value)
		pawl_arch_pause();
}

#endif /* PAWL_BACKEND_MEMORY_H */
