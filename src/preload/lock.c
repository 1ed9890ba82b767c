/* SPDX-License-Identifier: MIT */
/*
 * The bare lock inside a mutex: pawl_mutex, or another lock of the registry, if one was chosen.
 *
 * pawl_mutex does all that is asked of it by itself. For the others two things
 * are added here.
 *
 * Time limits. A queue that hands ownership over cannot be left half way. So a
 * timed waiter does not join it: it tries again and again, sleeping in between,
 * and stands in the parking table meanwhile, where whoever unlocks may find it
 * and hand over to it directly, context and all. That is done at every second
 * unlock on average, lest either side starve.
 *
 * Forks. A queue in the child of a fork is full of threads that are not there.
 * Each mutex therefore remembers the era in which its holder locked it, and a
 * fork begins a new one in the child. The era of a mutex is 0 while nobody holds
 * it, but for a moment on either side.
 *   E1  Whoever finds a mutex of an older era does not queue, but tries again
 *       until it is free.
 *       Once the process is the child of a fork, who does queue has passed a fence
 *       [H] first, so that it comes after the reset of E2.
 *   E2  So nobody who is there waits in the queue of a mutex of an older era,
 *       and its unlock resets the body instead of handing over to a ghost.
 *   E3  The unlock of a mutex that nobody holds does nothing, as with glibc: a
 *       queue would be out of step ever after.
 *
 * Order: who was handed the lock sees the section before, by [V] and [W] of sleep/park.c or
 * the bucket's lock. [F] pairs with [Z]: so does who takes a lock that was reset, whose own
 * acquire may have read another word than the last that was reset. [H] pairs with [F]:
 * who finds the era that was noted behind that fence, or the end of it, finds the reset.
 */
#include "preload/profile.h"
#include "preload/record.h"
#include "registry/registry.h"
#include "sync/queues.h"
#include "preload/stats.h"

#include <pawl/thread.h>

#include <string.h>

enum {
	SPIN_NS = 4000,	       /* of somebody who does not queue, before sleeping */
	SHORTEST_NAP = 50000,  /* nanoseconds between two tries, at first */
	LONGEST_NAP = 1000000, /* and at last */
	FIRST_ERA = 1,	       /* of a process that is no child of a fork of ours */
};

/* NULL: the default. Volatile: two threads whose first calls meet both store it. */
static const struct lock_type *volatile chosen;
static uint16_t era = FIRST_ERA;
static pawl_atomic64 timed_waiters; /* of all mutexes */

void lock_choose(const struct lock_type *type)
{
	chosen = strcmp(type->base, "mutex") == 0 ? NULL : type;
}

bool lock_is_default(void)
{
	return chosen == NULL;
}

/* The default lock of m. */
static struct pawl_mutex *plain(struct mutex *m)
{
	return mutex_has_owner(m) ? &m->owned : &m->normal;
}

uint64_t lock_owner(struct mutex *m)
{
	return pawl_load_relaxed(&plain(m)->word); /* Relaxed: a hint */
}

struct pawl_mutex *lock_queue(struct mutex *m)
{
	return lock_is_default() ? plain(m) : NULL;
}

/* The context of whoever holds m, in its pieces. */
typedef unsigned char context_bytes[16];

static void keep_context(struct mutex *m, const context_bytes context)
{
	memcpy(m->context_0, context, CONTEXT_PIECE);
	memcpy(m->context_4, context + CONTEXT_PIECE, CONTEXT_PIECE);
	if (chosen->context_size > 2 * CONTEXT_PIECE)
		memcpy(m->context_8, context + sizeof(m->context_8),
		       sizeof(m->context_8));
}

static void fetch_context(const struct mutex *m, context_bytes context)
{
	memcpy(context, m->context_0, CONTEXT_PIECE);
	memcpy(context + CONTEXT_PIECE, m->context_4, CONTEXT_PIECE);
	if (chosen->context_size > 2 * CONTEXT_PIECE)
		memcpy(context + sizeof(m->context_8), m->context_8,
		       sizeof(m->context_8));
}

/* E1 looks at it from outside; if it is old news, we try once more. */
static bool is_of_old_era(const struct mutex *m)
{
	uint16_t locked_in = m->era;

	return locked_in != 0 && locked_in != era;
}

/* The caller has m now. */
static void note_era(struct mutex *m)
{
	if (unlikely(is_of_old_era(m)))
		pawl_full_fence(); /* [F] */
	m->era = era;
}

static bool other_try(struct mutex *m)
{
	context_bytes context;

	if (chosen->context_size == 0) {
		if (!chosen->trylock(m->core))
			return false;
	} else {
		if (!chosen->try_acquire(m->core, context))
			return false;
		keep_context(m, context);
	}
	note_era(m);
	return true;
}

/* Nanoseconds until the deadline, but no more than `most`. */
static uint64_t time_left(const struct pawl_deadline *deadline, uint64_t most)
{
	uint64_t left = deadline != NULL ? pawl_os_until(deadline) : most;

	return left < most ? left : most;
}

static bool try_for_a_while(struct mutex *m)
{
	struct pawl_spin spin;

	pawl_spin_begin(&spin, SPIN_NS);
	do
		if (other_try(m))
			return true;
	while (pawl_spin_again(&spin));
	return false;
}

/* E1: waits until m is free, or of this era; true if it has it. */
static bool other_take_old(struct mutex *m)
{
	uint64_t nap = SHORTEST_NAP;

	while (is_of_old_era(m)) {
		pawl_atomic64 nothing = PAWL_ZERO;
		struct pawl_deadline soon;

		if (try_for_a_while(m))
			return true;
		soon = pawl_deadline_in(nap);
		pawl_os_sleep(&nothing, 0, &soon);
		if (nap < LONGEST_NAP)
			nap *= 2;
	}
	return false;
}

static void other_take(struct mutex *m)
{
	context_bytes context;

	if (unlikely(is_of_old_era(m)) && other_take_old(m))
		return;
	if (unlikely(era != FIRST_ERA))
		pawl_acquire_fence(); /* [H] */
	if (chosen->context_size == 0) {
		chosen->lock(m->core);
	} else {
		chosen->acquire(m->core, context);
		keep_context(m, context);
	}
	note_era(m);
}

/* Where a timed waiter of m stands in the parking table: an address that
 * nobody else waits on. */
static const void *timed_address(const struct mutex *m)
{
	return &m->kind;
}

static int other_take_until(struct mutex *m, const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket;
	struct pawl_sleeper me = {.address = timed_address(m)};
	uint64_t nap = SHORTEST_NAP, left;
	bool taken = try_for_a_while(m), granted = false;

	if (taken)
		return 0;
	pawl_fetch_add_relaxed(&timed_waiters, 1); /* Relaxed: a hint */
	bucket = pawl_bucket_lock(timed_address(m));
	pawl_bucket_enqueue(bucket, &me);
	pawl_bucket_unlock(bucket);
	do {
		struct pawl_deadline soon;

		left = time_left(deadline, nap);
		soon = pawl_deadline_in(left);
		granted = pawl_sleep(&me, &soon);
		taken = granted || other_try(m);
		if (nap < LONGEST_NAP)
			nap *= 2;
	} while (!taken && left > 0);
	if (!granted) {
		bucket = pawl_bucket_lock(timed_address(m));
		/* Relaxed: told under the bucket's lock. */
		if (pawl_load_relaxed(&me.state) == SLEEPER_GRANTED)
			granted = taken = true;
		else
			pawl_bucket_remove(bucket, &me);
		pawl_bucket_unlock(bucket);
	}
	pawl_fetch_add_relaxed(&timed_waiters, (uint64_t)-1); /* Relaxed: a hint */
	if (granted)
		note_era(m);
	return taken ? 0 : ETIMEDOUT;
}

/* Hands m over to a timed waiter, if there is one. */
static bool hand_over(struct mutex *m)
{
	struct pawl_bucket *bucket = pawl_bucket_lock(timed_address(m));
	struct pawl_sleeper *waiter;
	bool asleep = false;

	waiter = pawl_bucket_find(bucket, timed_address(m));
	if (waiter != NULL) {
		pawl_bucket_remove(bucket, waiter);
		asleep = pawl_sleeper_notify(waiter, SLEEPER_GRANTED); /* [V] */
	}
	pawl_bucket_unlock(bucket);
	if (asleep)
		pawl_os_wake(&waiter->state);
	return waiter != NULL;
}

/* E2. The word in front is the one that a trylock swaps: until it is 0, and it is not
 * while somebody holds the lock, nobody gets in. */
static void reset(struct mutex *m)
{
	size_t at = chosen->core_size != 0 ? chosen->core_size : chosen->size;

	do {
		at -= sizeof(pawl_atomic64);
		pawl_store_release((pawl_atomic64 *)(void *)(m->core + at), 0); /* [Z] */
	} while (at != 0);
}

static void other_give(struct mutex *m)
{
	context_bytes context;

	if (unlikely(m->era == 0))
		return; /* E3 */
	if (unlikely(is_of_old_era(m))) {
		reset(m); /* and leaves the era alone: nobody may queue meanwhile */
		return;
	}
	/* Relaxed: whoever is overlooked tries again by itself. */
	if (unlikely(pawl_load_relaxed(&timed_waiters) != 0) && pawl_one_in(2) &&
	    hand_over(m))
		return;
	m->era = 0;
	if (chosen->context_size == 0) {
		chosen->unlock(m->core);
	} else {
		fetch_context(m, context);
		chosen->release(m->core, context);
	}
}

static bool try_any(struct mutex *m)
{
	return lock_is_default() ? pawl_mutex_trylock(plain(m)) : other_try(m);
}

bool lock_try(struct mutex *m)
{
	bool taken = try_any(m);

	if (unlikely(stats_on) && taken)
		stats_acquired();
	return taken;
}

static void take_any(struct mutex *m)
{
	if (lock_is_default())
		pawl_mutex_lock(plain(m));
	else
		other_take(m);
}

static void take_profiled(struct mutex *m, const void *site)
{
	if (unlikely(profile_orders))
		profile_order(m, site);
	if (try_any(m))
		return;
	profile_wait(m, PROFILE_MUTEX, lock_owner(m), site);
	take_any(m);
	profile_waited();
}

void lock_take(struct mutex *m, const void *site)
{
	if (unlikely(profile_on)) {
		take_profiled(m, site);
		return;
	}
	if (unlikely(stats_on)) {
		if (!try_any(m)) {
			uint64_t since = stats_waiting(m, site);

			take_any(m);
			stats_waited(m, since);
		}
		stats_acquired();
		return;
	}
	take_any(m);
}

int lock_take_until(struct mutex *m, clockid_t clock, const struct timespec *time,
		    const void *site)
{
	struct pawl_deadline deadline;
	uint64_t since = 0;
	int error;

	if (lock_try(m))
		return 0;
	if (time->tv_sec < 0) /* glibc, of mutexes: also if the rest is no time */
		return ETIMEDOUT;
	error = pawl_deadline_at(&deadline, clock, time);
	if (error != 0)
		return error;
	if (unlikely(stats_on))
		since = stats_waiting(m, site);
	if (unlikely(profile_on))
		profile_wait(m, PROFILE_MUTEX, lock_owner(m), site);
	if (lock_is_default())
		error = pawl_mutex_timedlock(plain(m), clock, time);
	else
		error = other_take_until(m, &deadline);
	if (unlikely(profile_on))
		profile_waited();
	if (unlikely(stats_on)) {
		stats_waited(m, since);
		if (error == 0)
			stats_acquired();
	}
	return error;
}

void lock_give(struct mutex *m)
{
	if (lock_is_default())
		pawl_mutex_unlock(plain(m));
	else
		other_give(m);
}

void lock_forked(void)
{
	era = (uint16_t)(era == UINT16_MAX ? FIRST_ERA + 1 : era + 1);
	timed_waiters = (pawl_atomic64)PAWL_ZERO;
}
