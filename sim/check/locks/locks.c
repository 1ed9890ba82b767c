/* SPDX-License-Identifier: MIT */
#include "locks.h"

#include <sim/runtime.h>

#include <pawl/runtime.h>

#include <string.h>

/*
 * An unlock that the registry calls constant-time makes so many accesses at most, however
 * many threads there are, and never waits. One that may wake a sleeper makes a few more, and
 * enters so many critical sections at most, which lock a bucket of the parking table: it waits
 * for the guard of a bucket, and for nothing else. What it does there is not counted: the queue
 * of a bucket may be long.
 */
enum {
	UNLOCK_ACCESSES = 5,
	WAKING_ACCESSES = 14,
	WAKING_BUCKETS = 3,
	NOT_UNLOCKING = -1
};
static int accesses[MAX_THREADS]; /* of the unlock that each thread is in */
static int buckets[MAX_THREADS];  /* that it has locked, each in a critical section */
static int depth[MAX_THREADS];	  /* of critical sections that it is in: in a bucket */
static int most_accesses;

OUTSIDE static void count_access(bool waits)
{
	int thread = explore_thread();

	if (thread < 0 || accesses[thread] == NOT_UNLOCKING || depth[thread] > 0)
		return;
	if (waits)
		explore_fail(VERDICT_UNLOCK, "the unlock of thread %d waits", thread);
	else if (++accesses[thread] > most_accesses)
		explore_fail(VERDICT_UNLOCK,
			     "the unlock of thread %d makes more than %d accesses",
			     thread, most_accesses);
}

OUTSIDE static void count_bucket(int change)
{
	int thread = explore_thread();

	if (thread < 0)
		return;
	if (accesses[thread] != NOT_UNLOCKING && depth[thread] == 0 &&
	    ++buckets[thread] > WAKING_BUCKETS)
		explore_fail(
			VERDICT_UNLOCK,
			"the unlock of thread %d enters more than %d critical sections",
			thread, WAKING_BUCKETS);
	depth[thread] += change;
}

OUTSIDE static void begin_unlocks(const struct lock_type *type)
{
	int thread;

	for (thread = 0; thread < MAX_THREADS; thread++)
		accesses[thread] = NOT_UNLOCKING, depth[thread] = 0;
	if (type->unlock_time != UNLOCK_CONSTANT)
		return;
	most_accesses = type->parks ? WAKING_ACCESSES : UNLOCK_ACCESSES;
	sim_before_access = count_access;
	sim_critical = count_bucket;
}

OUTSIDE static void note_unlock(int count)
{
	accesses[explore_thread()] = count;
	buckets[explore_thread()] = 0;
}

enum admission admission_of(const struct lock_type *type)
{
	switch (type->admission) {
	case ADMISSION_FIFO:
		return ADMIT_FIFO;
	case ADMISSION_ONCE:
		return ADMIT_ONCE;
	default:
		return ADMIT_ANY;
	}
}

void check_set_up(void *argument)
{
	static const char *const labels[LOCKS] = {"lock", "other lock"};
	struct check *c = argument;
	int i;

	for (i = 0; i < LOCKS; i++) {
		c->locks[i] = explore_allocate(c->type->size, 128);
		explore_label(c->locks[i], labels[i]);
	}
	c->shared = explore_allocate(sizeof(*c->shared), 128);
	explore_label(c->shared, "shared");
	c->shared->users = (uint64_t)c->threads;
	c->held = 1;
	c->gave_up = false;
	begin_unlocks(c->type);
}

void check_arrive(struct check *c, int i, size_t size)
{
	explore_arrive(i, c->locks[i], size, admission_of(c->type));
}

void check_enter(struct check *c, int i)
{
	explore_enter(i);
	if (c->scenario->alike != 0)
		explore_in_turn(c->scenario->alike - 1);
	c->shared->sections[i]++;
}

void check_lock(struct check *c, int i)
{
	check_arrive(c, i, c->type->size);
	c->type->lock(c->locks[i]);
	check_enter(c, i);
}

bool check_trylock(struct check *c, int i)
{
	check_arrive(c, i, c->type->size);
	if (!c->type->trylock(c->locks[i])) {
		explore_retreat(i);
		return false;
	}
	check_enter(c, i);
	return true;
}

bool check_timedlock(struct check *c)
{
	static const struct timespec later = {.tv_sec = 1};

	check_arrive(c, 0, c->type->size);
	if (c->type->timedlock(c->locks[0], CLOCK_MONOTONIC, &later) != 0) {
		explore_retreat(0);
		c->gave_up = true;
		return false;
	}
	check_enter(c, 0);
	return true;
}

void check_unlock(struct check *c, int i)
{
	explore_leave(i);
	note_unlock(0);
	c->type->unlock(c->locks[i]);
	note_unlock(NOT_UNLOCKING);
}

void check_visit(struct check *c, int i)
{
	check_lock(c, i);
	check_unlock(c, i);
}

/* Queue nodes are what a lock may allocate: one for each lock that a thread holds or waits
 * for, and with clh one for each lock; of hapax, one for a thread that gives up. */
static size_t most_bytes(const struct check *c)
{
	static const char *const with_nodes[] = {"mcs", "clh", "cna", "cohort"};
	size_t i;

	for (i = 0; i < sizeof(with_nodes) / sizeof(*with_nodes); i++)
		if (strcmp(c->type->base, with_nodes[i]) == 0)
			return sizeof(struct pawl_node) *
			       (size_t)(c->threads * c->held + LOCKS);
	return c->gave_up ? sizeof(struct pawl_node) * (size_t)c->threads : 0;
}

void check_finished(void *argument)
{
	struct check *c = argument;
	size_t bytes = explore_allocated().all;
	int i;

	if (bytes > most_bytes(c))
		explore_fail(VERDICT_SPACE, "%zu bytes were allocated, %zu are enough",
			     bytes, most_bytes(c));

	for (i = 0; i < LOCKS; i++)
		if (c->expected[i] != 0 && c->shared->sections[i] != c->expected[i])
			explore_fail(VERDICT_EXCLUSION, "%llu sections counted as %llu",
				     (unsigned long long)c->expected[i],
				     (unsigned long long)c->shared->sections[i]);
}
