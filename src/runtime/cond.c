/* SPDX-License-Identifier: MIT */
/* The slow half of pawl_cond. See pawl/cond.h for I1 and I2. */
#include "parking.h"

#include <pawl/cond.h>

/* Changes c's count of waiters; requires its bucket's lock. */
static void count_waiters(struct pawl_cond *c, int change)
{
	/* Relaxed: changed under the lock only. */
	pawl_store_relaxed(&c->waiters,
			   pawl_load_relaxed(&c->waiters) + (uint64_t)change);
}

void pawl_cond_enroll(struct pawl_cond *c, struct pawl_sleeper *me)
{
	struct pawl_bucket *bucket = pawl_bucket_of(c);

	me->address = c;
	pawl_bucket_lock(bucket);
	pawl_bucket_append(bucket, me);
	count_waiters(c, +1); /* I1 */
	pawl_bucket_unlock(bucket);
}

bool pawl_cond_withdraw(struct pawl_cond *c, struct pawl_sleeper *me)
{
	struct pawl_bucket *bucket = pawl_bucket_of(c);
	bool signalled;

	pawl_bucket_lock(bucket);
	signalled = me->address != c;
	if (!signalled) {
		count_waiters(c, -1);
		pawl_bucket_remove(bucket, me);
	}
	pawl_bucket_unlock(bucket);
	/* Signalled after all: in its mutex's queue, or about to be woken. */
	if (signalled)
		pawl_sleep(me, NULL);
	return !signalled;
}

/* Sleeps on c and comes back with m: 0, or ETIMEDOUT. */
static int wait_until(struct pawl_cond *c, struct pawl_mutex *m,
		      const struct pawl_deadline *deadline)
{
	struct pawl_sleeper me = {.mutex = m};

	pawl_cond_enroll(c, &me);
	pawl_mutex_unlock(m);
	if (!pawl_sleep(&me, deadline) && pawl_cond_withdraw(c, &me)) {
		pawl_mutex_lock(m);
		return ETIMEDOUT;
	}
	pawl_mutex_lock_queued(m, &me); /* I2 */
	return 0;
}

void pawl_cond_wait_slow(struct pawl_cond *c, struct pawl_mutex *m)
{
	wait_until(c, m, NULL);
}

int pawl_cond_wait_until(struct pawl_cond *c, struct pawl_mutex *m, int clock,
			 const struct timespec *time)
{
	struct pawl_deadline deadline;
	int error = pawl_deadline_at(&deadline, clock, time);

	return error != 0 ? error : wait_until(c, m, &deadline);
}

/* Locks two buckets, which may be one, in an order that all agree on. */
static void lock_both(struct pawl_bucket *a, struct pawl_bucket *b)
{
	pawl_bucket_lock(a < b ? a : b);
	if (a != b)
		pawl_bucket_lock(a < b ? b : a);
}

static void unlock_both(struct pawl_bucket *a, struct pawl_bucket *b)
{
	pawl_bucket_unlock(a);
	if (a != b)
		pawl_bucket_unlock(b);
}

/*
 * Takes waiters that want no pawl_mutex back off c's list; requires the bucket's
 * lock. Returns them as a list of their own. Such a waiter is not woken yet, but
 * its address says that it will be.
 */
static struct pawl_sleeper *take_others(struct pawl_bucket *bucket, struct pawl_cond *c,
					bool all)
{
	struct pawl_sleeper *sleeper, *taken = NULL, **end = &taken;

	while ((sleeper = pawl_bucket_find(bucket->first, c)) != NULL &&
	       sleeper->mutex == NULL) {
		count_waiters(c, -1);
		pawl_bucket_remove(bucket, sleeper);
		sleeper->address = NULL;
		sleeper->next = NULL;
		*end = sleeper;
		end = &sleeper->next;
		if (!all)
			break;
	}
	return taken;
}

static void wake_others(struct pawl_sleeper *sleeper)
{
	while (sleeper != NULL) {
		struct pawl_sleeper *next = sleeper->next;

		pawl_store_release(&sleeper->state,
				   SLEEPER_WOKEN); /* [V] pairs with [W], P3 */
		pawl_os_wake(&sleeper->state);
		sleeper = next;
	}
}

void pawl_cond_signal_slow(struct pawl_cond *c, bool all)
{
	struct pawl_bucket *from = pawl_bucket_of(c), *to;
	struct pawl_sleeper *sleeper, *others, *woken = NULL;
	struct pawl_mutex *m;

	/* All waiters have one mutex: whose bucket is it? */
	pawl_bucket_lock(from);
	others = take_others(from, c, all);
	sleeper = pawl_bucket_find(from->first, c);
	m = sleeper != NULL ? sleeper->mutex : NULL;
	pawl_bucket_unlock(from);
	wake_others(others);
	if (m == NULL || (others != NULL && !all))
		return;
	to = pawl_bucket_of(m);

	lock_both(from, to);
	while ((sleeper = pawl_bucket_find(from->first, c)) != NULL &&
	       sleeper->mutex == m) {
		count_waiters(c, -1);
		pawl_bucket_remove(from, sleeper);
		if (pawl_mutex_enqueue(m, sleeper))
			woken = sleeper;
		if (!all)
			break;
	}
	unlock_both(from, to);
	if (woken != NULL)
		pawl_os_wake(&woken->state);
}
