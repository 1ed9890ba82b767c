/* SPDX-License-Identifier: MIT */
/*
 * The memory and waiting seam as calls into the simulator (sim/seam.h). The order of -I
 * selects it in place of backend/native's; never installed.
 */
#ifndef PAWL_BACKEND_MEMORY_H
#define PAWL_BACKEND_MEMORY_H

#include <pawl/backend/names.h>

/* log2 of the size of the parking filter and table: small, so that addresses collide. */
#define PAWL_FILTER_BITS 1
#define PAWL_BUCKET_BITS 1
#define PAWL_PARK_GROWS	 (sim_park_crowd != 0)
#define PAWL_PARK_CROWD	 sim_park_crowd
/* So that addresses that share a cell share a bucket. */
#define PAWL_PARK_SEED 1
/* One copy of the library, which owns the table from the start; sim/check/copies.c
 * checks several. */
#define PAWL_PARK_JOINS	  0
#define PAWL_PARKS	  1
#define PAWL_THREAD_ALIGN 64

#include <sim/seam.h>

#define pawl_raw_find(name, into) ((into) = (name))

/* The address, if the simulator allocated it; for objects that the loader placed, the
 * part that is the same in every process. */
static inline uint64_t pawl_raw_place(const volatile void *p)
{
	uint64_t address = (uint64_t)(uintptr_t)p;

	return sim_chose(address) ? address : address & 4095;
}

static inline uint64_t pawl_raw_load(const uint64_t *p, int order)
{
	return sim_load(p, order);
}

static inline void pawl_raw_store(uint64_t *p, uint64_t value, int order)
{
	sim_store(p, value, order);
}

static inline uint64_t pawl_raw_exchange(uint64_t *p, uint64_t value, int order)
{
	return sim_exchange(p, value, order);
}

static inline bool pawl_raw_cas(uint64_t *p, uint64_t from, uint64_t to, int order,
				int failure_order)
{
	return sim_cas(p, from, to, order, failure_order);
}

static inline uint64_t pawl_raw_fetch_add(uint64_t *p, uint64_t n, int order)
{
	return sim_fetch_add(p, n, order);
}

static inline void pawl_raw_light_fence(void)
{
	sim_fence(sim_membarrier_works ? SIM_FENCE_LIGHT : SIM_FENCE_FULL);
}

static inline void pawl_raw_full_fence(void)
{
	sim_fence(SIM_FENCE_FULL);
}

static inline void pawl_raw_acquire_fence(void)
{
	sim_fence(SIM_FENCE_ACQUIRE);
}

static inline void pawl_raw_release_fence(void)
{
	sim_fence(SIM_FENCE_RELEASE);
}

static inline void pawl_raw_bare_light_fence(void)
{
	sim_fence(SIM_FENCE_LIGHT);
}

static inline bool pawl_raw_heavy_fence(void)
{
	return sim_heavy_fence();
}

static inline void pawl_raw_await_eq(const uint64_t *p, uint64_t value, int order)
{
	sim_await(SIM_AWAIT_EQ, (uint64_t *)p, value, 0, order);
}

static inline uint64_t pawl_raw_await_ne(const uint64_t *p, uint64_t value, int order)
{
	return sim_await(SIM_AWAIT_NE, (uint64_t *)p, value, 0, order);
}

static inline uint64_t pawl_raw_await_change(const uint64_t *p, uint64_t seen, int order)
{
	return sim_await(SIM_AWAIT_CHANGE, (uint64_t *)p, seen, 0, order);
}

/* A wait that may end at any time: the checker explores its end at once, and not. */
static inline uint64_t pawl_raw_await_briefly(const uint64_t *p, uint64_t value,
					      int order)
{
	if (sim_impatient && sim_one_in(2))
		return sim_load(p, order);
	return sim_await(SIM_AWAIT_NE, (uint64_t *)p, value, 0, order);
}

static inline void pawl_raw_await_cas(uint64_t *p, uint64_t from, uint64_t to, int order)
{
	sim_await(SIM_AWAIT_CAS, p, from, to, order);
}

static inline void pawl_raw_await_eq_rmw(uint64_t *p, uint64_t value, int order)
{
	sim_await(SIM_AWAIT_EQ_RMW, p, value, 0, order);
}

static inline void pawl_raw_await_ne_rmw(uint64_t *p, uint64_t value, int order)
{
	sim_await(SIM_AWAIT_NE_RMW, p, value, 0, order);
}

#endif /* PAWL_BACKEND_MEMORY_H */
