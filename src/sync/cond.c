/* SPDX-License-Identifier: MIT */
/* The slow half of pawl_cond. See pawl/cond.h for I1 and I2. */
#include "sync/queues.h"

#include <pawl/cond.h>
#include <pawl/thread.h>

/* Counts a waiter in c, or no longer; requires its bucket's lock. */
static void count_waiter(struct pawl_cond *c, const struct pawl_sleeper *waiter,
			 int change)
{
	if (waiter->foreign_cond)
		return;
	/* Relaxed: changed under the lock only. */
	pawl_store_relaxed(&c->waiters,
			   pawl_load_relaxed(&c->waiters) + (uint64_t)change);
}

void pawl_cond_enroll(struct pawl_cond *c, struct pawl_sleeper *me)
{
	struct pawl_bucket *bucket;

	me->identity = pawl_mutex_me_();
	me->since = pawl_os_now();
	bucket = pawl_bucket_lock(c);
	me->address = c;
	pawl_bucket_enqueue(bucket, me);
	count_waiter(c, me, +1); /* I1 */
	pawl_bucket_unlock(bucket);
}

void pawl_cond_poll(struct pawl_cond *c, struct pawl_sleeper *me)
{
	struct pawl_bucket *bucket;
	unsigned priority;

	if (pawl_spin_told(&me->state, SLEEPER_WAITING))
		return;
	priority = pawl_os_priority();
	if (priority == 0)
		return;
	bucket = pawl_bucket_lock(c);
	if (!me->taken && me->address == c) {
		pawl_bucket_remove(bucket, me);
		me->priority = priority;
		pawl_bucket_enqueue(bucket, me);
	}
	pawl_bucket_unlock(bucket);
}

/* Leaves c's list, unless a signal has taken it off before, or it was not there: true if
 * a signal has. */
static bool leave_list(struct pawl_cond *c, struct pawl_sleeper *me)
{
	struct pawl_bucket *bucket;
	bool signalled;

	bucket = pawl_bucket_lock(c);
	signalled = me->taken;
	if (!signalled && me->address == c) {
		count_waiter(c, me, -1);
		pawl_bucket_remove(bucket, me);
		me->address = NULL;
	}
	pawl_bucket_unlock(bucket);
	return signalled;
}

bool pawl_cond_withdraw(struct pawl_cond *c, struct pawl_sleeper *me)
{
	if (!leave_list(c, me))
		return true;
	/* Signalled after all: in its mutex's queue, or about to be told. */
	pawl_sleep(me, NULL);
	return false;
}

bool pawl_cond_leave(struct pawl_cond *c, struct pawl_sleeper *me, bool woken)
{
	struct pawl_deadline soon;
	int error;

	if (!leave_list(c, me))
		return false;
	/* The signaller wakes it, or puts it into the mutex's queue: this ends as soon as
	 * it has. */
	do {
		error = me->mutex != NULL && !me->acquired ? pawl_mutex_leave_queue(me)
							   : ENOENT;
		soon = pawl_deadline_in(pawl_wake_cost());
	} while (error == ENOENT && !woken && !pawl_sleep(me, &soon));
	if (error == 0)
		pawl_mutex_unlock(me->mutex);
	return true;
}

/* Sleeps on c and comes back with m: 0, or ETIMEDOUT. */
static int wait_until(struct pawl_cond *c, struct pawl_mutex *m,
		      const struct pawl_deadline *deadline)
{
	struct pawl_sleeper me = {.mutex = m};
	bool signalled;

	pawl_cond_enroll(c, &me);
	pawl_mutex_unlock(m);
	pawl_cond_poll(c, &me);
	signalled = pawl_sleep(&me, deadline) || !pawl_cond_withdraw(c, &me);
	if (signalled && me.address == m)
		pawl_mutex_lock_queued(m, &me); /* I2 */
	else
		pawl_mutex_lock(m);
	return signalled ? 0 : ETIMEDOUT;
}

void pawl_cond_wait_slow_(struct pawl_cond *c, struct pawl_mutex *m)
{
	wait_until(c, m, NULL);
}

int pawl_cond_wait_until_(struct pawl_cond *c, struct pawl_mutex *m, int clock,
			  const struct timespec *time)
{
	struct pawl_deadline deadline;
	int error = pawl_deadline_at(&deadline, clock, time);

	return error != 0 ? error : wait_until(c, m, &deadline);
}

/*
 * Takes a waiter off c's list, which then is ours: it waits until it is told.
 * Requires the bucket's lock.
 */
static void take(struct pawl_bucket *bucket, struct pawl_cond *c,
		 struct pawl_sleeper *sleeper)
{
	count_waiter(c, sleeper, -1);
	pawl_bucket_remove(bucket, sleeper);
	sleeper->address = NULL;
	sleeper->taken = true; /* its address is its mutex's bucket's from now on */
	sleeper->next = NULL;
}

/* The waiter to be told next, or NULL; requires the bucket's lock. */
static struct pawl_sleeper *choose(struct pawl_bucket *bucket, struct pawl_cond *c,
				   uint64_t now)
{
	struct pawl_sleeper *first = pawl_bucket_find(bucket, c);

	if (first == NULL || first->priority != 0 ||
	    now - first->since > 32 * pawl_wake_cost())
		return first;
	return first->last;
}

/*
 * Tells a waiter that we have taken. If it sleeps and would find its mutex held,
 * by us, it is moved to the mutex's queue instead; if it is the only one, not
 * behind others who may let running threads go first for a while.
 */
static void tell(struct pawl_sleeper *sleeper, uint64_t now, bool all)
{
	struct pawl_mutex *m = sleeper->mutex;

	/* Relaxed: if we own it, that does not change; if it does not sleep yet,
	 * it costs no more than a look at its mutex. */
	if (m != NULL && pawl_load_relaxed(&m->word) == pawl_mutex_me_() &&
	    pawl_load_relaxed(&sleeper->state) == SLEEPER_ASLEEP &&
	    (all || !pawl_mutex_has_queue(m))) {
		if (pawl_mutex_enqueue(m, sleeper))
			pawl_mutex_wake_(m);
		return;
	}
	sleeper->told = now;
	if (pawl_sleeper_notify(sleeper, SLEEPER_WOKEN)) /* [V] */
		pawl_os_wake(&sleeper->state);
}

void pawl_cond_signal_slow_(struct pawl_cond *c, bool all)
{
	struct pawl_bucket *bucket;
	struct pawl_sleeper *sleeper, *next, *taken = NULL, **end = &taken;
	uint64_t now = pawl_os_now();

	pawl_critical_enter(); /* until all that are taken are told */
	bucket = pawl_bucket_lock(c);
	if (!all) {
		taken = choose(bucket, c, now);
		if (taken != NULL)
			take(bucket, c, taken);
	} else {
		while ((sleeper = pawl_bucket_find(bucket, c)) != NULL) {
			take(bucket, c, sleeper);
			*end = sleeper;
			end = &sleeper->next;
		}
	}
	pawl_bucket_unlock(bucket);
	for (sleeper = taken; sleeper != NULL; sleeper = next) {
		next = sleeper->next;
		tell(sleeper, now, all);
	}
	pawl_critical_leave();
}
