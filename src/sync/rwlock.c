/* SPDX-License-Identifier: MIT */
/*
 * The slow half of pawl_rwlock. See pawl/rwlock.h for the state and I1 to I7.
 *
 * A reader that cannot read at once polls, dozes a few times, and then queues: among
 * the sleepers of the gate's bucket, under an address that nobody else uses. Whoever
 * leaves as a writer lets the queue in, by counting it; whoever sets the gate free
 * otherwise wakes it.
 *
 * Order: [F] pairs with [K], and so does the end of a read, [R] pairs with [K]: a writer
 * that finds a slot changed sees the section of the read that it stood for. [H] pairs
 * with [B] of pawl/rwlock.h: a reader announces itself and looks at the word, a writer
 * withdraws the bias and looks at the records; at least one sees the other. [S] pairs
 * with itself: the same of a fenced reader, which passes its own fence. [O] pairs with
 * [A] of pawl/rwlock.h: who sees a form sees what its giver had seen, the last writer's
 * section; a fenced reader does so by [S]. [C] pairs with [G]: of a reader that counts
 * itself and a writer that takes the gate, at least one sees the other. [C] pairs with
 * [U]: a reader that finds the gate free sees the last writer's section. [D] pairs with
 * [E]: a writer that finds no readers left sees their sections; at once, in
 * the header, [D] pairs with [G] of pawl/rwlock.h. [W] pairs with [V] of sleep/park.c:
 * who is told sees why, and the section of the writer that let it in.
 */
#include "sync/reads.h"
#include "sleep/fences.h"
#include "sleep/parking.h"

#include <pawl/runtime.h>

enum {
	SLOTS = 1 << PAWL_READS_BITS,
	BARRED_TIMES = 9, /* as long as the withdrawal took: a tenth is lost at most */
	BARRED_MOST = 7,  /* doublings of that, for a bias that was not worth it */
	WORTH_TIMES = 16, /* as long as the withdrawal took must a bias last */
	DOUBLINGS = 15,	  /* the bits of `barred` that count them */
	SETTLED_NS = 10000000, /* after that a store on its way has arrived */
	UNSURE_NS = 1000000    /* of sleep that an unlock might not end */
};

/* One that has come: for those who do not wait. */
static const struct pawl_deadline AT_ONCE;

/* What lets readers in by their records. */
#define RECORDS ((uint64_t)PAWL_RWLOCK_BIASED | PAWL_RWLOCK_FENCED)

/* Where the writer that has the gate waits for readers. */
static const volatile void *drain_of(const struct pawl_rwlock *l)
{
	return &l->word;
}

/* What this thread reads. */

static pawl_atomic64 *free_slot(struct pawl_reads *mine, const struct pawl_rwlock *l)
{
	unsigned home = pawl_rwlock_home(l), i;

	for (i = 0; i < SLOTS; i++) {
		pawl_atomic64 *slot = &mine->slots[(home + i) % SLOTS];

		if (pawl_load_relaxed(slot) == 0) /* Relaxed: our own */
			return slot;
	}
	return NULL;
}

/* A slot that says that l is read, or NULL. */
static pawl_atomic64 *slot_of(struct pawl_reads *mine, const struct pawl_rwlock *l)
{
	unsigned home = pawl_rwlock_home(l), i;

	for (i = 0; i < SLOTS; i++) {
		pawl_atomic64 *slot = &mine->slots[(home + i) % SLOTS];

		/* Relaxed: our own. */
		if ((pawl_load_relaxed(slot) & ~(uint64_t)PAWL_RWLOCK_COUNTED) ==
		    pawl_address(l))
			return slot;
	}
	return NULL;
}

/* The link to the node that says so, of those reads that found no slot. */
static struct pawl_node **node_of(const struct pawl_rwlock *l)
{
	struct pawl_node **link = &pawl_self()->more_reads;

	while (*link != NULL && (*link)->value != pawl_address(l))
		link = &(*link)->free_next;
	return link;
}

static bool reads_already(struct pawl_reads *mine, const struct pawl_rwlock *l)
{
	return slot_of(mine, l) != NULL || *node_of(l) != NULL;
}

/* Remembers, in a free slot if there is one, that this thread is counted as a reader
 * of l. */
static void note(const struct pawl_rwlock *l, pawl_atomic64 *slot)
{
	struct pawl_thread *self = pawl_self();
	struct pawl_node *node;

	if (slot != NULL) {
		/* [F]: a writer may wait for what was here before. */
		pawl_store_release(slot, pawl_address(l) | PAWL_RWLOCK_COUNTED); /* [F] */
		return;
	}
	node = pawl_node_get();
	node->value = pawl_address(l);
	node->free_next = self->more_reads;
	self->more_reads = node;
}

/* Readers. */

/* Takes back an announcement, or a note. */
static void empty(const struct pawl_rwlock *l, pawl_atomic64 *slot)
{
	pawl_store_release(slot, 0); /* [R] */
	if (pawl_parked_near(l))
		pawl_rwlock_wake(l, drain_of(l));
}

static void count_out(struct pawl_rwlock *l)
{
	/* Our last access to l. */
	uint64_t before = pawl_fetch_add_release(&l->word,
						 -(uint64_t)PAWL_RWLOCK_READER); /* [D] */

	if (before < 2 * PAWL_RWLOCK_READER && pawl_parked_near(l))
		pawl_rwlock_wake(l, drain_of(l));
}

static bool count_in(struct pawl_rwlock *l)
{
	/* Relaxed: spares what would be in vain; [C] decides. */
	if (pawl_load_relaxed(&l->gate.word) != 0)
		return false;
	pawl_fetch_add_seq_cst(&l->word, PAWL_RWLOCK_READER); /* [C] */
	if (pawl_load_seq_cst(&l->gate.word) == 0)	      /* [C] */
		return true;
	count_out(l);
	return false;
}

/* A time with a count in its last bits. */
static uint64_t set_doublings(uint64_t time, uint64_t doublings)
{
	return (time & ~(uint64_t)DOUBLINGS) | doublings;
}

/* Now and then, by a reader: from now on a record will do, with a fence at first, and
 * without if writers come rarely enough. */
static void favour_readers(struct pawl_rwlock *l)
{
	uint64_t reads = ++pawl_self()->slow_reads, word, barred, now;

	if (reads % PAWL_RWLOCK_FENCED_AFTER != 0)
		return;
	/* Relaxed: hints, but what [O] makes sure of. */
	word = pawl_load_relaxed(&l->word);
	barred = pawl_load_relaxed(&l->barred);
	if (pawl_load_relaxed(&l->gate.word) != 0)
		return;
	if ((word & PAWL_RWLOCK_FENCED) == 0)
		(void)pawl_cas_release(&l->word, word,
				       word | PAWL_RWLOCK_FENCED); /* [O] */
	else if ((word & PAWL_RWLOCK_BIASED) == 0 &&
		 reads % PAWL_RWLOCK_BIASED_AFTER == 0 && pawl_heavy_fence_works() &&
		 (now = pawl_os_now()) >= barred &&
		 pawl_cas_release(&l->word, word, word | PAWL_RWLOCK_BIASED)) /* [O] */
		/* Since when it is biased. Relaxed: a hint. */
		pawl_store_relaxed(&l->barred, set_doublings(now, barred & DOUBLINGS));
}

/* Announces a read of l in a free slot, as the lock has it: true if that is enough. */
static bool announce(struct pawl_rwlock *l, pawl_atomic64 *slot)
{
	uint64_t word = pawl_load_relaxed(&l->word); /* Relaxed: says which way to try */

	if ((word & PAWL_RWLOCK_BIASED) != 0) {
		if (pawl_rwlock_announce(l, slot))
			return true;
	} else if ((word & PAWL_RWLOCK_FENCED) != 0) {
		pawl_store_seq_cst(slot, pawl_address(l));	  /* [S] */
		if ((pawl_load_seq_cst(&l->word) & RECORDS) != 0) /* [S] */
			return true;
	} else {
		return false;
	}
	empty(l, slot);
	return false;
}

/* Reads l if it can without waiting. */
static bool read_now(struct pawl_rwlock *l)
{
	struct pawl_reads *mine = pawl_reads_mine();
	pawl_atomic64 *slot = free_slot(mine, l);

	if (slot != NULL && announce(l, slot)) {
		favour_readers(l);
		return true;
	}
	if (count_in(l))
		favour_readers(l);
	else if (reads_already(mine, l))
		/* Relaxed: who waits for us sees it by what we have already (I5). */
		pawl_fetch_add_relaxed(&l->word, PAWL_RWLOCK_READER);
	else
		return false;
	note(l, slot);
	return true;
}

/* Polls for the lock. */
static bool poll(struct pawl_rwlock *l, uint64_t ns)
{
	struct pawl_spin spin;

	pawl_spin_begin(&spin, ns);
	do
		if (pawl_spin_look(&spin, &l->gate.word) == 0 && read_now(l))
			return true;
	while (pawl_spin_again(&spin));
	return false;
}

/* Sleeps for so long, or until the deadline; true if that has come. */
static bool doze(uint64_t ns, const struct pawl_deadline *deadline)
{
	struct pawl_deadline soon = pawl_deadline_in(ns);
	bool last = deadline != NULL && pawl_os_until(deadline) < ns;
	struct pawl_sleeper me = {.address = NULL};

	pawl_sleep(&me, last ? deadline : &soon);
	return last;
}

/*
 * One sleep of a thread that is counted in its bucket, and has looked since; `sure`:
 * who would wake it sees that. False if it is late.
 */
static bool sleep_counted(struct pawl_sleeper *me, bool sure,
			  const struct pawl_deadline *deadline)
{
	struct pawl_deadline soon = pawl_deadline_in(UNSURE_NS);
	bool told = pawl_sleep(me, sure ? deadline : &soon);

	(void)pawl_cas_acquire(&me->state, SLEEPER_WOKEN, SLEEPER_WAITING); /* [W] */
	return told || deadline == NULL || (!sure && pawl_os_until(deadline) != 0);
}

/* Leaves the line; true if somebody has counted us in before. */
static bool leave_line(struct pawl_rwlock *l, struct pawl_bucket *bucket,
		       struct pawl_sleeper *me)
{
	bool granted;

	pawl_bucket_lock(bucket);
	granted = pawl_load_acquire(&me->state) == SLEEPER_GRANTED; /* [W] */
	if (!granted) {
		pawl_bucket_uncount(bucket, me);
		pawl_bucket_remove(bucket, me);
		if (pawl_bucket_find(bucket->first, pawl_rwlock_line(l)) == NULL)
			/* Relaxed: this bit is the bucket's lock's. */
			pawl_fetch_add_relaxed(&l->word, -(uint64_t)PAWL_RWLOCK_WAITING);
	}
	pawl_bucket_unlock(bucket);
	return granted;
}

/* Queues until it is counted in (0) or its time is up (ETIMEDOUT). */
static int queue(struct pawl_rwlock *l, const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket = pawl_bucket_of(l);
	struct pawl_sleeper me = {.address = pawl_rwlock_line(l)};
	bool sure, late = false;

	pawl_bucket_lock(bucket);
	pawl_bucket_append(bucket, &me);
	pawl_bucket_count(bucket, &me); /* I7 */
	/* Relaxed: this bit is the bucket's lock's; a writer may see it late. */
	if ((pawl_load_relaxed(&l->word) & PAWL_RWLOCK_WAITING) == 0)
		pawl_fetch_add_relaxed(&l->word, PAWL_RWLOCK_WAITING); /* I6 */
	pawl_bucket_unlock(bucket);
	sure = pawl_park_fence(); /* [H] of sleep/park.c: P1 */
	while (!late) {
		if (count_in(l)) { /* P1 */
			if (leave_line(l, bucket, &me))
				count_out(l); /* twice is too often */
			return 0;
		}
		late = !sleep_counted(&me, sure, deadline);
		if (pawl_load_acquire(&me.state) == SLEEPER_GRANTED) /* [W] */
			return 0;
	}
	return leave_line(l, bucket, &me) ? 0 : ETIMEDOUT;
}

/* Reads l as soon as it can: 0, or ETIMEDOUT. */
__attribute__((cold)) static int wait_until(struct pawl_rwlock *l,
					    const struct pawl_deadline *deadline)
{
	uint64_t rest = pawl_wake_cost();
	int naps, error;

	if (poll(l, rest))
		return 0;
	for (naps = 0; naps < PAWL_RWLOCK_NAPS; naps++) {
		if (doze(rest << naps, deadline))
			return ETIMEDOUT;
		if (poll(l, rest / 2))
			return 0;
	}
	error = queue(l, deadline);
	if (error == 0)
		note(l, free_slot(pawl_reads_mine(), l));
	return error;
}

bool pawl_rwlock_read_try(struct pawl_rwlock *l, pawl_atomic64 *announced)
{
	if (announced != NULL)
		empty(l, announced);
	return read_now(l);
}

void pawl_rwlock_read_slow(struct pawl_rwlock *l, pawl_atomic64 *announced)
{
	if (!pawl_rwlock_read_try(l, announced))
		wait_until(l, NULL);
}

int pawl_rwlock_read_until(struct pawl_rwlock *l, pawl_atomic64 *announced, int clock,
			   const struct timespec *time)
{
	struct pawl_deadline deadline;
	int error;

	if (pawl_rwlock_read_try(l, announced))
		return 0;
	error = pawl_deadline_at(&deadline, clock, time);
	return error != 0 ? error : wait_until(l, &deadline);
}

void pawl_rwlock_read_end(struct pawl_rwlock *l)
{
	pawl_atomic64 *slot = slot_of(pawl_reads_mine(), l);
	struct pawl_node *node, **link;

	/* Relaxed: our own. */
	if (slot != NULL && pawl_load_relaxed(slot) == pawl_address(l)) {
		empty(l, slot);
		return;
	}
	if (slot != NULL) {
		empty(l, slot);
	} else {
		link = node_of(l);
		node = *link;
		if (node == NULL)
			pawl_die(
				"pawl_rwlock_read_unlock by a thread that does not read");
		*link = node->free_next;
		pawl_node_put(node);
	}
	count_out(l);
}

/* Writers. */

/* Waits until a word is no longer `seen`; false if the deadline came first. Requires
 * the gate. */
static bool await_other(const struct pawl_rwlock *l, const pawl_atomic64 *w,
			uint64_t seen, const struct pawl_deadline *deadline)
{
	struct pawl_bucket *bucket = pawl_bucket_of(l);
	struct pawl_sleeper me = {.address = drain_of(l)};
	struct pawl_spin spin;
	bool sure, late = false;

	if (deadline == &AT_ONCE)
		return false;
	pawl_spin_begin(&spin, pawl_wake_cost());
	do
		if (pawl_spin_look(&spin, w) != seen)
			return true;
	while (pawl_spin_again(&spin));
	pawl_bucket_lock(bucket);
	pawl_bucket_append(bucket, &me);
	pawl_bucket_count(bucket, &me);
	pawl_bucket_unlock(bucket);
	sure = pawl_park_fence(); /* [H] of sleep/park.c: P1 */
	/* Relaxed: P1; the caller looks again, with the order it needs. */
	while (!late && pawl_load_relaxed(w) == seen)
		late = !sleep_counted(&me, sure, deadline);
	pawl_bucket_lock(bucket);
	pawl_bucket_uncount(bucket, &me);
	pawl_bucket_remove(bucket, &me);
	pawl_bucket_unlock(bucket);
	return !late;
}

/* Waits until no slot has the address of l; false if the deadline came first. */
static bool await_records(const struct pawl_rwlock *l,
			  const struct pawl_deadline *deadline)
{
	struct pawl_reads *r;
	unsigned i, k;

	for (i = 0; (r = pawl_reads_at(i)) != NULL; i++)
		for (k = 0; k < SLOTS; k++)
			/* Ends when that read does. */
			while (pawl_load_seq_cst(&r->slots[k]) ==
			       pawl_address(l)) /* [K] [S] */
				if (!await_other(l, &r->slots[k], pawl_address(l),
						 deadline))
					return false;
	return true;
}

/* Bars the bias, after a withdrawal. */
static void bar(struct pawl_rwlock *l, uint64_t start)
{
	/* Relaxed, here and below: a hint. */
	uint64_t barred = pawl_load_relaxed(&l->barred), doublings = barred & DOUBLINGS;
	uint64_t now = pawl_os_now(), took = now - start;

	if (start - barred > WORTH_TIMES * took)
		doublings = 0;
	else if (doublings < BARRED_MOST)
		doublings++;
	pawl_store_relaxed(
		&l->barred,
		set_doublings(now + (BARRED_TIMES * took << doublings), doublings));
}

/* Takes from l what lets readers in by their records (I3), or leaves it if the
 * deadline comes first (I4). */
static bool withdraw(struct pawl_rwlock *l, uint64_t what,
		     const struct pawl_deadline *deadline)
{
	bool biased = (what & PAWL_RWLOCK_BIASED) != 0;
	uint64_t start = biased ? pawl_os_now() : 0, word;

	/* Nobody else takes it: we have the gate. */
	pawl_fetch_add_seq_cst(&l->word, -what); /* [S] */
	if (biased && !pawl_heavy_fence())	 /* [H] */
		doze(SETTLED_NS, NULL);
	if (await_records(l, deadline)) {
		if (biased)
			bar(l, start);
		return true;
	}
	/* A reader may have given it back meanwhile. Ends: it fails if others come or
	 * go, which they cannot do for ever while we have the gate. */
	do
		word = pawl_load_relaxed(&l->word); /* Relaxed: [O] looks again */
	while (!pawl_cas_release(&l->word, word, word | what)); /* [O] */
	return false;
}

/* Requires the gate. Waits until no reader is left; false if the deadline came
 * first. */
static bool drain(struct pawl_rwlock *l, const struct pawl_deadline *deadline)
{
	uint64_t word;

	/* Ends when the readers do: nobody is counted in as long
	 * as we have the gate, but those who read already. */
	while (((word = pawl_load_acquire(&l->word)) & /* [E] */
		~(uint64_t)PAWL_RWLOCK_WAITING) != 0)
		if ((word & RECORDS) != 0 ? !withdraw(l, word & RECORDS, deadline)
					  : !await_other(l, &l->word, word, deadline))
			return false;
	return true;
}

void pawl_rwlock_drain(struct pawl_rwlock *l)
{
	drain(l, NULL);
}

void pawl_rwlock_write_slow(struct pawl_rwlock *l)
{
	pawl_mutex_lock_slow(&l->gate);
	pawl_full_fence(); /* [G] */
	drain(l, NULL);
}

bool pawl_rwlock_write_try(struct pawl_rwlock *l)
{
	/* Relaxed: a look that spares the fence if there are readers for all to see. */
	if (pawl_load_relaxed(&l->word) < PAWL_RWLOCK_READER &&
	    await_records(l, &AT_ONCE) && drain(l, &AT_ONCE))
		return true;
	pawl_rwlock_write_end(l);
	return false;
}

int pawl_rwlock_write_until(struct pawl_rwlock *l, int clock, const struct timespec *time)
{
	struct pawl_deadline deadline;
	int error;

	if (!pawl_rwlock_take_gate(l)) {
		error = pawl_mutex_lock_until(&l->gate, clock, time);
		if (error != 0)
			return error;
	}
	pawl_full_fence(); /* [G] */
	error = pawl_deadline_at(&deadline, clock, time);
	/* A bad time matters to those who have to wait. */
	if (drain(l, error == 0 ? &deadline : &AT_ONCE))
		return 0;
	pawl_rwlock_write_end(l);
	return error != 0 ? error : ETIMEDOUT;
}

/* Counts in whoever is in line. Requires the gate. */
static void let_in(struct pawl_rwlock *l)
{
	struct pawl_bucket *bucket = pawl_bucket_of(l);
	struct pawl_sleeper *sleeper, *next;
	uint64_t count = 0;

	/* Relaxed: I6 allows for one that is missed. */
	if ((pawl_load_relaxed(&l->word) & PAWL_RWLOCK_WAITING) == 0)
		return;
	pawl_bucket_lock(bucket);
	for (sleeper = bucket->first; sleeper != NULL; sleeper = sleeper->next)
		count += sleeper->address == pawl_rwlock_line(l);
	if (count != 0)
		/* Relaxed: each learns it by [V], writers by [U]. */
		pawl_fetch_add_relaxed(&l->word,
				       count * PAWL_RWLOCK_READER - PAWL_RWLOCK_WAITING);
	for (sleeper = pawl_bucket_find(bucket->first, pawl_rwlock_line(l));
	     sleeper != NULL; sleeper = next) {
		next = pawl_bucket_find(sleeper->next, pawl_rwlock_line(l));
		pawl_bucket_uncount(bucket, sleeper);
		pawl_bucket_remove(bucket, sleeper);
		if (pawl_sleeper_tell(sleeper, SLEEPER_GRANTED)) /* [V] P3 */
			pawl_os_wake(&sleeper->state);
	}
	pawl_bucket_unlock(bucket);
}

void pawl_rwlock_write_end(struct pawl_rwlock *l)
{
	let_in(l);
	pawl_mutex_unlock(&l->gate); /* [U] */
	if (pawl_parked_near(l))
		pawl_rwlock_wake(l, pawl_rwlock_line(l));
}

void pawl_rwlock_to_reader(struct pawl_rwlock *l)
{
	/* Relaxed: writers learn it by [U]. */
	pawl_fetch_add_relaxed(&l->word, PAWL_RWLOCK_READER);
	note(l, free_slot(pawl_reads_mine(), l));
	pawl_rwlock_write_end(l);
}

void pawl_rwlock_wake(const struct pawl_rwlock *l, const volatile void *whom)
{
	struct pawl_bucket *bucket = pawl_bucket_of(l);
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
