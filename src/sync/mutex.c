/* SPDX-License-Identifier: MIT */
/*
 * The slow half of pawl_mutex: polling, the queue, and its head. See
 * pawl/mutex.h for the state and I1 to I4.
 *
 * The queue of a mutex is the sleepers of its address in its bucket, by real-time priority
 * and then by arrival. The first is the head. It competes for the lock until it holds it, its
 * time is up, or a waiter of higher priority takes its place. What the head does:
 *
 *   arrives, having polled --> insists (due = 1), --in vain--> sleeps, counted
 *                              polls on                            |
 *                                ^                          woken by unlock
 *                    has napped  |                                 v
 *                    often enough `----- naps, glances <--in vain-- glances
 *
 * and at each step it may find the lock free, or be granted it. One that came just now, and
 * is awake, can take over at once. One that has been asleep was passed over by threads that
 * run: there are more than CPUs, and a hand-over costs those that run more than it brings,
 * unless they have had it for long. While it naps no unlock wakes it. Should the lock come to
 * rest meanwhile, it is late by the length of a nap, which is no longer than it had waited.
 *
 * Order: [W] pairs with [V] of sleep/park.c: who was granted the lock sees the section
 * before. [E] pairs with [F] of sleep/park.c: I4.
 */
#include "sync/queues.h"

#include <pawl/mutex.h>
#include <pawl/thread.h>

enum {
	INSIST_NS = 20000,   /* that a head polls and asks for its turn: then it sleeps */
	UNSURE_NS = 1000000, /* of sleep that an unlock might not end */
	ROOM_WAKES = 2,	     /* wake-ups: then who made room looks whether it helped */
	BROUGHT = 8	     /* at a time; more than CPUs would not get up any sooner */
};

bool pawl_mutex_has_queue(const struct pawl_mutex *m)
{
	return pawl_mutex_turn(pawl_load_relaxed(&m->due)) != 0; /* Relaxed: a hint */
}

/* A new head may be overtaken this often from now on (I2). Requires the bucket's
 * lock. Relaxed: it may be missed by one unlock that is under way. */
static void begin_patience(struct pawl_mutex *m)
{
	pawl_store_relaxed(&m->due, PAWL_MUTEX_BYPASS);
}

/* This thread wakes the head, which may be put where this thread runs, or wait for
 * another CPU although there is an idle one.
 * Relaxed, here and below: hints, of which some may get lost. */
static void set_waker(const struct pawl_mutex *m)
{
	struct pawl_filter *cell = pawl_filter_of_(m);

	if (PAWL_MUTEX_SLICE == PAWL_NEVER)
		return;
	pawl_store_relaxed(&cell->woken_at, 0); /* the clock is not for unlocks */
	pawl_store_relaxed(&cell->waker, pawl_mutex_me_());
}

/* The head runs, or another one does. */
static void clear_waker(const struct pawl_mutex *m)
{
	if (PAWL_MUTEX_SLICE != PAWL_NEVER)
		pawl_store_relaxed(&pawl_filter_of_(m)->waker, 0); /* Relaxed: a hint */
}

/* Flag bits stored in `waker`: it ceded its CPU in vain, and another thread may try; or it
 * is that other thread. After that the head has to wait for the system. */
enum { IN_VAIN = 1, SECOND = 2 };

/* Whether m's head has been without a CPU for long enough, and waits for this thread's
 * most likely: that of its waker; or, if that one has ceded its CPU in vain, any other's. */
static bool owes_room(struct pawl_mutex *m, uint64_t identity)
{
	struct pawl_filter *cell = pawl_filter_of_(m);
	uint64_t waker, woken_at, now;

	if (PAWL_MUTEX_SLICE == PAWL_NEVER)
		return false;
	/* Relaxed, here and below: hints. */
	waker = pawl_load_relaxed(&cell->waker);
	if (waker != identity &&
	    ((waker & IN_VAIN) == 0 || waker == (identity | IN_VAIN)))
		return false;
	if (!pawl_mutex_has_queue(m))
		return false;
	now = pawl_os_now() + 1;
	woken_at = pawl_load_relaxed(&cell->woken_at); /* Relaxed: a hint */
	if (woken_at == 0) {
		woken_at = now;
		pawl_store_relaxed(&cell->woken_at, woken_at); /* Relaxed: a hint */
	}
	return now - woken_at >= PAWL_MUTEX_SLICE * pawl_wake_cost();
}

/* Queues a sleeper by its priority. True if it is the head now: of an empty queue, or before
 * a head of lower priority, which will sleep as all behind the head do once it finds out.
 * Requires the bucket's lock. */
static bool enqueue(struct pawl_bucket *bucket, struct pawl_mutex *m,
		    struct pawl_sleeper *sleeper)
{
	struct pawl_sleeper *head = pawl_bucket_find(bucket, m);

	sleeper->address = m;
	pawl_bucket_enqueue(bucket, sleeper);
	if (pawl_bucket_find(bucket, m) != sleeper)
		return false;
	if (head != NULL)
		pawl_sleeper_uncount(head);
	begin_patience(m);
	return true;
}

/* Takes a thread that owns m, or is about to, off the queue, and returns the next head if
 * this was one: that one has to be counted or woken. Requires the bucket's lock, and that
 * m is held. */
static struct pawl_sleeper *dequeue_owner(struct pawl_bucket *bucket,
					  struct pawl_mutex *m,
					  struct pawl_sleeper *owner)
{
	bool head = pawl_bucket_find(bucket, m) == owner;
	struct pawl_sleeper *next;

	pawl_sleeper_uncount(owner);
	pawl_bucket_remove(bucket, owner);
	if (!head)
		return NULL;
	clear_waker(m);
	next = pawl_bucket_find(bucket, m);
	if (next != NULL)
		begin_patience(m);
	else
		pawl_store_relaxed(&m->due, 0); /* Relaxed: m is held */
	return next;
}

/* True if it is not in m's queue: not yet, no longer, or because m's memory has begun a
 * new life while we were waiting for the last one. Requires the bucket's lock. */
static bool is_forgotten(const struct pawl_mutex *m, const struct pawl_sleeper *me)
{
	return me->address != m;
}

/* On the way to sleep: a queued thread moves up by its real-time priority, true if it becomes
 * the head by that. It never moves back: the next head would have to be woken. */
static bool move_up(struct pawl_mutex *m, struct pawl_sleeper *me)
{
	struct pawl_bucket *bucket;
	unsigned priority = pawl_os_priority();
	bool head = false, was_head;

	if (priority <= me->priority)
		return false;
	bucket = pawl_bucket_lock(m);
	/* Relaxed: granted under the lock that we hold. */
	if (pawl_load_relaxed(&me->state) != SLEEPER_GRANTED && !is_forgotten(m, me)) {
		was_head = pawl_bucket_find(bucket, m) == me;
		pawl_bucket_remove(bucket, me);
		me->priority = priority;
		head = enqueue(bucket, m, me) && !was_head;
	}
	pawl_bucket_unlock(bucket);
	return head;
}

/*
 * The head sleeps for ns nanoseconds, or until the lock is granted to it or its
 * deadline has come. Nobody else wakes it: it is not counted. A waiter that is not the head
 * any more sleeps until it is; one whose mutex has begun a new life, for ever.
 */
static int nap(struct pawl_mutex *m, struct pawl_sleeper *me, uint64_t ns,
	       const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket;
	uint64_t until = pawl_os_now() + ns;
	struct pawl_deadline soon = pawl_deadline_in(ns);
	bool last = deadline != NULL && pawl_os_until(deadline) < ns;

	bucket = pawl_bucket_lock(m);
	/* Relaxed: stored under the lock only. */
	if (pawl_load_relaxed(&me->state) != SLEEPER_GRANTED) {
		last |= pawl_bucket_find(bucket, m) != me;
		pawl_sleeper_uncount(me);
		pawl_store_relaxed(&me->state, SLEEPER_ASLEEP); /* Relaxed: likewise */
	}
	pawl_bucket_unlock(bucket);
	if (pawl_sleep(me, last ? deadline : &soon))
		return EAGAIN;
	if (last)
		return ETIMEDOUT;
	pawl_spin_woken(until);
	return EAGAIN;
}

/*
 * The head goes to sleep, unless it finds the lock free: returns 0 if it took
 * it, EAGAIN if it was woken or granted the lock, ETIMEDOUT if it is late. One
 * that has insisted goes on to in its sleep, unless it is `patient`.
 */
static int sleep_as_head(struct pawl_mutex *m, struct pawl_sleeper *me, bool patient,
			 const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket;
	bool sure;

	(void)move_up(m, me);
	bucket = pawl_bucket_lock(m);
	/* Granted the lock, behind another head, or forgotten. */
	if (pawl_bucket_find(bucket, m) != me) {
		pawl_bucket_unlock(bucket);
		return nap(m, me, 0, deadline);
	}
	if (patient)
		begin_patience(m);
	/* Relaxed: stored under the lock only. */
	pawl_store_relaxed(&me->state, SLEEPER_ASLEEP);
	pawl_sleeper_count(me); /* I3 */
	pawl_bucket_unlock(bucket);
	sure = pawl_park_fence(); /* [H] of sleep/park.c: P1 */
	if (!sure)
		return nap(m, me, UNSURE_NS, deadline);
	if (pawl_mutex_take_(m)) /* P1 */
		return 0;
	return pawl_sleep(me, deadline) ? EAGAIN : ETIMEDOUT;
}

/*
 * Cancels the wait: ETIMEDOUT; 0 if the lock was granted this moment; ENOENT if this
 * waiter is in no queue.
 */
static int cancel_wait(struct pawl_mutex *m, struct pawl_sleeper *me)
{
	struct pawl_bucket *bucket;
	struct pawl_sleeper *next = NULL;
	bool head, asleep = false;

	bucket = pawl_bucket_lock(m);
	/* Relaxed: granted under the lock that we hold. */
	if (pawl_load_relaxed(&me->state) == SLEEPER_GRANTED) {
		pawl_bucket_unlock(bucket);
		return 0;
	}
	if (is_forgotten(m, me)) {
		pawl_bucket_unlock(bucket);
		return ENOENT;
	}
	pawl_critical_enter(); /* until the next head is woken */
	head = pawl_bucket_find(bucket, m) == me;
	pawl_sleeper_uncount(me);
	pawl_bucket_remove(bucket, me);
	me->address = NULL;
	if (head) {
		/* We do not hold m, so nobody vouches that an unlock will see
		 * the next head asleep: get it up. */
		next = pawl_bucket_find(bucket, m);
		if (next != NULL) {
			begin_patience(m);
			set_waker(m);
			asleep = pawl_sleeper_notify(next, SLEEPER_WOKEN); /* [V] */
		} else {
			pawl_store_relaxed(&m->due, 0); /* Relaxed: a hint */
		}
	}
	pawl_bucket_unlock(bucket);
	if (asleep)
		pawl_os_wake(&next->state);
	pawl_critical_leave();
	return ETIMEDOUT;
}

/* The life of a head, until it owns m (0), or is late (ETIMEDOUT). */
static int compete(struct pawl_mutex *m, struct pawl_sleeper *me, bool woken,
		   const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket;
	uint64_t rest = pawl_wake_cost();
	int naps = woken ? 0 : PAWL_MUTEX_NAPS, error;
	enum pawl_polled polled;
	struct pawl_sleeper *next;

	/* Relaxed: tells others that they need not wake us; we look with [W]. */
	if (pawl_cas_relaxed(&me->state, SLEEPER_WOKEN, SLEEPER_WAITING))
		clear_waker(m);
	do {
		bool insist = naps == PAWL_MUTEX_NAPS;

		if (pawl_load_acquire(&me->state) == SLEEPER_GRANTED) /* [W] */
			return 0;
		polled = insist ? pawl_mutex_insist(m, me->identity, &me->state,
						    SLEEPER_GRANTED, INSIST_NS)
				: pawl_mutex_poll(m, me->identity, &me->state,
						  SLEEPER_GRANTED, pawl_wake_cost() / 2);
		if (polled == PAWL_POLLED_TAKEN)
			break;
		if (insist) {
			error = sleep_as_head(m, me, !woken, deadline);
			if (!woken)
				naps = 0;
			woken = true;
		} else {
			error = nap(m, me, rest << naps, deadline);
			naps++;
		}
		if (error == ETIMEDOUT)
			return cancel_wait(m, me) == 0 ? 0 : ETIMEDOUT;
	} while (error != 0);
	bucket = pawl_bucket_lock(m);
	if (!is_forgotten(m, me)) {
		next = dequeue_owner(bucket, m, me);
		me->address = NULL;
		if (next != NULL)
			/* Every unlock from here on comes after us, and sees it (I3). */
			pawl_sleeper_count(next);
	}
	pawl_bucket_unlock(bucket);
	return 0;
}

bool pawl_mutex_enqueue(struct pawl_mutex *m, struct pawl_sleeper *sleeper)
{
	struct pawl_bucket *bucket;
	bool head;

	bucket = pawl_bucket_lock(m);
	head = enqueue(bucket, m, sleeper);
	if (head)
		pawl_sleeper_count(sleeper); /* I3, by I4 */
	pawl_bucket_unlock(bucket);
	if (!head)
		return false;
	pawl_full_fence(); /* [E] I4 */
	/* Relaxed: after the fence. */
	return pawl_load_relaxed(&m->word) != pawl_mutex_me_();
}

/*
 * Takes some of those that a broadcast has moved out of the queue, and wakes them:
 * they then come as anybody would. Who gets up as the head does it, so that the
 * others need not get up one after the other; and not who broadcast, in whose
 * section they would come too early. The head is not touched; who is behind it is
 * not counted. Those with a priority stay where they are, in order.
 */
static void bring_others(struct pawl_mutex *m)
{
	struct pawl_bucket *bucket;
	const pawl_atomic64 *asleep[BROUGHT];
	struct pawl_sleeper *sleeper, *next;
	int count = 0, i;

	pawl_critical_enter(); /* until all are woken */
	bucket = pawl_bucket_lock(m);
	sleeper = pawl_bucket_find(bucket, m);
	if (sleeper != NULL)
		sleeper = sleeper->next;
	for (; sleeper != NULL && sleeper->taken && sleeper->priority == 0 &&
	       count < BROUGHT;
	     sleeper = next) {
		next = sleeper->next;
		pawl_bucket_remove(bucket, sleeper);
		sleeper->address = NULL;
		if (pawl_sleeper_notify(sleeper, SLEEPER_WOKEN)) /* [V] P3 */
			asleep[count++] = &sleeper->state;
	}
	pawl_bucket_unlock(bucket);
	for (i = 0; i < count; i++)
		pawl_os_wake(asleep[i]);
	pawl_critical_leave();
}

void pawl_mutex_lock_queued(struct pawl_mutex *m, struct pawl_sleeper *sleeper)
{
	bring_others(m);
	compete(m, sleeper, true, NULL);
	sleeper->acquired = true; /* no grant is left for a jump to give back */
}

/*
 * Queued behind `head`, which was woken and has no CPU yet: sleeps for a moment, so that
 * it can have this one. True if that did not help, for it is another CPU
 * that it waits for: this thread is off the queue again, and may go on.
 */
static bool made_room_in_vain(struct pawl_mutex *m, struct pawl_sleeper *me,
			      const struct pawl_sleeper *head)
{
	struct pawl_filter *cell = pawl_filter_of_(m);
	struct pawl_bucket *bucket;
	struct pawl_deadline soon = pawl_deadline_in(ROOM_WAKES * pawl_wake_cost());
	bool in_vain, first;

	if (pawl_sleep(me, &soon))
		return false;
	bucket = pawl_bucket_lock(m);
	in_vain = !is_forgotten(m, me) && pawl_bucket_find(bucket, m) == head;
	/* Relaxed: told under the lock only. */
	if (in_vain)
		in_vain = pawl_load_relaxed(&me->state) <= SLEEPER_ASLEEP &&
			  pawl_load_relaxed(&head->state) == SLEEPER_WOKEN;
	if (in_vain) {
		pawl_bucket_remove(bucket, me);
		me->address = NULL;
		/* Relaxed: our own; and hints. */
		pawl_store_relaxed(&me->state, SLEEPER_WAITING);
		pawl_store_relaxed(&cell->woken_at, 1); /* long ago */
		/* Relaxed: stored under the lock, but for 0. */
		first = pawl_load_relaxed(&cell->waker) == me->identity;
		pawl_store_relaxed(&cell->waker, first ? me->identity | IN_VAIN : 0);
	}
	pawl_bucket_unlock(bucket);
	return in_vain;
}

int pawl_mutex_await(struct pawl_mutex *m, struct pawl_sleeper *me,
		     const struct pawl_deadline *deadline)
{
	struct pawl_filter *cell = pawl_filter_of_(m);
	struct pawl_bucket *bucket;
	struct pawl_sleeper *head;
	enum pawl_polled outcome;
	int tries = PAWL_MUTEX_TRIES;
	bool room, queued, called, again, first = false;

	do {
		room = owes_room(m, me->identity);
		queued = pawl_mutex_has_queue(m);
		/* The holder may not be running if others had to queue. */
		outcome = room ? PAWL_POLLED_CROWDED
			       : pawl_mutex_poll(m, me->identity, NULL, 0,
						 pawl_wake_cost() / (queued ? 4 : 1));
		if (outcome == PAWL_POLLED_TAKEN)
			return 0;
		bucket = pawl_bucket_lock(m);
		head = pawl_bucket_find(bucket, m);
		/* Relaxed: only says whether it got up. */
		called = head != NULL && pawl_load_relaxed(&head->state) == SLEEPER_WOKEN;
		/* Who makes room does so even if m is free: the head is to take it. */
		if (!(room && called) && pawl_mutex_take_(m)) {
			pawl_bucket_unlock(bucket);
			return 0;
		}
		/* A head that was woken, and has no CPU yet, is no reason to sleep; unless
		 * we get nowhere, and may have the CPU that it waits for. */
		again = outcome != PAWL_POLLED_CROWDED && called && tries > 0;
		tries -= outcome == PAWL_POLLED_HOGGED ? (PAWL_MUTEX_TRIES + 1) / 2 : 1;
		if (!again)
			first = enqueue(bucket, m, me);
		room &= called && !first && deadline == NULL;
		/* Relaxed: hints. */
		if (room && pawl_load_relaxed(&cell->waker) != me->identity)
			pawl_store_relaxed(&cell->waker, me->identity | SECOND);
		pawl_bucket_unlock(bucket);
		if (room)
			again = made_room_in_vain(m, me, head);
	} while (again);

	if (!first)
		first = move_up(m, me);
	if (!first && !pawl_sleep(me, deadline))
		return cancel_wait(m, me) == 0 ? 0 : ETIMEDOUT;
	return compete(m, me, !first, deadline);
}

void pawl_mutex_forget(struct pawl_mutex *m)
{
	pawl_park_drop(m, m);
}

int pawl_mutex_leave_queue(struct pawl_sleeper *me)
{
	return cancel_wait(me->mutex, me);
}

/* A jump out of the wait. If this thread has just taken m itself, it keeps it, as if the
 * jump had come after the call. */
static void abandon(struct pawl_sleeper *me)
{
	if (me->acquired || pawl_mutex_leave_queue(me) == 0)
		pawl_mutex_unlock(me->mutex);
}

static int lock_by(struct pawl_mutex *m, const struct pawl_deadline *deadline)
{
	struct pawl_sleeper me = {
		.mutex = m, .identity = pawl_mutex_me_(), .abandon = abandon};
	int error;

	pawl_wait_begin(&me);
	error = pawl_mutex_await(m, &me, deadline);
	me.acquired = error == 0;
	pawl_wait_end(&me);
	return error;
}

void pawl_mutex_lock_slow_(struct pawl_mutex *m)
{
	lock_by(m, NULL);
}

int pawl_mutex_lock_until_(struct pawl_mutex *m, int clock, const struct timespec *time)
{
	struct pawl_deadline deadline;
	int error = pawl_deadline_at(&deadline, clock, time);

	return error != 0 ? error : lock_by(m, &deadline);
}

/* Unlock, when the head's turn has come: hands it the lock; false if it has gone. Kept
 * apart, or every unlock that only counts would save the registers that this one needs. */
static __attribute__((noinline)) bool grant(struct pawl_mutex *m)
{
	struct pawl_bucket *bucket;
	struct pawl_sleeper *head, *next;
	bool asleep, next_asleep = false;

	bucket = pawl_bucket_lock(m);
	head = pawl_bucket_find(bucket, m);
	if (head == NULL) {			/* it gave up in the meantime */
		pawl_store_relaxed(&m->due, 0); /* Relaxed: we hold m */
		pawl_bucket_unlock(bucket);
		return false;
	}
	/* The next one is woken here, and not by the new owner, at whose CPU the system
	 * would have it wait: ours will be free if we come back in vain. */
	pawl_critical_enter(); /* until both are woken */
	next = dequeue_owner(bucket, m, head);
	if (next != NULL) {
		set_waker(m);
		next_asleep = pawl_sleeper_notify(next, SLEEPER_WOKEN); /* [V] P3 */
	}
	/* Relaxed: the head learns it by [V], all others by [R]. */
	pawl_store_relaxed(&m->word, head->identity);
	asleep = pawl_sleeper_notify(head, SLEEPER_GRANTED); /* [V] P3 */
	pawl_bucket_unlock(bucket);
	if (asleep)
		pawl_os_wake(&head->state);
	if (next_asleep)
		pawl_os_wake(&next->state);
	pawl_critical_leave();
	return true;
}

static inline bool hand_over(struct pawl_mutex *m)
{
	/* Relaxed, here and below: I2 allows for a count that the head overwrites, or that
	 * overwrites the head's. */
	uint64_t due = pawl_load_relaxed(&m->due), turn = pawl_mutex_turn(due);

	if (turn == 1)
		return grant(m);
	if (turn != 0)
		due--;
	if (due >> PAWL_MUTEX_WATCH_SHIFT != 0)
		due -= (uint64_t)1 << PAWL_MUTEX_WATCH_SHIFT;
	pawl_store_relaxed(&m->due, due);
	return false;
}

bool pawl_mutex_hand_over_(struct pawl_mutex *m)
{
	return hand_over(m);
}

/* Unlock while somebody waits, or by another thread than the owner: counts, and
 * either hands over or sets free. */
void pawl_mutex_unlock_slow_(struct pawl_mutex *m)
{
	bool foreign;

	if (hand_over(m))
		return;
	/* Relaxed: it changes only if it is ours to change. */
	foreign = pawl_load_relaxed(&m->word) != pawl_mutex_me_();
	pawl_store_release(&m->word, 0); /* [R] of pawl/mutex.h: our last access */
	if (foreign || pawl_parked_near_(m))
		pawl_mutex_wake_(m);
}

/* After an unlock that found somebody counted: wakes the head if it sleeps. */
void pawl_mutex_wake_(const struct pawl_mutex *m)
{
	struct pawl_bucket *bucket;
	struct pawl_sleeper *head;
	bool asleep = false;

	if (!pawl_parked_really(m))
		return;
	pawl_critical_enter(); /* until the head is woken */
	bucket = pawl_bucket_lock(m);
	head = pawl_bucket_find(bucket, m);
	if (head != NULL && head->counted) {
		pawl_sleeper_uncount(head);
		set_waker(m);
		asleep = pawl_sleeper_notify(head, SLEEPER_WOKEN); /* [V] P3 */
	}
	pawl_bucket_unlock(bucket);
	if (asleep)
		pawl_os_wake(&head->state);
	pawl_critical_leave();
}
