/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of what sleeps, for the core checker: it meets each state once, so that how
 * threads come to sleep and how they get up are a sum, where the graphs of sim/explore
 * are a product. Every thread has a CPU. Plain accesses are not judged there, so what a
 * lock guards is atomic and has a ghost that knows the truth: an old value shows.
 */
#ifndef CHECK_STATES_H
#define CHECK_STATES_H

#include "outside.h"

#include "../../src/sleep/parking.h"

#include <sim/cores/cores.h>

enum { NOBODY = -1 };

/* A section; and a word that belongs to it, with its ghost. */
struct states_section {
	int holder;
	uint64_t word, truth;
};

static inline void states_enter(struct states_section *s)
{
	int me = cores_thread();

	if (s->holder != NOBODY)
		cores_fail(VERDICT_EXCLUSION,
			   "thread %d enters while thread %d is inside", me, s->holder);
	s->holder = me;
}

static inline void states_leave(struct states_section *s)
{
	s->holder = NOBODY;
}

/* Inside. */
static inline uint64_t states_look(struct states_section *s)
{
	uint64_t seen = sim_load(&s->word, SIM_RELAXED);

	if (seen != s->truth)
		cores_fail(VERDICT_STALE, "thread %d finds %llu, and it is %llu",
			   cores_thread(), (unsigned long long)seen,
			   (unsigned long long)s->truth);
	return seen;
}

static inline void states_add(struct states_section *s, uint64_t n)
{
	uint64_t next = states_look(s) + n;

	sim_store(&s->word, next, SIM_RELAXED);
	s->truth = next;
}

/* Room for a scenario's memory, whose threads sleep in this table. */
static inline void *states_allocate(size_t size, const struct pawl_parking *parking)
{
	int i;

	/* In which order sleepers came is for pawl_unpark_ alone. */
	for (i = 0; i < 1 << PAWL_BUCKET_BITS; i++)
		cores_ignore(&parking->first.buckets[i].arrivals, sizeof(uint64_t));
	return cores_allocate(size, 128);
}

OUTSIDE static inline void states_check(const struct scenario *scenario, int threads,
					int episodes, const struct options *options,
					struct result *result)
{
	struct cores_program program = {
		.threads = threads,
		.cpus = threads,
		.pinned = true,
		.stores_race = true,
		.set_up = scenario->set_up,
		.thread = scenario->thread,
		.finished = scenario->finished,
	};

	(void)episodes;
	cores_explore(&program, options, result);
}

#endif /* CHECK_STATES_H */
