/* SPDX-License-Identifier: MIT */
/*
 * The world of the scenarios in lease.c and lease_sequences.h: leases, and what a section
 * is. What a section touches goes through the seam, and so through the store buffers;
 * plain fields are ghosts, which all cores see at once.
 */
#ifndef CHECK_LEASE_WORLD_H
#define CHECK_LEASE_WORLD_H

#include "outside.h"

#include <sim/cores/cores.h>
#include <sim/runtime.h>
#include <src/lease/leases.h>

#include <pawl/lease.h>
#include <pawl/runtime.h>

enum { LEASES = 2, NOBODY = -1 };

/* As a counter's, on which sequences work. */
struct count {
	struct pawl_lease lease;
	uint64_t used, value;
	char apart[(1 << PAWL_COUNTER_SHIFT) - 24];
};

struct shared {
	struct pawl_lease leases[LEASES];
	char *counts, *stacks;	   /* of each CPU */
	uint64_t counters[LEASES]; /* of sections */
	uint64_t spare;		   /* pool: a set of ids, atomic */
	/* Ghosts. */
	int holders[LEASES];
	uint64_t sections[LEASES];
	bool inside[CORES_MAX_THREADS];
	bool abandoned;		/* a thread exited inside */
	uint64_t users[LEASES]; /* pool: of each id, 0 if it is in the pool */
};

/* What makes a scenario. */
struct scene {
	struct core_scenario core;
	enum { BY_CPU, BY_CID, BY_THREAD, FENCED } mode;
	bool starts_free; /* else thread 0 has had the lease already, on CPU 0 */
	bool inherited;	  /* thread 0 is inside, and the parent was draining it */
	bool has_pool;
	bool sequences;
	bool both_anybodys;			  /* stacks, and not only the first */
	bool other_poisoned;			  /* the second lease */
	void (*handler)(void *check, int thread); /* interrupts thread 0 */
};

struct lease_check {
	const struct scene *scene;
	int threads, episodes;
	struct shared *shared;
};

/* Sections. */

static void enter(struct shared *s, int i)
{
	int me = cores_thread();

	if (s->holders[i] != NOBODY)
		cores_fail(VERDICT_EXCLUSION,
			   "thread %d enters while thread %d is inside", me,
			   s->holders[i]);
	s->holders[i] = me;
	s->inside[me] = true;
}

static void leave(struct shared *s, int i)
{
	s->holders[i] = NOBODY;
	s->inside[cores_thread()] = false;
}

static void section(struct shared *s, int i)
{
	uint64_t seen;

	enter(s, i);
	seen = sim_load(&s->counters[i], SIM_RELAXED);
	if (seen != s->sections[i])
		cores_fail(VERDICT_STALE,
			   "thread %d counts %llu sections, but %llu are over",
			   cores_thread(), (unsigned long long)seen,
			   (unsigned long long)s->sections[i]);
	sim_store(&s->counters[i], seen + 1, SIM_RELAXED);
	s->sections[i] = seen + 1;
	leave(s, i);
}

static enum pawl_lease_result acquire(struct shared *s, int i)
{
	return pawl_lease_acquire(&s->leases[i], pawl_lease_self());
}

static enum pawl_lease_result acquire_or_seize(struct shared *s, int i)
{
	enum pawl_lease_result result = acquire(s, i);

	if (result != PAWL_LEASE_ELSEWHERE)
		return result;
	return pawl_lease_seize(&s->leases[i], pawl_lease_self());
}

static void release(struct shared *s, int i)
{
	pawl_lease_release(&s->leases[i], pawl_lease_self());
}

static void visit(struct shared *s, int i, enum pawl_lease_result result)
{
	if (result != PAWL_LEASE_OK)
		return;
	section(s, i);
	release(s, i);
}

#endif /* CHECK_LEASE_WORLD_H */
