/* SPDX-License-Identifier: MIT */
/*
 * The slow half of pawl_rwlock: its writers, and whoever else has the gate; sync/rwlock.c
 * has its readers. See pawl/rwlock.h for the state and I1 to I8.
 *
 * Order: [F] pairs with [K], and so does the end of a read, [R] pairs with [K]: a writer
 * that finds a slot changed sees the section of the read that it stood for. [H] pairs
 * with [B] of pawl/rwlock.h: a reader announces itself and looks at the word, a writer
 * withdraws the bias and looks at the records; at least one sees the other. [S] pairs
 * with [S] of pawl/rwlock.h: the same of a fenced reader, which passes its own fence.
 * [O] pairs with [A] of pawl/rwlock.h: who sees a form sees what its giver had seen, the
 * last writer's section; a fenced reader does so by [S]. [C] pairs with [G]: of a reader
 * that counts itself and a writer that takes the gate, at least one sees the other. [C]
 * pairs with [U]: a reader that finds no writer at the gate sees the last one's section.
 * [D] pairs with [E]: a writer that finds no readers left sees their sections; at once, in
 * the header, [D] pairs with [G] of pawl/rwlock.h. [W] pairs with [V] of sleep/park.c:
 * who is told sees why, and the section of the writer that let it in.
 */
#include "sync/rwlocks.h"
#include "sleep/fences.h"

enum {
	BARRED_TIMES = 9, /* as long as the withdrawal took: a tenth is lost at most */
	BARRED_MOST = 7,  /* doublings of that, for a bias that was not worth it */
	WORTH_TIMES = 16, /* as long as the withdrawal took must a bias last */
	SETTLED_NS = 10000000, /* after that a store on its way has arrived */
	UNSURE_NS = 1000000    /* of sleep that an unlock might not end */
};

/* One that has come: for those who do not wait. */
static const struct pawl_deadline AT_ONCE;

bool pawl_rwlock_doze(uint64_t ns, const struct pawl_deadline *deadline)
{
	struct pawl_deadline soon = pawl_deadline_in(ns);
	bool last = deadline != NULL && pawl_os_until(deadline) < ns;
	struct pawl_sleeper me = {.address = NULL};

	pawl_sleep(&me, last ? deadline : &soon);
	return last;
}

bool pawl_rwlock_sleep(struct pawl_sleeper *me, bool sure,
		       const struct pawl_deadline *deadline)
{
	struct pawl_deadline soon = pawl_deadline_in(UNSURE_NS);
	bool told = pawl_sleep_queued(me, sure ? deadline : &soon);

	/* Acquiring: others may have told us since, for another reason, and will not wake
	 * us for it; the caller looks again, and must see it. */
	(void)pawl_cas_acquire(&me->state, SLEEPER_WOKEN, SLEEPER_WAITING); /* [W] */
	return told || deadline == NULL || (!sure && pawl_os_until(deadline) != 0);
}

/* Puts back what was withdrawn (I4). Requires the gate. */
static void put_back(struct pawl_rwlock *l, uint64_t what)
{
	uint64_t word;

	/* A reader may have given it back meanwhile. Ends: it fails if others come or
	 * go, which they cannot do for ever while we have the gate. */
	do
		word = pawl_load_relaxed(&l->word); /* Relaxed: [O] looks again */
	while (!pawl_cas_release(&l->word, word,
				 (word & ~(uint64_t)PAWL_RWLOCK_KEPT) | what)); /* [O] */
}

/* A writer that waits for readers leaves. */
static void stop_waiting(struct pawl_rwlock *l, struct pawl_sleeper *me)
{
	struct pawl_bucket *bucket = pawl_bucket_of_(l);

	pawl_bucket_lock(bucket);
	if (!is_dropped(me)) {
		pawl_bucket_uncount(bucket, me);
		pawl_bucket_remove(bucket, me);
	}
	pawl_bucket_unlock(bucket);
}

static void abandon_drain(struct pawl_sleeper *me)
{
	struct pawl_rwlock *l = lock_of(me->address, offsetof(struct pawl_rwlock, word));

	if (is_dropped(me))
		return;
	stop_waiting(l, me);
	/* Readers may be inside by a form that we took. If there was none, it does no
	 * harm: the next writer takes it. */
	put_back(l, PAWL_RWLOCK_FENCED);
	pawl_rwlock_leave_gate(l);
}

/*
 * Waits until a word is no longer `seen`: 0, or ETIMEDOUT, or ECANCELED if the wait was
 * abandoned and with it the gate, or *l is a new lock. Requires the gate, and signals barred, but when it sleeps:
 * who jumps otherwise would keep the gate.
 */
static int await_other(struct pawl_rwlock *l, const pawl_atomic64 *w, uint64_t seen,
		       const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket = pawl_bucket_of_(l);
	struct pawl_sleeper me = {.address = drain_of(l), .abandon = abandon_drain};
	struct pawl_spin spin;
	bool sure, late = false;

	if (deadline == &AT_ONCE)
		return ETIMEDOUT;
	pawl_spin_begin(&spin, pawl_wake_cost());
	/* Without a pause: a reader that backs out takes less than one, and we have the
	 * line until then. */
	if (pawl_spin_look(&spin, w) != seen || pawl_spin_change(&spin, w, seen))
		return 0;
	pawl_bucket_lock(bucket);
	pawl_bucket_append(bucket, &me);
	pawl_bucket_count(bucket, &me);
	pawl_bucket_unlock(bucket);
	sure = pawl_park_fence(); /* [H] of sleep/park.c: P1 */
	/* Relaxed: P1; the caller looks again, with the order it needs. */
	while (!late && !me.abandoned && pawl_load_relaxed(w) == seen)
		late = !pawl_rwlock_sleep(&me, sure, deadline);
	if (me.abandoned)
		return ECANCELED;
	stop_waiting(l, &me);
	if (is_dropped(&me))
		return ECANCELED;
	return late ? ETIMEDOUT : 0;
}

static uint64_t look_at(const pawl_atomic64 *slot)
{
	return pawl_load_seq_cst(slot); /* [K] [S] */
}

/* Waits until the slot, seen so, does not announce a read of l; as await_other. */
static int await_slot(struct pawl_rwlock *l, const pawl_atomic64 *slot, uint64_t seen,
		      const struct pawl_deadline *deadline)
{
	int error = 0;

	/* Ends when that read does. */
	while (error == 0 && (seen & ~(uint64_t)PAWL_RWLOCK_NESTED) == pawl_address(l)) {
		error = await_other(l, slot, seen, deadline);
		seen = look_at(slot);
	}
	return error;
}

/* The same of all slots of a record. Most are empty, and in most records all are. */
static int await_record(struct pawl_rwlock *l, const struct pawl_reads *r,
			const struct pawl_deadline *deadline)
{
	uint64_t seen[SLOTS], any = 0;
	unsigned k;
	int error = 0;

	for (k = 0; k < SLOTS; k++)
		any |= seen[k] = look_at(&r->slots[k]);
	for (k = 0; any != 0 && error == 0 && k < SLOTS; k++)
		error = await_slot(l, &r->slots[k], seen[k], deadline);
	return error;
}

/* The same of all records. */
static int await_records(struct pawl_rwlock *l, const struct pawl_deadline *deadline)
{
	const struct pawl_reads *r;
	unsigned i;
	int error = 0;

	for (i = 0; error == 0 && (r = pawl_reads_at(i)) != NULL; i++)
		error = await_record(l, r, deadline);
	return error;
}

/* Bars the bias, after a withdrawal. */
static void bar(struct pawl_rwlock *l, uint64_t start)
{
	/* Relaxed, here and below: a hint. */
	uint64_t barred = pawl_load_relaxed(&l->barred);
	uint64_t doublings = barred % TIME / DOUBLING;
	uint64_t now = pawl_os_now(), took = now - start, until;

	if (start - barred > WORTH_TIMES * took)
		doublings = 0;
	else if (doublings < BARRED_MOST)
		doublings++;
	until = now + (BARRED_TIMES * took << doublings);
	pawl_store_relaxed(&l->barred, until - until % TIME + doublings * DOUBLING +
					       barred % DOUBLING);
}

/* Spends some credit: whether readers came often enough that they get the form back.
 * By who is about to withdraw it: later the line would have to come back from them. */
static bool is_worth_keeping(struct pawl_rwlock *l)
{
	/* Relaxed, here and below: a hint. */
	uint64_t barred = pawl_load_relaxed(&l->barred);

	if (quiet_of(barred) == 0)
		return false;
	pawl_store_relaxed(&l->barred, barred - QUIET);
	return true;
}

/* Takes from l what lets readers in by their records (I3), or leaves it if the
 * deadline comes first (I4). As await_other. */
static int withdraw(struct pawl_rwlock *l, uint64_t word,
		    const struct pawl_deadline *deadline)
{
	uint64_t what = word & RECORDS;
	bool biased = (what & PAWL_RWLOCK_BIASED) != 0;
	uint64_t start = biased ? pawl_os_now() : 0;
	int error;

	/* Nobody else takes it, or keeps it: we have the gate. */
	if ((word & PAWL_RWLOCK_KEPT) == 0 && is_worth_keeping(l))
		what -= PAWL_RWLOCK_KEPT;
	pawl_fetch_add_seq_cst(&l->word, -what); /* [S] */
	if (biased && !pawl_heavy_fence())	 /* [H] */
		pawl_rwlock_doze(SETTLED_NS, NULL);
	error = await_records(l, deadline);
	if (error == ETIMEDOUT)
		put_back(l, word & RECORDS);
	if (error != 0)
		return error;
	if (biased)
		bar(l, start);
	return 0;
}

/* Requires the gate. Waits until no reader is left; as await_other. */
static int drain(struct pawl_rwlock *l, const struct pawl_deadline *deadline)
{
	uint64_t word;
	uint64_t ours = PAWL_RWLOCK_WAITING | PAWL_RWLOCK_KEPT | PAWL_RWLOCK_WRITTEN;
	int error;

	/* Ends when the readers do: nobody is counted in as long as we have the gate. */
	while (((word = pawl_load_acquire(&l->word)) & ~ours) != 0) { /* [E] */
		error = (word & RECORDS) != 0 ? withdraw(l, word, deadline)
					      : await_other(l, &l->word, word, deadline);
		if (error != 0)
			return error;
	}
	return 0;
}

/* The same; who is late does not keep the gate. */
static int drain_or_leave(struct pawl_rwlock *l, const struct pawl_deadline *deadline)
{
	int error = drain(l, deadline);

	if (error == ETIMEDOUT)
		pawl_rwlock_leave_gate(l);
	return error;
}

/* Wakes all that wait at that address in a bucket. */
static void wake_all(struct pawl_bucket *bucket, const volatile void *whom)
{
	struct pawl_sleeper *sleeper;

	if (!pawl_parked_really(bucket))
		return;
	pawl_bucket_lock(bucket);
	/* Who is woken stays in the list until it has this lock. */
	for (sleeper = pawl_bucket_find(bucket->first, whom); sleeper != NULL;
	     sleeper = pawl_bucket_find(sleeper->next, whom))
		if (pawl_sleeper_tell(sleeper, SLEEPER_WOKEN)) /* [V] P3 */
			pawl_os_wake(&sleeper->state);
	pawl_bucket_unlock(bucket);
}

/* A writer gave up its wait for the gate. Queued readers that would not pass it may join the
 * reader that has the gate, and nothing else tells them so. */
static void wake_line(const struct pawl_rwlock *l)
{
	wake_all(pawl_bucket_of_(&l->gate), line_of(l));
}

/* The wait for the gate is abandoned, perhaps when it has just come to its end. */
static void abandon_gate(struct pawl_sleeper *me)
{
	struct pawl_rwlock *l = lock_of(me->mutex, offsetof(struct pawl_rwlock, gate));

	(void)pawl_mutex_leave_queue(me);
	/* Relaxed: nobody else stores this value. */
	if (pawl_load_relaxed(&l->gate.word) == me->identity)
		pawl_rwlock_leave_gate(l);
	else
		wake_line(l);
}

/* Waits until it writes: 0, or ETIMEDOUT. */
static int write_by(struct pawl_rwlock *l, const struct pawl_deadline *deadline)
{
	int error;

	do {
		error = pawl_mutex_await(&l->gate, deadline, abandon_gate);
		if (error != 0) {
			wake_line(l);
			return error;
		}
		pawl_full_fence(); /* [G] */
		error = drain_or_leave(l, deadline);
		pawl_jumps_allow();
	} while (error == ECANCELED);
	return error;
}

void pawl_rwlock_drain_(struct pawl_rwlock *l)
{
	int error;

	pawl_jumps_bar();
	error = drain(l, NULL);
	pawl_jumps_allow();
	if (error == ECANCELED)
		pawl_rwlock_write_slow_(l);
}

void pawl_rwlock_write_slow_(struct pawl_rwlock *l)
{
	write_by(l, NULL);
}

bool pawl_rwlock_write_try_(struct pawl_rwlock *l)
{
	/* Relaxed: a look that spares the fence if there are readers for all to see. */
	if (pawl_load_relaxed(&l->word) < PAWL_RWLOCK_READER &&
	    await_records(l, &AT_ONCE) == 0)
		return drain_or_leave(l, &AT_ONCE) == 0;
	pawl_rwlock_leave_gate(l);
	return false;
}

int pawl_rwlock_write_until_(struct pawl_rwlock *l, int clock,
			     const struct timespec *time)
{
	struct pawl_deadline deadline;
	int wrong = pawl_deadline_at(&deadline, clock, time), error = ECANCELED;

	pawl_jumps_bar();
	if (pawl_rwlock_take_gate_(l)) {
		pawl_full_fence(); /* [G] */
		/* A bad time matters to those who have to wait. */
		error = drain_or_leave(l, wrong == 0 ? &deadline : &AT_ONCE);
	}
	pawl_jumps_allow();
	if (error != 0 && wrong != 0)
		return wrong;
	return error == ECANCELED ? write_by(l, &deadline) : error;
}

void pawl_rwlock_let_in_(struct pawl_rwlock *l)
{
	struct pawl_bucket *bucket = pawl_bucket_of_(&l->gate);
	struct pawl_sleeper *sleeper, *next;
	uint64_t count = 0;

	pawl_bucket_lock(bucket);
	for (sleeper = bucket->first; sleeper != NULL; sleeper = sleeper->next)
		count += sleeper->address == line_of(l);
	/* Relaxed: the bit is the bucket's lock's; each learns it by [V], writers by
	 * [U]. In the child of a fork it may be set for nobody. */
	if ((pawl_load_relaxed(&l->word) & PAWL_RWLOCK_WAITING) != 0)
		pawl_fetch_add_relaxed(&l->word,
				       count * PAWL_RWLOCK_READER - PAWL_RWLOCK_WAITING);
	for (sleeper = pawl_bucket_find(bucket->first, line_of(l)); sleeper != NULL;
	     sleeper = next) {
		next = pawl_bucket_find(sleeper->next, line_of(l));
		pawl_bucket_uncount(bucket, sleeper);
		pawl_bucket_remove(bucket, sleeper);
		if (pawl_sleeper_tell(sleeper, SLEEPER_GRANTED)) /* [V] P3 */
			pawl_os_wake(&sleeper->state);
	}
	pawl_bucket_unlock(bucket);
}

void pawl_rwlock_leave_gate(struct pawl_rwlock *l)
{
	uint64_t word = pawl_load_relaxed(&l->word); /* Relaxed: I6, and our own */

	if ((word & PAWL_RWLOCK_KEPT) != 0)
		put_back(l, PAWL_RWLOCK_FENCED);
	if ((word & PAWL_RWLOCK_WAITING) != 0)
		pawl_rwlock_let_in_(l);
	pawl_rwlock_open_(l);
}

void pawl_rwlock_write_end_(struct pawl_rwlock *l)
{
	uint64_t word = pawl_load_relaxed(&l->word); /* Relaxed: I6, and our own */

	if ((word & PAWL_RWLOCK_KEPT) != 0)
		put_back(l, PAWL_RWLOCK_FENCED | PAWL_RWLOCK_WRITTEN);
	else if ((word & PAWL_RWLOCK_WRITTEN) == 0)
		/* Relaxed: a hint. Nobody else sets it. */
		pawl_fetch_add_relaxed(&l->word, PAWL_RWLOCK_WRITTEN);
	if ((word & PAWL_RWLOCK_WAITING) != 0)
		pawl_rwlock_let_in_(l);
}

void pawl_rwlock_wake_writer_(const struct pawl_rwlock *l)
{
	wake_all(pawl_bucket_of_(l), drain_of(l));
}

void pawl_rwlock_wake_gate_(const struct pawl_rwlock *l)
{
	pawl_mutex_wake_(&l->gate);
	wake_all(pawl_bucket_of_(&l->gate), line_of(l));
}

static void drop(struct pawl_bucket *bucket, const volatile void *address)
{
	struct pawl_sleeper *sleeper;

	pawl_bucket_lock(bucket);
	while ((sleeper = pawl_bucket_find(bucket->first, address)) != NULL) {
		pawl_bucket_uncount(bucket, sleeper);
		pawl_bucket_remove(bucket, sleeper);
		sleeper->address = NULL;
	}
	pawl_bucket_unlock(bucket);
}

void pawl_rwlock_drop_waiters(struct pawl_rwlock *l)
{
	pawl_mutex_forget(&l->gate);
	drop(pawl_bucket_of_(&l->gate), line_of(l));
	drop(pawl_bucket_of_(l), drain_of(l));
}
