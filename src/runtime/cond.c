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

/* Sleeps on c and comes back with m: 0, or ETIMEDOUT. */
static int wait_until(struct pawl_cond *c, struct pawl_mutex *m,
		      const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket = pawl_bucket_of(c);
	struct pawl_sleeper me = {.address = c, .mutex = m};

	pawl_bucket_lock(bucket);
	pawl_bucket_append(bucket, &me);
	count_waiters(c, +1); /* I1 */
	pawl_bucket_unlock(bucket);
	pawl_mutex_unlock(m);

	if (!pawl_sleep(&me, deadline)) {
		pawl_bucket_lock(bucket);
		if (me.address == c) {
			count_waiters(c, -1);
			pawl_bucket_remove(bucket, &me);
			pawl_bucket_unlock(bucket);
			pawl_mutex_lock(m);
			return ETIMEDOUT;
		}
		/* Signalled after all: in m's queue by now. */
		pawl_bucket_unlock(bucket);
		pawl_sleep(&me, NULL);
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

void pawl_cond_signal_slow(struct pawl_cond *c, bool all)
{
	struct pawl_bucket *from = pawl_bucket_of(c), *to;
	struct pawl_sleeper *sleeper, *woken = NULL;
	struct pawl_mutex *m;

	/* All waiters have one mutex: whose bucket is it? */
	pawl_bucket_lock(from);
	sleeper = pawl_bucket_find(from->first, c);
	m = sleeper != NULL ? sleeper->mutex : NULL;
	pawl_bucket_unlock(from);
	if (m == NULL)
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
