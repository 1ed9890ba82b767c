/* SPDX-License-Identifier: MIT */
/*
 * The slow half of pawl_mutex: polling, the queue, and its head. See
 * pawl/mutex.h for the state and I1 to I4.
 *
 * The queue of a mutex is the sleepers of its address in its bucket, in order.
 * The first is the head. It alone competes for the lock; it leaves the queue
 * only as the holder, or when its time is up. What the head does:
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

#define WATCH_SHIFT 32

static const struct pawl_deadline FOR_EVER = {.time = {.tv_sec = INT32_MAX}};

enum {
	INSIST_NS = 20000,   /* that a head polls and asks for its turn: then it sleeps */
	UNSURE_NS = 1000000, /* of sleep that an unlock might not end */
	FREE_LOOKS = 5,	     /* at every release, while only one other has the lock */
	BROUGHT = 8	     /* at a time; more than CPUs would not get up any sooner */
};

/* The lower half of due: unlocks until it is the head's turn. */
static uint64_t turn_of(uint64_t due)
{
	return due & (((uint64_t)1 << WATCH_SHIFT) - 1);
}

/* A new head may be overtaken this often from now on (I2). Requires the bucket's
 * lock. Relaxed: it may be missed by one unlock that is under way. */
static void begin_patience(struct pawl_mutex *m)
{
	pawl_store_relaxed(&m->due, PAWL_MUTEX_BYPASS);
}

/* Takes the head off the queue, which owns m or is about to, and returns the next in line,
 * or NULL: that one is the head now, and has to be counted or woken. Requires the bucket's
 * lock, and that m is held. */
static struct pawl_sleeper *dequeue_owner(struct pawl_bucket *bucket,
					  struct pawl_mutex *m, struct pawl_sleeper *head)
{
	struct pawl_sleeper *next;

	pawl_bucket_uncount(bucket, head);
	pawl_bucket_remove(bucket, head);
	next = pawl_bucket_find(bucket->first, m);
	if (next != NULL)
		begin_patience(m);
	else
		pawl_store_relaxed(&m->due, 0); /* Relaxed: m is held */
	return next;
}

/* How many unlocks there were between two looks at due; 0 if that is not known, because
 * they were not counted all the time: an unlock may have overwritten what watch() stored,
 * which it does only when there are fewer left than this. */
static uint64_t passed(uint64_t before, uint64_t due)
{
	uint64_t left = due >> WATCH_SHIFT, sections = (before >> WATCH_SHIFT) - left;

	return left != 0 && sections <= PAWL_MUTEX_WATCHED / 2 ? sections : 0;
}

/* Has unlocks counted, for some time to come, and returns what due is then. One
 * write serves many looks, of many threads: it costs the holder a transfer.
 * Relaxed: a hint, which takes nothing away from the lower half. */
static uint64_t watch(struct pawl_mutex *m, uint64_t due)
{
	uint64_t watched = turn_of(due) + ((uint64_t)PAWL_MUTEX_WATCHED << WATCH_SHIFT);

	if (due == watched || due >> WATCH_SHIFT > PAWL_MUTEX_WATCHED / 2)
		return due;
	(void)pawl_cas_relaxed(&m->due, due, watched);
	return watched;
}

/* As pawl_mutex_take_, for whoever that is. */
static bool take(struct pawl_mutex *m, uint64_t identity)
{
	/* Relaxed: spares a write that would fail; [A] decides. */
	return pawl_load_relaxed(&m->word) == 0 &&
	       pawl_cas_acquire(&m->word, 0, identity); /* [A] of pawl/mutex.h */
}

/*
 * Polls for the lock. Ends early if *state, unless it is NULL, has these bits. One thread that takes the
 * lock again and again, faster than it could come here, had better be left alone
 * for a while; and, crowded, for longer if others are queued already. A head
 * that insists asks for its turn at each poll (I2).
 */
static enum pawl_polled poll(struct pawl_mutex *m, uint64_t identity,
			     const pawl_atomic64 *state, uint64_t enough, uint64_t ns,
			     bool insist)
{
	enum pawl_pace pace = PAWL_PACE_SLOW;
	struct pawl_spin spin;
	uint64_t before = 0;	   /* what due was at the last look */
	uint64_t holder = 0, last; /* whom we saw with the lock */
	int free = FREE_LOOKS;
	bool stalled = true, hogged = true, again;

	pawl_spin_begin(&spin, ns);
	do {
		uint64_t due = pawl_spin_look(&spin, &m->due); /* Relaxed: a hint */
		uint64_t sections = before != 0 ? passed(before, due) : 0;

		stalled &= sections == 0;
		if (before != 0)
			pace = pawl_spin_pace(&spin, sections);
		if (pace == PAWL_PACE_SLOW && take(m, identity))
			return PAWL_POLLED_TAKEN;
		if (pace == PAWL_PACE_FAST && turn_of(due) != 0)
			return PAWL_POLLED_CROWDED;
		/* Relaxed: only says when to stop; the caller looks again. */
		if (state != NULL && (pawl_load_relaxed(state) & enough) == enough)
			return PAWL_POLLED_IN_VAIN;
		last = holder;
		holder = pawl_load_relaxed(&m->word); /* Relaxed: a hint */
		free = last == 0 || holder == 0 || holder == last ? free - 1 : 0;
		hogged &= holder != 0 && (last == 0 || holder == last);
		if (!insist)
			before = watch(m, due);
		else if (due != 1)
			/* Relaxed: seen by the next unlock, or one soon after. */
			pawl_store_relaxed(&m->due, 1);
		/* The line is here now: until the next unlock polls are free. After it
		 * they are if there is one rival only: then it is its line or ours. */
		again = pace == PAWL_PACE_SLOW && free > 0
				? pawl_spin_change(&spin, &m->due, insist ? 1 : before)
				: pawl_spin_again(&spin);
	} while (again);
	return stalled	? PAWL_POLLED_STALLED
	       : hogged ? PAWL_POLLED_HOGGED
			: PAWL_POLLED_IN_VAIN;
}

enum pawl_polled pawl_mutex_poll(struct pawl_mutex *m, uint64_t identity,
				 const pawl_atomic64 *state, uint64_t enough, uint64_t ns)
{
	return poll(m, identity, state, enough, ns, false);
}

/* True if m's memory has begun a new life while we were waiting for the last one.
 * Requires the bucket's lock. */
static bool is_forgotten(const struct pawl_mutex *m, const struct pawl_sleeper *me)
{
	return me->address != m;
}

/* Volatile: a signal's handler looks, between any two steps. */
static struct pawl_sleeper *volatile *innermost(void)
{
	return &pawl_self()->asleep;
}

void pawl_wait_begin(struct pawl_sleeper *me)
{
	me->outer = *innermost();
	*innermost() = me;
}

bool pawl_wait_end(struct pawl_sleeper *me)
{
	*innermost() = me->outer;
	return !me->abandoned;
}

bool pawl_sleep_queued(struct pawl_sleeper *me, const struct pawl_deadline *deadline)
{
	bool told;

	pawl_wait_begin(me);
	told = pawl_sleep(me, deadline);
	(void)pawl_wait_end(me);
	return told;
}

/*
 * The head sleeps for ns nanoseconds, or until the lock is granted to it or its
 * deadline has come. Nobody else wakes it: it is not counted.
 */
static int nap(struct pawl_mutex *m, struct pawl_sleeper *me, uint64_t ns,
	       const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket = pawl_bucket_of_(m);
	uint64_t until = pawl_os_now() + ns;
	struct pawl_deadline soon = pawl_deadline_in(ns);
	bool last = deadline != NULL && pawl_os_until(deadline) < ns;

	pawl_bucket_lock(bucket);
	/* Relaxed: stored under the lock only. */
	if (is_forgotten(m, me)) {
		last = deadline != NULL;
		soon = FOR_EVER;
		pawl_store_relaxed(&me->state, SLEEPER_ASLEEP); /* Relaxed: likewise */
	} else if (pawl_load_relaxed(&me->state) != SLEEPER_GRANTED) {
		pawl_bucket_uncount(bucket, me);
		pawl_store_relaxed(&me->state, SLEEPER_ASLEEP); /* Relaxed: likewise */
	}
	pawl_bucket_unlock(bucket);
	if (pawl_sleep_queued(me, last ? deadline : &soon))
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
	struct pawl_bucket *bucket = pawl_bucket_of_(m);

	pawl_bucket_lock(bucket);
	/* Relaxed: stored under the lock only. */
	if (pawl_load_relaxed(&me->state) == SLEEPER_GRANTED || is_forgotten(m, me)) {
		pawl_bucket_unlock(bucket);
		return nap(m, me, 0, deadline);
	}
	if (patient)
		begin_patience(m);
	pawl_store_relaxed(&me->state, SLEEPER_ASLEEP); /* Relaxed: likewise */
	pawl_bucket_count(bucket, me);			/* I3 */
	pawl_bucket_unlock(bucket);
	if (!pawl_park_fence()) /* [H] of sleep/park.c: P1 */
		return nap(m, me, UNSURE_NS, deadline);
	if (pawl_mutex_take_(m)) /* P1 */
		return 0;
	return pawl_sleep_queued(me, deadline) ? EAGAIN : ETIMEDOUT;
}

/*
 * Gives up: leaves the queue and returns ETIMEDOUT, unless the lock was granted
 * this moment: then 0.
 */
static int leave_late(struct pawl_bucket *bucket, struct pawl_mutex *m,
		      struct pawl_sleeper *me)
{
	struct pawl_sleeper *next = NULL;
	bool head, asleep = false;

	pawl_bucket_lock(bucket);
	/* Relaxed: granted under the lock that we hold. */
	if (pawl_load_relaxed(&me->state) == SLEEPER_GRANTED) {
		pawl_bucket_unlock(bucket);
		return 0;
	}
	if (is_forgotten(m, me)) {
		pawl_bucket_unlock(bucket);
		return ETIMEDOUT;
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
			asleep = pawl_sleeper_tell(next, SLEEPER_WOKEN); /* [V] */
		} else {
			pawl_store_relaxed(&m->due, 0); /* Relaxed: a hint */
		}
	}
	pawl_bucket_unlock(bucket);
	if (asleep)
		pawl_os_wake(&next->state);
	return ETIMEDOUT;
}

/* The life of a head, until it owns m (0), is late (ETIMEDOUT), or was dropped from
 * the queue by its own thread (ECANCELED). */
static int compete(struct pawl_mutex *m, struct pawl_sleeper *me, bool woken,
		   const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket = pawl_bucket_of_(m);
	uint64_t rest = pawl_wake_cost();
	int naps = woken ? 0 : PAWL_MUTEX_NAPS, error;
	enum pawl_polled polled;
	struct pawl_sleeper *next;

	/* Relaxed: tells others that they need not wake us; we look with [W]. */
	(void)pawl_cas_relaxed(&me->state, SLEEPER_WOKEN, SLEEPER_WAITING);
	do {
		bool insist = naps == PAWL_MUTEX_NAPS;

		if (pawl_load_acquire(&me->state) == SLEEPER_GRANTED) /* [W] */
			return 0;
		pawl_wait_begin(me);
		polled = poll(m, me->identity, &me->state, SLEEPER_GRANTED,
			      insist ? INSIST_NS : pawl_wake_cost() / 2, insist);
		if (!pawl_wait_end(me)) /* it is off the queue */
			return polled == PAWL_POLLED_TAKEN ? 0 : ECANCELED;
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
		if (me->abandoned)
			return ECANCELED;
		if (error == ETIMEDOUT)
			return leave_late(bucket, m, me);
	} while (error != 0);
	pawl_bucket_lock(bucket);
	if (!is_forgotten(m, me)) {
		next = dequeue_owner(bucket, m, me);
		if (next != NULL)
			/* Every unlock from here on comes after us, and sees it (I3). */
			pawl_bucket_count(bucket, next);
	}
	pawl_bucket_unlock(bucket);
	return 0;
}

bool pawl_mutex_has_queue(const struct pawl_mutex *m)
{
	return turn_of(pawl_load_relaxed(&m->due)) != 0; /* Relaxed: a hint */
}

bool pawl_mutex_enqueue(struct pawl_mutex *m, struct pawl_sleeper *sleeper)
{
	struct pawl_bucket *bucket = pawl_bucket_of_(m);
	bool head;

	pawl_bucket_lock(bucket);
	sleeper->address = m;
	pawl_bucket_append(bucket, sleeper);
	head = pawl_bucket_find(bucket->first, m) == sleeper;
	if (head) {
		begin_patience(m);
		pawl_bucket_count(bucket, sleeper); /* I3, by I4 */
	}
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
 * not counted.
 */
static void bring_others(struct pawl_mutex *m)
{
	struct pawl_bucket *bucket = pawl_bucket_of_(m);
	const pawl_atomic64 *asleep[BROUGHT];
	struct pawl_sleeper *sleeper, *next;
	int count = 0, i;

	pawl_bucket_lock(bucket);
	sleeper = pawl_bucket_find(bucket->first, m);
	if (sleeper != NULL)
		sleeper = pawl_bucket_find(sleeper->next, m);
	for (; sleeper != NULL && sleeper->taken && count < BROUGHT; sleeper = next) {
		next = pawl_bucket_find(sleeper->next, m);
		pawl_bucket_remove(bucket, sleeper);
		sleeper->address = NULL;
		if (pawl_sleeper_tell(sleeper, SLEEPER_WOKEN)) /* [V] P3 */
			asleep[count++] = &sleeper->state;
	}
	pawl_bucket_unlock(bucket);
	for (i = 0; i < count; i++)
		pawl_os_wake(asleep[i]);
}

void pawl_mutex_lock_queued(struct pawl_mutex *m, struct pawl_sleeper *sleeper)
{
	bring_others(m);
	if (compete(m, sleeper, true, NULL) == ECANCELED)
		pawl_mutex_lock_slow_(m);
}

/* As compete; ECANCELED means that it must be tried anew. */
static int try_until(struct pawl_mutex *m, const struct pawl_deadline *deadline,
		     void (*abandon)(struct pawl_sleeper *))
{
	struct pawl_bucket *bucket = pawl_bucket_of_(m);
	struct pawl_sleeper me = {.address = m,
				  .mutex = m,
				  .identity = pawl_mutex_me_(),
				  .abandon = abandon};
	struct pawl_sleeper *head;
	enum pawl_polled outcome;
	int tries = PAWL_MUTEX_TRIES;
	bool again;

	do {
		/* The holder may not be running if others had to queue. */
		outcome = poll(m, me.identity, NULL, 0,
			       pawl_wake_cost() / (pawl_mutex_has_queue(m) ? 4 : 1),
			       false);
		if (outcome == PAWL_POLLED_TAKEN)
			return 0;
		pawl_bucket_lock(bucket);
		if (pawl_mutex_take_(m)) {
			pawl_bucket_unlock(bucket);
			return 0;
		}
		head = pawl_bucket_find(bucket->first, m);
		/* A head that was woken, and has no CPU yet, is no reason to sleep; unless
		 * we get nowhere, and may have the CPU that it waits for.
		 * Relaxed: only says whether it got up. */
		again = outcome != PAWL_POLLED_CROWDED && head != NULL && tries > 0 &&
			pawl_load_relaxed(&head->state) == SLEEPER_WOKEN;
		tries -= outcome == PAWL_POLLED_HOGGED ? (PAWL_MUTEX_TRIES + 1) / 2 : 1;
		if (!again)
			pawl_bucket_append(bucket, &me);
		if (head == NULL)
			begin_patience(m);
		pawl_bucket_unlock(bucket);
	} while (again);

	if (head != NULL && !pawl_sleep_queued(&me, deadline) && !me.abandoned)
		return leave_late(bucket, m, &me);
	return me.abandoned ? ECANCELED : compete(m, &me, head != NULL, deadline);
}

int pawl_mutex_await(struct pawl_mutex *m, const struct pawl_deadline *deadline,
		     void (*abandon)(struct pawl_sleeper *))
{
	int error;

	do
		error = try_until(m, deadline, abandon);
	while (error == ECANCELED);
	return error;
}

void pawl_mutex_forget(struct pawl_mutex *m)
{
	struct pawl_bucket *bucket = pawl_bucket_of_(m);
	struct pawl_sleeper *sleeper;

	pawl_bucket_lock(bucket);
	while ((sleeper = pawl_bucket_find(bucket->first, m)) != NULL) {
		pawl_bucket_uncount(bucket, sleeper);
		pawl_bucket_remove(bucket, sleeper);
		sleeper->address = NULL;
	}
	pawl_bucket_unlock(bucket);
}

bool pawl_mutex_leave_queue(struct pawl_sleeper *me)
{
	return leave_late(pawl_bucket_of_(me->mutex), me->mutex, me) == 0;
}

void pawl_mutex_abandon(void)
{
	struct pawl_thread *self = pawl_self();
	struct pawl_sleeper *me;

	for (me = self->asleep; me != NULL; me = me->outer) {
		if (me->abandon != NULL)
			me->abandon(me);
		else if (pawl_mutex_leave_queue(me))
			pawl_mutex_unlock(me->mutex);
		me->abandoned = true;
		/* Relaxed: our own. */
		pawl_store_relaxed(&me->state, SLEEPER_WOKEN);
	}
	self->asleep = NULL;
}

void pawl_mutex_lock_slow_(struct pawl_mutex *m)
{
	pawl_mutex_await(m, NULL, NULL);
}

int pawl_mutex_lock_until_(struct pawl_mutex *m, int clock, const struct timespec *time)
{
	struct pawl_deadline deadline;
	int error = pawl_deadline_at(&deadline, clock, time);

	return error != 0 ? error : pawl_mutex_await(m, &deadline, NULL);
}

/* Unlock, when the head's turn has come: hands it the lock; false if it has gone. Kept
 * apart, or every unlock that only counts would save the registers that this one needs. */
static __attribute__((noinline)) bool grant(struct pawl_mutex *m)
{
	struct pawl_bucket *bucket = pawl_bucket_of_(m);
	struct pawl_sleeper *head, *next;
	bool asleep, next_asleep = false;

	pawl_bucket_lock(bucket);
	head = pawl_bucket_find(bucket->first, m);
	if (head == NULL) {			/* it gave up in the meantime */
		pawl_store_relaxed(&m->due, 0); /* Relaxed: we hold m */
		pawl_bucket_unlock(bucket);
		return false;
	}
	/* The next one is woken here, and not by the new owner, at whose CPU the system
	 * would have it wait: ours will be free if we come back in vain. */
	next = dequeue_owner(bucket, m, head);
	if (next != NULL)
		next_asleep = pawl_sleeper_tell(next, SLEEPER_WOKEN); /* [V] P3 */
	/* Relaxed: the head learns it by [V], all others by [R]. */
	pawl_store_relaxed(&m->word, head->identity);
	asleep = pawl_sleeper_tell(head, SLEEPER_GRANTED); /* [V] P3 */
	pawl_bucket_unlock(bucket);
	if (asleep)
		pawl_os_wake(&head->state);
	if (next_asleep)
		pawl_os_wake(&next->state);
	return true;
}

static inline bool hand_over(struct pawl_mutex *m)
{
	/* Relaxed, here and below: I2 allows for a count that the head overwrites, or that
	 * overwrites the head's. */
	uint64_t due = pawl_load_relaxed(&m->due), turn = turn_of(due);

	if (turn == 1)
		return grant(m);
	if (turn != 0)
		due--;
	if (due >> WATCH_SHIFT != 0)
		due -= (uint64_t)1 << WATCH_SHIFT;
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
	struct pawl_bucket *bucket = pawl_bucket_of_(m);
	struct pawl_sleeper *head;
	bool asleep = false;

	if (!pawl_parked_really(bucket))
		return;
	pawl_bucket_lock(bucket);
	head = pawl_bucket_find(bucket->first, m);
	if (head != NULL && head->counted) {
		pawl_bucket_uncount(bucket, head);
		asleep = pawl_sleeper_tell(head, SLEEPER_WOKEN); /* [V] P3 */
	}
	pawl_bucket_unlock(bucket);
	if (asleep)
		pawl_os_wake(&head->state);
}
