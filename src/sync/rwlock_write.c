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
 * pairs with [U] and [Y]: a reader that finds no writer at the gate, or one that yields, sees
 * the last writer's section.
 * [Q] pairs with [H] of sleep/park.c: of a writer that yields and a reader that joins the line,
 * at least one sees the other. [D] pairs with [E]: a writer that finds no readers left sees their sections; at once, in
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
	bool told = pawl_sleep(me, sure ? deadline : &soon);

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

/* A writer no longer waits for readers. False if it was dropped: *l is a new lock. */
static bool stop_waiting(struct pawl_rwlock *l, struct pawl_sleeper *me)
{
	struct pawl_bucket *bucket;
	bool dropped;

	bucket = pawl_bucket_lock(l);
	dropped = is_dropped(me);
	if (!dropped) {
		pawl_sleeper_uncount(me);
		pawl_bucket_remove(bucket, me);
		me->address = NULL;
	}
	me->key = NULL; /* it may wait for the gate next */
	pawl_bucket_unlock(bucket);
	return !dropped;
}

/* A writer has met a reader, and waits for it. From now on readers may count themselves in;
 * those in line are. */
static void yield_gate(struct pawl_rwlock *l, uint64_t identity)
{
	uint64_t yielding = identity | PAWL_RWLOCK_YIELDS;

	if (pawl_load_relaxed(&l->gate.word) == yielding) /* Relaxed: our own */
		return;
	pawl_store_release(&l->gate.word, yielding); /* [Y] */
	pawl_full_fence();			     /* [Q] */
	/* Relaxed: after the fence. */
	if ((pawl_load_relaxed(&l->word) & PAWL_RWLOCK_WAITING) != 0)
		pawl_rwlock_let_in_(l);
}

/*
 * Waits until a word is no longer `seen`: 0, or ETIMEDOUT, or ECANCELED if *l is a new lock.
 * Requires the gate, and that `me`, which is in no queue, is on record.
 */
static int await_other(struct pawl_rwlock *l, const pawl_atomic64 *w, uint64_t seen,
		       struct pawl_sleeper *me, const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket;
	struct pawl_spin spin;
	bool sure, late = false;

	if (deadline == &AT_ONCE)
		return ETIMEDOUT;
	if (me->yields)
		yield_gate(l, me->identity);
	pawl_spin_begin(&spin, pawl_wake_cost());
	/* Without a pause: a reader that backs out takes less than one, and we have the
	 * line until then. */
	if (pawl_spin_look(&spin, w) != seen || pawl_spin_change(&spin, w, seen))
		return 0;
	bucket = pawl_bucket_lock(l);
	me->key = l;
	me->address = drain_of(l);
	pawl_store_relaxed(&me->state, SLEEPER_WAITING); /* Relaxed: in no queue yet */
	pawl_bucket_enqueue(bucket, me);
	pawl_sleeper_count(me);
	pawl_bucket_unlock(bucket);
	sure = pawl_park_fence(); /* [H] of sleep/park.c: P1 */
	/* Relaxed: P1; the caller looks again, with the order it needs. */
	while (!late && pawl_load_relaxed(w) == seen)
		late = !pawl_rwlock_sleep(me, sure, deadline);
	if (!stop_waiting(l, me))
		return ECANCELED;
	return late ? ETIMEDOUT : 0;
}

static uint64_t look_at(const pawl_atomic64 *slot)
{
	return pawl_load_seq_cst(slot); /* [K] [S] */
}

/* Waits until the slot, seen so, does not announce a read of l; as await_other. */
static int await_slot(struct pawl_rwlock *l, const pawl_atomic64 *slot, uint64_t seen,
		      struct pawl_sleeper *me, const struct pawl_deadline *deadline)
{
	int error = 0;

	/* Ends when that read does. */
	while (error == 0 && (seen & ~(uint64_t)PAWL_RWLOCK_NESTED) == pawl_address(l)) {
		error = await_other(l, slot, seen, me, deadline);
		seen = look_at(slot);
	}
	return error;
}

/* The same of all slots of a record. Most are empty, and in most records all are. */
static int await_record(struct pawl_rwlock *l, const struct pawl_reads *r,
			struct pawl_sleeper *me, const struct pawl_deadline *deadline)
{
	uint64_t seen[SLOTS], any = 0;
	unsigned k;
	int error = 0;

	for (k = 0; k < SLOTS; k++)
		any |= seen[k] = look_at(&r->slots[k]);
	for (k = 0; any != 0 && error == 0 && k < SLOTS; k++)
		error = await_slot(l, &r->slots[k], seen[k], me, deadline);
	return error;
}

/* The same of all records. */
static int await_records(struct pawl_rwlock *l, struct pawl_sleeper *me,
			 const struct pawl_deadline *deadline)
{
	struct pawl_reads_scan scan = {.left = 0};
	const struct pawl_reads *r;
	int error = 0;

	while (error == 0 && (r = pawl_reads_next(&scan)) != NULL)
		error = await_record(l, r, me, deadline);
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
static int withdraw(struct pawl_rwlock *l, uint64_t word, struct pawl_sleeper *me,
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
	error = await_records(l, me, deadline);
	if (error == ETIMEDOUT)
		put_back(l, word & RECORDS);
	if (error != 0)
		return error;
	if (biased)
		bar(l, start);
	return 0;
}

/* Requires the gate. Waits until no reader is left; as await_other. */
static int drain(struct pawl_rwlock *l, struct pawl_sleeper *me,
		 const struct pawl_deadline *deadline)
{
	uint64_t word;
	uint64_t ours = PAWL_RWLOCK_WAITING | PAWL_RWLOCK_KEPT | PAWL_RWLOCK_WRITTEN;
	int error;

	/* Ends when the readers do: none is counted in while we have the gate, unless we
	 * yield. */
	while (((word = pawl_load_acquire(&l->word)) & ~ours) != 0) { /* [E] */
		error = (word & RECORDS) != 0
				? withdraw(l, word, me, deadline)
				: await_other(l, &l->word, word, me, deadline);
		if (error != 0)
			return error;
	}
	return 0;
}

/* After drain: ends what yield_gate began, true if no reader has come in meanwhile. */
static bool close_gate(struct pawl_rwlock *l, struct pawl_sleeper *me)
{
	/* Relaxed, here and below: our own; readers go by [C], as in a try to write. */
	if (pawl_load_relaxed(&l->gate.word) == me->identity)
		return true;
	pawl_store_relaxed(&l->gate.word, me->identity | PAWL_RWLOCK_TRIES);
	pawl_full_fence(); /* [G] */
	if (drain(l, me, &AT_ONCE) == 0) {
		pawl_store_relaxed(&l->gate.word, me->identity);
		return true;
	}
	yield_gate(l, me->identity);
	return false;
}

/* A writer that is on record leaves the gate. */
static void give_up_gate(struct pawl_rwlock *l)
{
	pawl_critical_enter(); /* until the next at the gate is woken */
	pawl_rwlock_leave_gate(l);
	pawl_critical_leave();
}

/* As drain; a writer that is late leaves the gate. */
static int drain_or_leave(struct pawl_rwlock *l, struct pawl_sleeper *me,
			  const struct pawl_deadline *deadline)
{
	int error;

	/* Ends: if the gate does not close there are readers, for which drain waits. */
	do
		error = drain(l, me, deadline);
	while (error == 0 && me->yields && !close_gate(l, me));
	if (error == ETIMEDOUT)
		give_up_gate(l);
	return error;
}

/* Wakes all threads that wait at that address, under that key. */
static void wake_all(const volatile void *key, const volatile void *address)
{
	struct pawl_bucket *bucket;
	struct pawl_sleeper *sleeper;

	if (!pawl_parked_really(key))
		return;
	bucket = pawl_bucket_lock(key);
	/* A woken thread stays in the queue until it has this lock. */
	for (sleeper = pawl_bucket_find(bucket, address); sleeper != NULL;
	     sleeper = sleeper->next)
		if (pawl_sleeper_notify(sleeper, SLEEPER_WOKEN)) /* [V] P3 */
			pawl_os_wake(&sleeper->state);
	pawl_bucket_unlock(bucket);
}

/* A writer gave up its wait for the gate. Queued readers that would not pass it may join the
 * reader that has the gate, and nothing else tells them so. */
static void wake_line(const struct pawl_rwlock *l)
{
	wake_all(&l->gate, line_of(l));
}

/* A jump out of the wait: of the queue for the gate, or, with the gate, of the wait for
 * readers. A gate that was just taken is left as well. */
static void abandon(struct pawl_sleeper *me)
{
	struct pawl_rwlock *l = lock_of(me->mutex, offsetof(struct pawl_rwlock, gate));
	uint64_t gate;

	if (me->address == drain_of(l))
		(void)stop_waiting(l, me);
	else
		(void)pawl_mutex_leave_queue(me);
	gate = pawl_load_relaxed(&l->gate.word); /* Relaxed: only we store these values */
	if ((gate & ~(uint64_t)PAWL_RWLOCK_TRIES) != me->identity &&
	    gate != (me->identity | PAWL_RWLOCK_YIELDS)) {
		wake_line(l);
		return;
	}
	/* Readers may be inside by a form that we withdrew. If there was none, it does no
	 * harm: the next writer withdraws it. */
	put_back(l, PAWL_RWLOCK_FENCED);
	pawl_rwlock_leave_gate(l);
}

/* A writer is on record from here on. Sets what a waiter of the gate or of readers needs,
 * and no more: most do not wait. `yields`: readers may pass it. */
static void begin_write(struct pawl_rwlock *l, struct pawl_sleeper *me, bool yields)
{
	pawl_store_relaxed(&me->state, SLEEPER_WAITING); /* Relaxed: our own yet */
	me->address = me->key = NULL;
	me->counted = false;
	me->taken = false;
	me->yields = yields;
	me->priority = 0;
	me->since = 0;
	me->told = 0;
	me->identity = pawl_mutex_me_();
	me->mutex = &l->gate;
	me->abandon = abandon;
	pawl_wait_begin(me);
}

/* Waits until it writes: 0, or ETIMEDOUT. */
static int write_by(struct pawl_rwlock *l, bool yields,
		    const struct pawl_deadline *deadline)
{
	struct pawl_sleeper me;
	int error;

	do {
		begin_write(l, &me, yields);
		error = pawl_mutex_await(&l->gate, &me, deadline);
		if (error == 0) {
			pawl_full_fence(); /* [G] */
			error = drain_or_leave(l, &me, deadline);
		} else {
			wake_line(l);
		}
		pawl_wait_end(&me);
	} while (error == ECANCELED);
	return error;
}

int pawl_rwlock_yield_write(struct pawl_rwlock *l, bool has_gate,
			    const struct pawl_deadline *deadline)
{
	struct pawl_sleeper me;
	int error = ECANCELED;

	if (has_gate) {
		begin_write(l, &me, true);
		error = drain_or_leave(l, &me, deadline);
		pawl_wait_end(&me);
	}
	return error == ECANCELED ? write_by(l, true, deadline) : error;
}

void pawl_rwlock_drain_(struct pawl_rwlock *l)
{
	struct pawl_sleeper me;
	int error;

	begin_write(l, &me, false);
	error = drain(l, &me, NULL);
	pawl_wait_end(&me);
	if (error == ECANCELED)
		pawl_rwlock_write_slow_(l);
}

void pawl_rwlock_write_slow_(struct pawl_rwlock *l)
{
	write_by(l, false, NULL);
}

bool pawl_rwlock_write_try_(struct pawl_rwlock *l)
{
	struct pawl_sleeper me;
	int error = EBUSY;

	begin_write(l, &me, false);
	/* Relaxed: a look that spares the fence if there are readers for all to see. */
	if (pawl_load_relaxed(&l->word) < PAWL_RWLOCK_READER)
		error = await_records(l, &me, &AT_ONCE);
	if (error == 0)
		error = drain(l, &me, &AT_ONCE);
	if (error != 0)
		give_up_gate(l);
	pawl_wait_end(&me);
	return error == 0;
}

/* Writes if it finds the gate free, and the readers leave in time: 0, ETIMEDOUT, or
 * ECANCELED if it has to queue. */
static int write_if_free(struct pawl_rwlock *l, const struct pawl_deadline *deadline)
{
	struct pawl_sleeper me;
	int error = ECANCELED;

	begin_write(l, &me, false);
	if (pawl_rwlock_take_gate_(l)) {
		pawl_full_fence(); /* [G] */
		error = drain_or_leave(l, &me, deadline);
	}
	pawl_wait_end(&me);
	return error;
}

int pawl_rwlock_write_until_(struct pawl_rwlock *l, int clock,
			     const struct timespec *time)
{
	struct pawl_deadline deadline;
	int wrong = pawl_deadline_at(&deadline, clock, time);
	/* A bad time matters to those who have to wait. */
	int error = write_if_free(l, wrong == 0 ? &deadline : &AT_ONCE);

	if (error != 0 && wrong != 0)
		return wrong;
	return error == ECANCELED ? write_by(l, false, &deadline) : error;
}

void pawl_rwlock_let_in_(struct pawl_rwlock *l)
{
	struct pawl_bucket *bucket = pawl_bucket_lock(&l->gate);
	struct pawl_sleeper *sleeper, *next;
	uint64_t count = 0;

	for (sleeper = pawl_bucket_find(bucket, line_of(l)); sleeper != NULL;
	     sleeper = sleeper->next)
		count++;
	/* Relaxed: the bit is the bucket's lock's; each learns it by [V], writers by
	 * [U]. In the child of a fork it may be set for nobody. */
	if ((pawl_load_relaxed(&l->word) & PAWL_RWLOCK_WAITING) != 0)
		pawl_fetch_add_relaxed(&l->word,
				       count * PAWL_RWLOCK_READER - PAWL_RWLOCK_WAITING);
	for (sleeper = pawl_bucket_find(bucket, line_of(l)); sleeper != NULL;
	     sleeper = next) {
		next = sleeper->next;
		pawl_sleeper_uncount(sleeper);
		pawl_bucket_remove(bucket, sleeper);
		if (pawl_sleeper_notify(sleeper, SLEEPER_GRANTED)) /* [V] P3 */
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
	wake_all(l, drain_of(l));
}

void pawl_rwlock_wake_gate_(const struct pawl_rwlock *l)
{
	pawl_mutex_wake_(&l->gate);
	wake_all(&l->gate, line_of(l));
}

void pawl_rwlock_drop_waiters(struct pawl_rwlock *l)
{
	pawl_mutex_forget(&l->gate);
	pawl_park_drop(&l->gate, line_of(l));
	pawl_park_drop(l, drain_of(l));
}
