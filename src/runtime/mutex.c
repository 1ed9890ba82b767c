/* SPDX-License-Identifier: MIT */
/*
 * The slow half of pawl_mutex: polling, the queue, and its head. See
 * pawl/mutex.h for the state and I1 to I3.
 *
 * The queue of a mutex is the sleepers of its address in its bucket, in order.
 * The first is the head. It alone competes for the lock; it leaves the queue
 * only as the holder, or when its time is up. What the head does:
 *
 *   arrives,
 *   having polled --> insists (due = 1), --in vain--> sleeps, counted
 *                     polls on                            |
 *                       ^                          woken by unlock
 *                       |                                 v
 *                       `------------in vain------- polls for a while
 *
 * and at each step it may find the lock free, or be granted it.
 */
#include "parking.h"

#include <pawl/mutex.h>
#include <pawl/thread.h>

enum {
	ARRIVAL_SPIN_NS = 30000, /* before queueing */
	QUEUED_SPIN_NS = 3000,	 /* the same, when others queue already */
	HEAD_SPIN_NS = 60000,	 /* of a head that was woken, before it insists */
	INSIST_SPIN_NS = 20000,	 /* after that, before it sleeps */
	YIELD_NS = 200000,	 /* between yields of who passes over a head */
	CLOCK_EVERY = 32,	 /* unlocks that pass over a head */
};

/* When this thread last waited for a mutex in its queue, or for its CPU. */
static __thread uint64_t waited;

/* A new head may be overtaken this often from now on (I2). Requires the bucket's
 * lock. Relaxed: it may be missed by one unlock that is under way. */
static void begin_patience(struct pawl_mutex *m)
{
	pawl_store_relaxed(&m->due, PAWL_MUTEX_BYPASS);
}

/*
 * Takes the head off the queue, which owns m or is about to, and makes the next
 * in line the head. Requires the bucket's lock, and that m is held.
 */
static void dequeue_owner(struct pawl_bucket *bucket, struct pawl_mutex *m,
			  struct pawl_sleeper *head)
{
	struct pawl_sleeper *next;

	pawl_bucket_uncount(bucket, head);
	pawl_bucket_remove(bucket, head);
	next = pawl_bucket_find(bucket->first, m);
	if (next != NULL) {
		begin_patience(m);
		/* Every unlock from here on comes after us, and sees it (I3). */
		pawl_bucket_count(bucket, next);
	} else {
		pawl_store_relaxed(&m->due, 0); /* Relaxed: m is held */
	}
}

/*
 * Polls for the lock; true if we got it. Ends early if it was granted. A head
 * that insists asks for it at each poll (I2).
 */
static bool poll(struct pawl_mutex *m, struct pawl_sleeper *me, uint64_t ns, bool insist)
{
	struct pawl_spin spin;

	pawl_spin_begin(&spin, ns);
	do {
		if (pawl_mutex_take(m))
			return true;
		/* Relaxed: only says when to stop; the caller looks again. */
		if (me != NULL && pawl_load_relaxed(&me->state) == SLEEPER_GRANTED)
			return false;
		/* Relaxed: seen by the next unlock, or one soon after. */
		if (insist && pawl_load_relaxed(&m->due) != 1)
			pawl_store_relaxed(&m->due, 1);
	} while (pawl_spin_again(&spin));
	return false;
}

/*
 * The head goes to sleep, unless it finds the lock free: returns 0 if it took
 * it, EAGAIN if it was woken or granted the lock, ETIMEDOUT if it is late. One
 * that has insisted goes on to in its sleep, unless it is `patient`.
 */
static int sleep_as_head(struct pawl_mutex *m, struct pawl_sleeper *me, bool patient,
			 const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket = pawl_bucket_of(m);
	struct pawl_deadline soon;

	pawl_bucket_lock(bucket);
	/* Relaxed: stored under the lock only. */
	if (pawl_load_relaxed(&me->state) == SLEEPER_GRANTED) {
		pawl_bucket_unlock(bucket);
		return EAGAIN;
	}
	if (patient)
		begin_patience(m);
	pawl_store_relaxed(&me->state, SLEEPER_ASLEEP); /* Relaxed: likewise */
	pawl_bucket_count(bucket, me);			/* I3 */
	pawl_bucket_unlock(bucket);
	if (!pawl_park_fence() && deadline == NULL) {
		soon = pawl_deadline_in(1000000);
		pawl_sleep(me, &soon);
		return pawl_mutex_take(m) ? 0 : EAGAIN;
	}
	if (pawl_mutex_take(m)) /* P1 */
		return 0;
	return pawl_sleep(me, deadline) ? EAGAIN : ETIMEDOUT;
}

/*
 * Gives up: leaves the queue and returns ETIMEDOUT, unless the lock was granted
 * this moment: then 0.
 */
static int leave_late(struct pawl_bucket *bucket, struct pawl_mutex *m,
		      struct pawl_sleeper *me)
{
	struct pawl_sleeper *next = NULL;
	bool head;

	pawl_bucket_lock(bucket);
	if (pawl_load_acquire(&me->state) == SLEEPER_GRANTED) { /* [W] pairs with [V] */
		pawl_bucket_unlock(bucket);
		return 0;
	}
	head = pawl_bucket_find(bucket->first, m) == me;
	pawl_bucket_uncount(bucket, me);
	pawl_bucket_remove(bucket, me);
	if (head) {
		/* We do not hold m, so nobody vouches that an unlock will see
		 * the next head asleep: get it up. */
		next = pawl_bucket_find(bucket->first, m);
		if (next != NULL) {
			begin_patience(m);
			pawl_store_release(&next->state, SLEEPER_WOKEN); /* [V] */
		} else {
			pawl_store_relaxed(&m->due, 0); /* Relaxed: a hint */
		}
	}
	pawl_bucket_unlock(bucket);
	if (next != NULL)
		pawl_os_wake(&next->state);
	return ETIMEDOUT;
}

/*
 * The life of a head, until it owns m (0) or is late (ETIMEDOUT). One that has
 * been asleep (`woken`) first lets those that run go on for a while. One that
 * came just now has polled already; if m is held for so long that it does not
 * get its turn at once, it had better not be handed the lock in its sleep.
 */
static int compete(struct pawl_mutex *m, struct pawl_sleeper *me, bool woken,
		   const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket = pawl_bucket_of(m);
	int error;

	do {
		if (pawl_load_acquire(&me->state) ==
		    SLEEPER_GRANTED) /* [W] pairs with [V] */
			return 0;
		if ((woken && poll(m, me, HEAD_SPIN_NS, false)) ||
		    poll(m, me, INSIST_SPIN_NS, true))
			break;
		error = sleep_as_head(m, me, !woken, deadline);
		if (error == ETIMEDOUT)
			return leave_late(bucket, m, me);
		woken = true;
	} while (error != 0);
	pawl_bucket_lock(bucket);
	dequeue_owner(bucket, m, me);
	pawl_bucket_unlock(bucket);
	return 0;
}

bool pawl_mutex_enqueue(struct pawl_mutex *m, struct pawl_sleeper *sleeper)
{
	struct pawl_bucket *bucket = pawl_bucket_of(m);

	sleeper->address = m;
	pawl_bucket_append(bucket, sleeper);
	if (pawl_bucket_find(bucket->first, m) != sleeper)
		return false;
	begin_patience(m);
	/* While m is held, mostly by our caller, a head that got up would only
	 * be in the way: let it sleep, if the fence vouches that the unlock will
	 * see it (I3). Relaxed: P1. */
	pawl_bucket_count(bucket, sleeper);
	if (pawl_load_relaxed(&m->word) != 0 && pawl_heavy_fence() &&
	    pawl_load_relaxed(&m->word) != 0)
		return false;
	pawl_bucket_uncount(bucket, sleeper);
	pawl_store_release(&sleeper->state, SLEEPER_WOKEN); /* [V] pairs with [W] */
	return true;
}

void pawl_mutex_lock_queued(struct pawl_mutex *m, struct pawl_sleeper *sleeper)
{
	compete(m, sleeper, true, NULL);
}

static int lock_until(struct pawl_mutex *m, const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket = pawl_bucket_of(m);
	struct pawl_sleeper me = {.address = m};
	int error;
	bool head;

	/* Relaxed: only decides how long to poll. */
	if (poll(m, NULL,
		 pawl_load_relaxed(&m->due) == 0 ? ARRIVAL_SPIN_NS : QUEUED_SPIN_NS,
		 false))
		return 0;

	pawl_bucket_lock(bucket);
	if (pawl_mutex_take(m)) {
		pawl_bucket_unlock(bucket);
		return 0;
	}
	head = pawl_bucket_find(bucket->first, m) == NULL;
	pawl_bucket_append(bucket, &me);
	if (head) {
		begin_patience(m);
		pawl_store_relaxed(&me.state, SLEEPER_WOKEN); /* Relaxed: locked */
	}
	pawl_bucket_unlock(bucket);

	if (!head && !pawl_sleep(&me, deadline))
		return leave_late(bucket, m, &me);
	error = compete(m, &me, !head, deadline);
	waited = pawl_os_now();
	return error;
}

void pawl_mutex_lock_slow(struct pawl_mutex *m)
{
	lock_until(m, NULL);
}

int pawl_mutex_lock_until(struct pawl_mutex *m, int clock, const struct timespec *time)
{
	struct pawl_deadline deadline;
	int error = pawl_deadline_at(&deadline, clock, time);

	return error != 0 ? error : lock_until(m, &deadline);
}

/* Sets m free, and wakes the head if it sleeps. */
static void set_free(struct pawl_mutex *m)
{
	pawl_store_release(&m->word, 0); /* [R] of pawl/mutex.h: our last access */
	if (pawl_parked_near(m))
		pawl_mutex_wake(m);
}

/* Unlock, when the head's turn has come: hands it the lock. */
static void grant(struct pawl_mutex *m)
{
	struct pawl_bucket *bucket = pawl_bucket_of(m);
	struct pawl_sleeper *head;
	bool asleep;

	pawl_bucket_lock(bucket);
	head = pawl_bucket_find(bucket->first, m);
	if (head == NULL) {			/* it gave up in the meantime */
		pawl_store_relaxed(&m->due, 0); /* Relaxed: we hold m */
		pawl_bucket_unlock(bucket);
		set_free(m);
		return;
	}
	dequeue_owner(bucket, m, head);
	/* Relaxed: stored under the lock only. */
	asleep = pawl_load_relaxed(&head->state) == SLEEPER_ASLEEP;
	pawl_store_release(&head->state, SLEEPER_GRANTED); /* [V] P3 */
	pawl_bucket_unlock(bucket);
	if (asleep)
		pawl_os_wake(&head->state);
}

/*
 * We pass over the head, which was woken and is not here. It may be waiting for
 * this very CPU, and the scheduler may let it wait for milliseconds: yields, if
 * this thread has not waited for some time.
 */
static void make_room(void)
{
	if (pawl_os_now() - waited < YIELD_NS)
		return;
	pawl_os_yield();
	waited = pawl_os_now();
}

/* Unlock while somebody is queued: counts, and either hands over or sets free. */
void pawl_mutex_unlock_slow(struct pawl_mutex *m)
{
	/* Relaxed: I2 allows for a count that the head overwrites, or that
	 * overwrites the head's. */
	uint64_t due = pawl_load_relaxed(&m->due);

	if (due == 1) {
		grant(m);
		return;
	}
	if (due > 1)
		pawl_store_relaxed(&m->due, due - 1);
	set_free(m);
	if (due % CLOCK_EVERY == 0 && due != PAWL_MUTEX_BYPASS)
		make_room(); /* of m we have but the address by now */
}

/* After an unlock that found somebody counted: wakes the head if it sleeps. */
void pawl_mutex_wake(const struct pawl_mutex *m)
{
	struct pawl_bucket *bucket = pawl_bucket_of(m);
	struct pawl_sleeper *head;

	if (!pawl_parked_really(bucket))
		return;
	pawl_bucket_lock(bucket);
	head = pawl_bucket_find(bucket->first, m);
	if (head != NULL && head->counted) {
		pawl_bucket_uncount(bucket, head);
		pawl_store_release(&head->state, SLEEPER_WOKEN); /* [V] P3 */
	} else {
		head = NULL;
	}
	pawl_bucket_unlock(bucket);
	if (head != NULL)
		pawl_os_wake(&head->state);
}
