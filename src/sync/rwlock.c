/* SPDX-License-Identifier: MIT */
/*
 * The slow half of pawl_rwlock: its readers; sync/rwlock_write.c has its writers, and says
 * what pairs with what. See pawl/rwlock.h for the state and I1 to I8.
 *
 * A reader that cannot read at once polls, dozes a few times, and then queues: among
 * the sleepers of the gate's bucket, under an address that nobody else uses. Whoever
 * leaves as a writer lets the queue in, by counting it; whoever sets the gate free
 * otherwise wakes it.
 *
 * Order: as in sync/rwlock_write.c. [F] pairs with [K], [R] pairs with [K], [O] pairs with
 * [A], [C] pairs with [G] and [U], [D] pairs with [E], [W] pairs with [V], [H] pairs with
 * [B].
 */
#include "sync/rwlocks.h"
#include "sleep/fences.h"

#include <pawl/runtime.h>

enum { KEPT_NS = 1000 }; /* that a short section takes, and looking at records */

/* What this thread reads. */

static pawl_atomic64 *free_slot(struct pawl_reads *mine, const struct pawl_rwlock *l)
{
	unsigned home = pawl_rwlock_home_(l), i;

	for (i = 0; i < SLOTS; i++) {
		pawl_atomic64 *slot = &mine->slots[(home + i) % SLOTS];

		if (pawl_load_relaxed(slot) == 0) /* Relaxed: our own */
			return slot;
	}
	return NULL;
}

/* The slot that says that this thread reads l, and its record in *of; or NULL. */
static pawl_atomic64 *slot_of(struct pawl_reads *mine, const struct pawl_rwlock *l,
			      struct pawl_reads **of)
{
	unsigned home = pawl_rwlock_home_(l), i;
	struct pawl_reads *r;

	for (r = mine; r != NULL; r = r == mine ? pawl_self()->more_reads : r->next)
		for (i = 0; i < SLOTS; i++) {
			pawl_atomic64 *slot = &r->slots[(home + i) % SLOTS];

			/* Relaxed: our own. */
			if ((pawl_load_relaxed(slot) & ~(uint64_t)PAWL_RWLOCK_MARKS) ==
			    pawl_address(l)) {
				*of = r;
				return slot;
			}
		}
	return NULL;
}

/* A free slot of the further records, which are for reads that are counted. */
static pawl_atomic64 *further_slot(const struct pawl_rwlock *l)
{
	struct pawl_reads *r = pawl_self()->more_reads;
	pawl_atomic64 *slot = NULL;

	for (; slot == NULL && r != NULL; r = r->next)
		slot = free_slot(r, l);
	return slot != NULL ? slot : free_slot(pawl_reads_further(), l);
}

/* Remembers that this thread is counted as a reader of l: in this slot of its record, or, if
 * that is full (NULL), in a further one. */
static void note(const struct pawl_rwlock *l, pawl_atomic64 *slot)
{
	if (slot == NULL)
		slot = further_slot(l);
	/* [F]: a writer may wait for what was here before. */
	pawl_store_release(slot, pawl_address(l) | PAWL_RWLOCK_COUNTED); /* [F] */
}

/* Who has the gate is counted as a reader, too, before it lets go of that. */
static void count_holder(struct pawl_rwlock *l)
{
	/* Relaxed: writers learn it by [U]. */
	pawl_fetch_add_relaxed(&l->word, PAWL_RWLOCK_READER);
	note(l, free_slot(pawl_reads_mine(), l));
}

/* Reads l once more, if this thread does already (I8). */
static bool nest(struct pawl_reads *mine, struct pawl_rwlock *l)
{
	struct pawl_reads *r = mine;
	pawl_atomic64 *slot = slot_of(mine, l, &r);
	uint64_t mark = 0;

	/* Relaxed: our own; code of before puts it into the record, too. */
	if (pawl_rwlock_has_gate_(l) &&
	    (slot == NULL || (pawl_load_relaxed(slot) & PAWL_RWLOCK_GATED) != 0)) {
		if (slot == NULL)
			slot = free_slot(mine, l);
		if (slot != NULL) {
			/* Relaxed: we have the gate, and keep it. */
			pawl_store_relaxed(&l->gate.word,
					   pawl_rwlock_reader_() | PAWL_RWLOCK_AGAIN);
			mark = pawl_address(l) | PAWL_RWLOCK_GATED;
		} else { /* counted instead */
			count_holder(l);
			pawl_rwlock_leave_gate(l);
			slot = slot_of(mine, l, &r);
		}
	}
	if (slot == NULL)
		return false;
	/* Handlers that come between two steps leave all as it was. */
	r->depth[slot - r->slots]++;
	/* To writers of l it is the same; but one may wait for what was in this
	 * slot before. Relaxed: our own. */
	mark |= pawl_load_relaxed(slot) | PAWL_RWLOCK_NESTED;
	pawl_store_release(slot, mark); /* [F] */
	return true;
}

static void unnest(struct pawl_rwlock *l, struct pawl_reads *mine, pawl_atomic64 *slot)
{
	uint64_t seen = pawl_load_relaxed(slot); /* Relaxed: our own */

	if (--mine->depth[slot - mine->slots] != 0)
		return;
	/* Ordered as in nest. */
	if ((seen & PAWL_RWLOCK_GATED) == 0) {
		pawl_store_release(slot, seen & ~(uint64_t)PAWL_RWLOCK_NESTED); /* [F] */
		return;
	}
	pawl_store_release(slot, 0); /* [R] */
	/* Relaxed: we have the gate, and keep it. */
	pawl_store_relaxed(&l->gate.word, pawl_rwlock_reader_());
}

/* Readers. */

/* Takes back an announcement, or a note. */
static void empty(const struct pawl_rwlock *l, pawl_atomic64 *slot)
{
	pawl_store_release(slot, 0); /* [R] */
	if (pawl_parked_near_(l))
		pawl_rwlock_wake_writer_(l);
}

static void count_out(struct pawl_rwlock *l)
{
	/* Our last access to l. */
	uint64_t before = pawl_fetch_add_release(&l->word,
						 -(uint64_t)PAWL_RWLOCK_READER); /* [D] */

	if (before < 2 * PAWL_RWLOCK_READER && pawl_parked_near_(l))
		pawl_rwlock_wake_writer_(l);
}

static bool is_writers(uint64_t gate)
{
	return gate != 0 && (gate & PAWL_RWLOCK_READS) == 0;
}

static bool is_trying(uint64_t gate)
{
	return (gate & PAWL_RWLOCK_YIELDS) == PAWL_RWLOCK_TRIES;
}

static bool is_yielding(uint64_t gate)
{
	return (gate & PAWL_RWLOCK_YIELDS) == PAWL_RWLOCK_YIELDS;
}

/* Beside whom at the gate a reader may count itself in: nobody; a reader, unless a writer
 * waits; or also a writer that waits. */
enum beside { NOBODY, READERS, WAITING_WRITERS };

/* Whether this thread, which is counted, is inside: no writer has the gate. A writer that
 * tries has either looked at the count before, and stores its bare name, or it sees the count,
 * and lets go; so does each later try. */
static bool is_counted_in(struct pawl_rwlock *l)
{
	uint64_t gate = pawl_load_seq_cst(&l->gate.word), bare; /* [C] */

	if (!is_trying(gate))
		return !is_writers(gate);
	bare = gate & ~(uint64_t)PAWL_RWLOCK_TRIES;
	if (bare == pawl_mutex_me_()) /* the try that this signal handler interrupted */
		return false;
	pawl_spin_past(&l->gate.word, gate);		 /* ends: a try never waits */
	return pawl_load_acquire(&l->gate.word) != bare; /* [C] */
}

static bool may_join(const struct pawl_rwlock *l, uint64_t gate, enum beside beside)
{
	if (is_writers(gate) && !is_trying(gate))
		return false;
	return gate == 0 || beside == WAITING_WRITERS ||
	       (beside == READERS && !is_yielding(gate) &&
		!pawl_mutex_has_queue(&l->gate));
}

/* Counts itself in, if no writer is inside, and it may. */
static bool count_in(struct pawl_rwlock *l, enum beside beside)
{
	pawl_atomic64 *counting = &pawl_reads_mine()->counting;
	bool inside;

	/* Relaxed: spares what would be in vain; [C] decides. */
	if (!may_join(l, pawl_load_relaxed(&l->gate.word), beside))
		return false;
	/* Relaxed, here and below: for a fork, which has all or nothing of us, in the
	 * order of the count. */
	pawl_store_relaxed(counting, pawl_address(l));
	pawl_fetch_add_seq_cst(&l->word, PAWL_RWLOCK_READER); /* [C] */
	inside = is_counted_in(l);
	if (!inside)
		count_out(l);
	pawl_store_relaxed(counting, 0);
	return inside;
}

/* Counts itself in, and notes so; as count_in. */
static bool join_counted(struct pawl_rwlock *l, pawl_atomic64 *slot, enum beside beside)
{
	bool inside;

	pawl_critical_enter(); /* a jump would leave this thread counted without a note */
	inside = count_in(l, beside);
	if (inside)
		note(l, slot);
	pawl_critical_leave();
	return inside;
}

/* Gives l a form, and takes the note that it was written. Requires that this thread is
 * inside (I5). */
static bool give(struct pawl_rwlock *l, uint64_t word, uint64_t form)
{
	uint64_t wanted = (word & ~(uint64_t)PAWL_RWLOCK_WRITTEN) | form;

	return word == wanted || pawl_cas_release(&l->word, word, wanted); /* [O] */
}

/* A look at a lock without a form: if it has not been written for some looks in a row, a
 * record will do from now on, with a fence. */
static void look_at_gated(struct pawl_rwlock *l, uint64_t word, uint64_t before)
{
	uint64_t barred = before, form = 0;

	if ((word & PAWL_RWLOCK_WRITTEN) != 0) {
		barred -= quiet_of(barred) * QUIET;
		if (barred == 0)
			barred = TIME; /* no longer as new */
	} else {
		if (barred == 0 || quiet_of(barred) + 1 >= PAWL_RWLOCK_QUIET)
			form = PAWL_RWLOCK_FENCED;
		if (quiet_of(barred) < QUIET_MOST)
			barred += QUIET;
	}
	(void)give(l, word, form);
	if (barred != before) /* else others' caches would lose the word */
		pawl_store_relaxed(&l->barred, barred); /* Relaxed: a hint */
}

/* Whether `barred`, which each withdrawal of the form changes, is what it was at this
 * thread's last look. */
static bool has_been_quiet(const struct pawl_rwlock *l, uint64_t barred)
{
	struct pawl_reads *mine = pawl_reads_mine();
	/* Relaxed, here and below: our own, or a hint if there is no room. */
	bool same = pawl_load_relaxed(&mine->looked_at) == pawl_address(l) &&
		    pawl_load_relaxed(&mine->looked) == barred;

	/* Once: what is earned may be spent by the next look, and all as it was. */
	pawl_store_relaxed(&mine->looked_at, same ? 0 : pawl_address(l));
	pawl_store_relaxed(&mine->looked, barred);
	return same;
}

/* A look at a fenced one: it stays so for some more writes if readers came often enough
 * between the last ones. Seldom writes to its line, which all readers have. */
static void look_at_fenced(struct pawl_rwlock *l, uint64_t barred)
{
	if (quiet_of(barred) <= QUIET_LOW && has_been_quiet(l, barred))
		/* Relaxed: a hint. */
		pawl_store_relaxed(&l->barred, barred + QUIET_MORE * QUIET);
}

/*
 * Now and then, by a reader that is inside: if l has not been written for a while, a
 * record will do from now on, with a fence at first, and without if writers come
 * rarely enough.
 */
void pawl_rwlock_look_(struct pawl_rwlock *l)
{
	/* Relaxed, here and below: hints, but what [O] makes sure of. */
	uint64_t word = pawl_load_relaxed(&l->word), now;
	uint64_t barred = pawl_load_relaxed(&l->barred);

	if ((word & PAWL_RWLOCK_BIASED) != 0)
		return;
	if ((word & PAWL_RWLOCK_FENCED) == 0)
		look_at_gated(l, word, barred);
	else if (pawl_self()->slow_reads % PAWL_RWLOCK_CLOCK != 0 ||
		 !pawl_heavy_fence_works() || /* [H] would end it */
		 (now = pawl_os_now()) < barred)
		look_at_fenced(l, barred);
	else if (give(l, word, PAWL_RWLOCK_BIASED))
		/* Since when it is biased. */
		pawl_store_relaxed(&l->barred, now - now % TIME + barred % TIME);
}

/* Announces a read of l in a free slot, as the lock has it: true if that is enough. */
static bool announce(struct pawl_rwlock *l, pawl_atomic64 *slot)
{
	uint64_t word = pawl_load_relaxed(&l->word); /* Relaxed: says which way to try */
	bool enough;

	if ((word & RECORDS) == 0)
		return false;
	pawl_critical_enter(); /* a jump would leave the announcement */
	enough = (word & PAWL_RWLOCK_BIASED) != 0 ? pawl_rwlock_announce_(l, slot)
						  : pawl_rwlock_announce_fenced_(l, slot);
	if (!enough)
		empty(l, slot);
	pawl_critical_leave();
	return enough;
}

/* Reads l if it can without waiting. */
static bool enter(struct pawl_rwlock *l, enum beside beside)
{
	struct pawl_reads *mine = pawl_reads_mine();
	pawl_atomic64 *slot;

	if (nest(mine, l))
		return true;
	slot = free_slot(mine, l);
	if ((slot == NULL || (!announce(l, slot) && !pawl_rwlock_pass_gate_(l))) &&
	    !join_counted(l, slot, beside))
		return false;
	pawl_rwlock_look_now_and_then_(l);
	return true;
}

/*
 * Polls for the lock: for the gate, as for any mutex, which does not change hands more
 * often than it should. If a reader keeps it for all that time, all may join it. If
 * that is a writer, it is probably not running: *stalled.
 */
static bool poll(struct pawl_rwlock *l, uint64_t ns, bool *stalled)
{
	uint64_t word;

	switch (pawl_mutex_poll(&l->gate, pawl_rwlock_reader_(), &l->word,
				PAWL_RWLOCK_FENCED, ns)) {
	case PAWL_POLLED_TAKEN:
		return true;
	case PAWL_POLLED_STALLED:
		*stalled = true;
		if (!enter(l, READERS))
			return false;
		word = pawl_load_relaxed(&l->word); /* Relaxed: [O] looks again */
		if ((word & RECORDS) == 0)
			(void)give(l, word, PAWL_RWLOCK_FENCED);
		return true;
	default:
		return enter(l, NOBODY);
	}
}

/* Leaves the line; true if somebody has counted us in before. */
static bool leave_line(struct pawl_rwlock *l, struct pawl_sleeper *me)
{
	struct pawl_bucket *bucket;
	bool granted;

	bucket = pawl_bucket_lock(&l->gate);
	/* Relaxed: granted under the lock that we hold. */
	granted = pawl_load_relaxed(&me->state) == SLEEPER_GRANTED;
	if (!granted && !is_dropped(me)) {
		pawl_sleeper_uncount(me);
		pawl_bucket_remove(bucket, me);
		if (pawl_bucket_find(bucket, line_of(l)) == NULL)
			/* Relaxed: this bit is the bucket's lock's. */
			pawl_fetch_add_relaxed(&l->word, -(uint64_t)PAWL_RWLOCK_WAITING);
		me->address = NULL;
	}
	pawl_bucket_unlock(bucket);
	return granted;
}

/* A jump out of the wait. */
static void abandon(struct pawl_sleeper *me)
{
	struct pawl_rwlock *l = lock_of(me->mutex, offsetof(struct pawl_rwlock, gate));

	if (me->acquired)
		pawl_rwlock_read_unlock(l);
	else if (!is_dropped(me) && leave_line(l, me))
		count_out(l);
}

static void join_line(struct pawl_rwlock *l, struct pawl_sleeper *me)
{
	struct pawl_bucket *bucket;

	me->priority = pawl_os_priority();
	bucket = pawl_bucket_lock(&l->gate);
	me->key = &l->gate;
	me->address = line_of(l);
	pawl_bucket_enqueue(bucket, me);
	pawl_sleeper_count(me); /* I7 */
	/* Relaxed: this bit is the bucket's lock's; a writer may see it late. */
	if ((pawl_load_relaxed(&l->word) & PAWL_RWLOCK_WAITING) == 0)
		pawl_fetch_add_relaxed(&l->word, PAWL_RWLOCK_WAITING); /* I6 */
	pawl_bucket_unlock(bucket);
}

/* Queues until it is counted in, or its time is up (false). `me` is on record. */
static bool await_turn(struct pawl_rwlock *l, struct pawl_sleeper *me, enum beside beside,
		       const struct pawl_deadline *deadline)
{
	bool sure, late = false;

	join_line(l, me);
	sure = pawl_park_fence(); /* [H] of sleep/park.c: P1 */
	while (!late) {
		bool inside;

		pawl_critical_enter();	      /* a jump would leave this thread counted */
		inside = count_in(l, beside); /* P1 */
		if (inside) {
			if (leave_line(l, me))
				count_out(l); /* twice is too often */
			/* As if a writer had counted us in. Relaxed: in no queue. */
			me->address = line_of(l);
			pawl_store_relaxed(&me->state, SLEEPER_GRANTED);
		}
		pawl_critical_leave();
		if (inside)
			return true;
		late = !pawl_rwlock_sleep(me, sure, deadline);
		if (pawl_load_acquire(&me->state) == SLEEPER_GRANTED) /* [W] */
			return true;
	}
	return leave_line(l, me);
}

static int queue(struct pawl_rwlock *l, struct pawl_sleeper *me, enum beside beside,
		 const struct pawl_deadline *deadline)
{
	if (!await_turn(l, me, beside, deadline))
		return ETIMEDOUT;
	pawl_critical_enter(); /* as in join_counted */
	note(l, free_slot(pawl_reads_mine(), l));
	me->acquired = true;
	pawl_critical_leave();
	return 0;
}

/* Polls, dozes, polls, as long as that may help; EBUSY if it did not. Who waits for a
 * thread that is not running had better not keep the CPU from it: it only glances. Who
 * saw the lock change hands all the time dozes once, and for long: it would only
 * disturb. */
static int poll_and_doze(struct pawl_rwlock *l, const struct pawl_deadline *deadline)
{
	uint64_t rest = pawl_wake_cost(), nap = rest;
	int naps = PAWL_RWLOCK_NAPS;
	bool stalled = false;

	if (poll(l, rest / (pawl_mutex_has_queue(&l->gate) ? 4 : 1), &stalled))
		return 0;
	/* Relaxed: a hint. */
	if (!stalled && !is_writers(pawl_load_relaxed(&l->gate.word))) {
		nap <<= naps;
		naps = naps != 0;
	}
	for (; naps > 0; naps--, nap *= 2) {
		if (pawl_rwlock_doze(nap, deadline))
			return ETIMEDOUT;
		if (stalled ? enter(l, NOBODY) : poll(l, rest / 2, &stalled))
			return 0;
	}
	return EBUSY;
}

/* Reads l as soon as it can: 0, or ETIMEDOUT. `beside` applies from when it would queue: until
 * then it is READERS, so that writers get in between readers with short sections. */
__attribute__((cold)) static int wait_until(struct pawl_rwlock *l, enum beside beside,
					    const struct pawl_deadline *deadline)
{
	struct pawl_sleeper me = {.mutex = &l->gate, .abandon = abandon};
	int error;

	pawl_wait_begin(&me);
	error = poll_and_doze(l, deadline);
	if (error == EBUSY)
		error = queue(l, &me, beside, deadline);
	else if (error == ETIMEDOUT && enter(l, beside))
		error = 0; /* it need not have waited */
	me.acquired = error == 0;
	pawl_wait_end(&me);
	return error;
}

bool pawl_rwlock_read_try_(struct pawl_rwlock *l, pawl_atomic64 *announced)
{
	if (announced != NULL)
		empty(l, announced);
	return enter(l, READERS);
}

bool pawl_rwlock_read_past(struct pawl_rwlock *l)
{
	return enter(l, WAITING_WRITERS);
}

/* As try, but it rather polls for the gate than join one who has it; and waits a little
 * for a writer that is about to put the form back. */
static bool read_soon(struct pawl_rwlock *l, pawl_atomic64 *announced)
{
	uint64_t word;

	if (announced != NULL)
		empty(l, announced);
	word = pawl_load_relaxed(&l->word); /* Relaxed: a hint */
	if ((word & PAWL_RWLOCK_KEPT) != 0)
		pawl_spin_while(&l->word, word, KEPT_NS);
	return enter(l, NOBODY);
}

void pawl_rwlock_read_slow_(struct pawl_rwlock *l, pawl_atomic64 *announced)
{
	if (!read_soon(l, announced))
		wait_until(l, READERS, NULL);
}

static bool has_waiting_writer(const struct pawl_rwlock *l)
{
	/* Relaxed: a hint. */
	return is_yielding(pawl_load_relaxed(&l->gate.word)) ||
	       pawl_mutex_has_queue(&l->gate);
}

int pawl_rwlock_read_first(struct pawl_rwlock *l, pawl_atomic64 *announced,
			   const struct pawl_deadline *deadline)
{
	if (read_soon(l, announced) ||
	    (has_waiting_writer(l) && pawl_os_priority() != 0 &&
	     pawl_rwlock_read_past(l)))
		return 0;
	return wait_until(l, WAITING_WRITERS, deadline);
}

int pawl_rwlock_read_until_(struct pawl_rwlock *l, pawl_atomic64 *announced, int clock,
			    const struct timespec *time)
{
	struct pawl_deadline deadline;
	int error;

	if (read_soon(l, announced))
		return 0;
	error = pawl_deadline_at(&deadline, clock, time);
	if (error != 0)
		return enter(l, READERS) ? 0 : error;
	return wait_until(l, READERS, &deadline);
}

void pawl_rwlock_read_end_(struct pawl_rwlock *l)
{
	struct pawl_thread *self = pawl_self();
	struct pawl_reads *r;
	pawl_atomic64 *slot = slot_of(pawl_reads_mine(), l, &r);
	uint64_t seen;

	if (slot == NULL) {
		if (!pawl_rwlock_has_gate_(l)) /* else the unlock is code of before */
			pawl_die_(
				"pawl_rwlock_read_unlock by a thread that does not read");
		pawl_rwlock_leave_gate(l);
		return;
	}
	seen = pawl_load_relaxed(slot); /* Relaxed: our own */
	if ((seen & PAWL_RWLOCK_NESTED) != 0) {
		unnest(l, r, slot);
		return;
	}
	empty(l, slot);
	if ((seen & PAWL_RWLOCK_COUNTED) != 0)
		count_out(l);
	if (self->exited)
		pawl_reads_exit(self);
}

void pawl_rwlock_to_reader_(struct pawl_rwlock *l)
{
	count_holder(l);
	pawl_rwlock_write_end_(l);
	pawl_rwlock_open_(l);
}
