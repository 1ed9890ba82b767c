/* SPDX-License-Identifier: MIT */
/*
 * Operations that no lock uses: mutants weaken the stronger ones to these. And which mutant
 * this is, where one object holds several (scripts/mutate-orders): no part of what is checked.
 */
#ifndef MUTANTS_WEAKER_H
#define MUTANTS_WEAKER_H

#include <stdlib.h>

static int mutant_number;

__attribute__((constructor, unused, no_sanitize_thread)) static void number_mutant(void)
{
	const char *number = getenv("PAWL_MUTANT");

	mutant_number = number != NULL ? atoi(number) : 0;
}

__attribute__((noinline, unused, no_sanitize_thread)) static int mutant_is(int number)
{
	return mutant_number == number;
}

#include <pawl/atomic.h>

static inline void pawl_await_cas_relaxed(pawl_atomic64 *w, uint64_t from, uint64_t to,
					  enum pawl_wait how)
{
	(void)how;
	sim_await(SIM_AWAIT_CAS, &w->raw, from, to, SIM_RELAXED);
}

static inline void pawl_await_cas_release(pawl_atomic64 *w, uint64_t from, uint64_t to,
					  enum pawl_wait how)
{
	(void)how;
	sim_await(SIM_AWAIT_CAS, &w->raw, from, to, SIM_RELEASE);
}

static inline uint64_t pawl_await_change_relaxed(const pawl_atomic64 *w, uint64_t seen,
						 enum pawl_wait how)
{
	(void)how;
	return sim_await(SIM_AWAIT_CHANGE, (uint64_t *)&w->raw, seen, 0, SIM_RELAXED);
}

static inline uint64_t pawl_await_briefly_relaxed(const pawl_atomic64 *w, uint64_t value,
						  enum pawl_wait how)
{
	(void)how;
	return pawl_raw_await_briefly(&w->raw, value, SIM_RELAXED);
}

static inline void pawl_await_eq_rmw_relaxed(pawl_atomic64 *w, uint64_t value,
					     enum pawl_wait how)
{
	(void)how;
	sim_await(SIM_AWAIT_EQ_RMW, &w->raw, value, 0, SIM_RELAXED);
}

static inline void pawl_await_ne_rmw_relaxed(pawl_atomic64 *w, uint64_t value,
					     enum pawl_wait how)
{
	(void)how;
	sim_await(SIM_AWAIT_NE_RMW, &w->raw, value, 0, SIM_RELAXED);
}

static inline uint64_t pawl_fetch_add_acq_rel(pawl_atomic64 *w, uint64_t n)
{
	return sim_fetch_add(&w->raw, n, SIM_ACQ_REL);
}

#endif /* MUTANTS_WEAKER_H */
