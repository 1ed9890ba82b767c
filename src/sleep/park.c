/* SPDX-License-Identifier: MIT */
/*
 * The parking table. See pawl/park.h for the protocol and P1 to P3.
 *
 * Order: [H] pairs with [L] of pawl/park.h: P1, the sleeper's fence and the waker's.
 * Where the system has no heavy fence, [H] pairs with [F], which every waker then
 * passes: its look at the bucket is always too high by one. [N] pairs with [M]: who
 * finds that so knows that it is so in all buckets, and since when. [V] pairs with
 * [W]: who was told sees what was done before, such as the section of a mutex that
 * it was granted.
 */
#include "sleep/parking.h"

#include <errno.h>

#include <pawl/thread.h>

/* A waiter polls this long before it sleeps: about what the sleep would cost. */
enum { PARK_SPIN_NS = 4000 };
/* A waiter that must look elsewhere too does not sleep longer than this. */
enum { PARK_LOOK_NS = 20 * 1000 * 1000 };

__attribute__((used)) struct pawl_bucket pawl_buckets_[1 << PAWL_BUCKET_BITS];

/* What wanted is when nobody is: 1 where every waker must pass a full fence,
 * for want of a heavy one. It becomes 1 when that is true of all buckets; until
 * then wakers look once too often, and after it not once too rarely. */
static pawl_atomic64 nobody;
static pawl_atomic64 raising; /* somebody sees to it */
static pawl_atomic64 raised;  /* when nobody became 1, on the clock */
/* By then the store of a waker that looked before that has long been seen. */
enum { SETTLED_NS = 1000 * 1000 * 1000 };

void pawl_bucket_lock(struct pawl_bucket *bucket)
{
	pawl_critical_enter();
	pawl_guard_lock(&bucket->lock);
}

void pawl_bucket_unlock(struct pawl_bucket *bucket)
{
	pawl_guard_unlock(&bucket->lock);
	pawl_critical_leave();
}

struct pawl_sleeper *pawl_bucket_find(struct pawl_sleeper *from,
				      const volatile void *address)
{
	while (from != NULL && from->address != address)
		from = from->next;
	return from;
}

void pawl_bucket_append(struct pawl_bucket *bucket, struct pawl_sleeper *sleeper)
{
	sleeper->arrival = ++bucket->arrivals;
	sleeper->next = NULL;
	sleeper->previous = bucket->last;
	if (bucket->last != NULL)
		bucket->last->next = sleeper;
	else
		bucket->first = sleeper;
	bucket->last = sleeper;
}

void pawl_bucket_remove(struct pawl_bucket *bucket, struct pawl_sleeper *sleeper)
{
	if (sleeper->previous != NULL)
		sleeper->previous->next = sleeper->next;
	else
		bucket->first = sleeper->next;
	if (sleeper->next != NULL)
		sleeper->next->previous = sleeper->previous;
	else
		bucket->last = sleeper->previous;
}

void pawl_bucket_count(struct pawl_bucket *bucket, struct pawl_sleeper *sleeper)
{
	if (sleeper->counted)
		return;
	/* Relaxed: changed under the lock only; wakers see it by [H] and [L]. */
	pawl_store_relaxed(&bucket->wanted, pawl_load_relaxed(&bucket->wanted) + 1);
	sleeper->counted = true;
}

void pawl_bucket_uncount(struct pawl_bucket *bucket, struct pawl_sleeper *sleeper)
{
	if (!sleeper->counted)
		return;
	/* Relaxed: changed under the lock only; too high does no harm. */
	pawl_store_relaxed(&bucket->wanted, pawl_load_relaxed(&bucket->wanted) - 1);
	sleeper->counted = false;
}

/* From now on every waker takes the slow path, and passes a full fence. */
static void fence_all_wakers(void)
{
	struct pawl_bucket *bucket;

	/* Relaxed: whoever comes second must not sleep for long. */
	if (!pawl_cas_relaxed(&raising, 0, 1))
		return;
	for (bucket = pawl_buckets_; bucket < pawl_buckets_ + (1 << PAWL_BUCKET_BITS);
	     bucket++) {
		pawl_bucket_lock(bucket);
		/* Relaxed: as in pawl_bucket_count. */
		pawl_store_relaxed(&bucket->wanted,
				   pawl_load_relaxed(&bucket->wanted) + 1);
		pawl_bucket_unlock(bucket);
	}
	pawl_store_relaxed(&raised, pawl_os_now()); /* Relaxed: [N] */
	pawl_store_release(&nobody, 1);		    /* [N] */
}

bool pawl_park_fence(void)
{
	/* Relaxed: the fence below is at least an acquire. */
	bool before = pawl_load_relaxed(&nobody) == 0; /* [M] */

	if (pawl_heavy_fence()) /* [H] */
		return true;
	if (before)
		fence_all_wakers();
	/* Relaxed: [M] found it stored. */
	return !before && pawl_os_now() - pawl_load_relaxed(&raised) > SETTLED_NS;
}

bool pawl_parked_really(const struct pawl_bucket *bucket)
{
	uint64_t nobody_now;

	pawl_full_fence(); /* [F] */
	/* Relaxed: after the fence; too high does no harm (P2). nobody first: it
	 * must not be newer than wanted. */
	nobody_now = pawl_load_acquire(&nobody); /* [M] */
	return pawl_load_relaxed(&bucket->wanted) != nobody_now;
}

bool pawl_sleeper_tell(struct pawl_sleeper *sleeper, enum sleeper_state state)
{
	return pawl_exchange_release(&sleeper->state, state) ==
	       SLEEPER_ASLEEP; /* [V] P3 */
}

bool pawl_sleep(struct pawl_sleeper *sleeper, const struct pawl_deadline *deadline)
{
	bool slept = false;

	/* Relaxed: it tells nothing but that we must be woken. Fails if we are
	 * told already, or sleep for the second time. */
	(void)pawl_cas_relaxed(&sleeper->state, SLEEPER_WAITING, SLEEPER_ASLEEP);
	while (pawl_load_acquire(&sleeper->state) == SLEEPER_ASLEEP) /* [W] */
		if (!pawl_os_sleep(&sleeper->state, SLEEPER_ASLEEP, deadline))
			return false;
		else
			slept = true;
	if (slept && sleeper->told != 0)
		pawl_spin_woken(sleeper->told);
	return true;
}

int pawl_deadline_at(struct pawl_deadline *deadline, int clock,
		     const struct timespec *time)
{
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return EINVAL;
	if (time->tv_nsec < 0 || time->tv_nsec >= 1000000000)
		return EINVAL;
	deadline->realtime = clock == CLOCK_REALTIME;
	deadline->time = *time;
	/* The system takes no time before the clock's beginning. */
	if (time->tv_sec < 0)
		deadline->time = (struct timespec){.tv_sec = 0};
	return 0;
}

struct pawl_deadline pawl_deadline_in(uint64_t ns)
{
	struct pawl_deadline deadline = {.realtime = false};
	uint64_t then = pawl_os_now() + ns;

	deadline.time.tv_sec = (time_t)(then / 1000000000u);
	deadline.time.tv_nsec = (long)(then % 1000000000u);
	return deadline;
}

static bool satisfied(enum pawl_until until, uint64_t wanted, uint64_t value)
{
	return (until == PAWL_UNTIL_EQ) == (wanted == value);
}

void pawl_park_(const pawl_atomic64 *w, enum pawl_until until, uint64_t value)
{
	pawl_park_for(w, until, value, UINT64_MAX);
}

void pawl_park_for(const pawl_atomic64 *w, enum pawl_until until, uint64_t value,
		   uint64_t ns)
{
	struct pawl_bucket *bucket = pawl_bucket_of_(w);
	struct pawl_sleeper me = {.address = w, .until = until, .value = value};
	struct pawl_deadline deadline;
	struct pawl_spin spin;
	bool bounded = until == PAWL_UNTIL_CHANGE || ns < PARK_LOOK_NS;

	pawl_spin_begin(&spin, PARK_SPIN_NS);
	do
		/* Relaxed: the caller looks again, with the order it needs. */
		if (satisfied(until, value, pawl_load_relaxed(w)))
			return;
	while (pawl_spin_again(&spin));

	pawl_bucket_lock(bucket);
	pawl_bucket_append(bucket, &me);
	pawl_bucket_count(bucket, &me);
	pawl_bucket_unlock(bucket);
	if (!pawl_park_fence()) /* [H] */
		bounded = true;
	if (bounded)
		deadline = pawl_deadline_in(ns < PARK_LOOK_NS ? ns : PARK_LOOK_NS);
	/* Relaxed: P1; the caller looks again, with the order it needs. */
	if (!satisfied(until, value, pawl_load_relaxed(w)) &&
	    pawl_sleep(&me, bounded ? &deadline : NULL))
		return;
	/* Not woken: leave, unless somebody is waking us this moment. */
	pawl_bucket_lock(bucket);
	/* Relaxed: others change it under the lock only. */
	if (pawl_load_relaxed(&me.state) <= SLEEPER_ASLEEP) {
		pawl_bucket_uncount(bucket, &me);
		pawl_bucket_remove(bucket, &me);
	}
	pawl_bucket_unlock(bucket);
}

void pawl_unpark_(const pawl_atomic64 *w, uint64_t value)
{
	struct pawl_bucket *bucket = pawl_bucket_of_(w);
	struct pawl_sleeper *sleeper;
	uint64_t last = 0;
	bool asleep = false;

	do {
		if (!pawl_parked_really(bucket))
			return;
		pawl_bucket_lock(bucket);
		/* Who comes after this has seen our store, and may come back to the
		 * same word for something else, again and again if it outranks us. */
		if (last == 0)
			last = bucket->arrivals;
		sleeper = pawl_bucket_find(bucket->first, w);
		while (sleeper != NULL &&
		       !satisfied(sleeper->until, sleeper->value, value))
			sleeper = pawl_bucket_find(sleeper->next, w);
		if (sleeper != NULL && sleeper->arrival > last)
			sleeper = NULL; /* they stand in order */
		if (sleeper != NULL) {
			pawl_bucket_uncount(bucket, sleeper);
			pawl_bucket_remove(bucket, sleeper);
			asleep = pawl_sleeper_tell(sleeper, SLEEPER_WOKEN);
		}
		pawl_bucket_unlock(bucket);
		if (sleeper != NULL && asleep)
			pawl_os_wake(&sleeper->state); /* an address, no more */
	} while (sleeper != NULL);
}

/* The child of a fork has one thread, and that one does not sleep. */
void pawl_park_forget(void)
{
	struct pawl_bucket *bucket;

	/* Relaxed, here and below: nobody else is there. Who was raising is not
	 * either. */
	pawl_store_relaxed(&raising, pawl_load_relaxed(&nobody));
	for (bucket = pawl_buckets_; bucket < pawl_buckets_ + (1 << PAWL_BUCKET_BITS);
	     bucket++) {
		bucket->first = NULL;
		bucket->last = NULL;
		pawl_store_relaxed(&bucket->lock, 0);
		pawl_store_relaxed(&bucket->wanted, pawl_load_relaxed(&nobody));
		pawl_store_relaxed(&bucket->caller, 0);
	}
}
