/* SPDX-License-Identifier: MIT */
/*
 * The records of what threads read. A thread that reads has one that is live: writers look at
 * it. If it reads more locks at once than that has slots, the others are counted, and noted in
 * further records, which writers pass over. Records are made in chunks that are never given
 * back, lowest first, and return to the table when their thread exits; so what a writer looks
 * at follows the number of threads that live.
 *
 * The process has one table, whichever copies of the library its threads read through
 * (docs/design/copies.md), and a thread has one live record in all of them:
 *
 *   T1  A live record is given back when the last copy that knows it sees its thread exit.
 *   T2  A copy that was unloaded never sees that. The record then stays with that thread, and
 *       with the next one that has its pawl_thread_id().
 *
 * Order: [M] pairs with [N]: a writer that sees that a record is live finds its chunk. Both are
 * sequentially consistent for a fenced reader's first read, as [S] of pawl/rwlock.h is: a
 * writer that withdrew the form before that reader looked at it sees that the record is live.
 * [M] pairs with [L]: a writer that sees that a record is live no more sees the sections that
 * were read by it.
 */
#include "sync/reads.h"
#include "os/os.h"
#include "sleep/parking.h"

#include <pawl/runtime.h>

enum {
	CHUNK = PAWL_READS_CHUNK,
	CHUNKS = PAWL_READS_CHUNKS,
	SLOTS = 1 << PAWL_READS_BITS
};

_Static_assert(sizeof(struct pawl_reads) == 128, "a pair of cache lines");
_Static_assert(CHUNK <= 64, "a chunk has a word of bits");

/* Whose a record is. */
struct holder {
	uint64_t thread; /* its pawl_thread_id() */
	unsigned
		copies; /* of the library that know the record as the thread's live one */
	bool left;	/* the thread has exited while it reads: no further copy joins */
};

/* Two pages, or less. */
struct chunk {
	struct pawl_reads records[CHUNK];
	struct holder holders[CHUNK];
};
_Static_assert(sizeof(struct chunk) <= 8192, "a chunk wastes no memory");

/* All but what is atomic is the lock's. */
struct pawl_reads_table {
	pawl_atomic64 lock;
	pawl_atomic64 end;	    /* of the chunks that have live records */
	pawl_atomic64 live[CHUNKS]; /* a bit for each record */
	uint64_t used[CHUNKS];	    /* likewise: some thread has it */
	unsigned vacant;	    /* chunks before this one are used up */
	unsigned copies;	    /* of the library that have ever used it */
	struct chunk *chunks[CHUNKS];
};

/* Whether this copy is one of the table's. */
static bool has_joined;

/* What threads have that are past their exit. It has no free slot. */
static struct pawl_reads no_room = {
	.slots = {[0 ... SLOTS - 1] = {PAWL_RWLOCK_GATED}},
};

static struct pawl_reads_table *find_table(void)
{
	return pawl_os_part(PAWL_PART_READS, sizeof(struct pawl_reads_table));
}

/* The next of the records of this chunk that are left. */
static struct pawl_reads *next_of(struct chunk *chunk, struct pawl_reads_scan *scan)
{
	int lowest = __builtin_ctzll(scan->left);

	scan->left &= scan->left - 1;
	return &chunk->records[lowest];
}

struct pawl_reads *pawl_reads_next(struct pawl_reads_scan *scan)
{
	struct pawl_reads_table *table = scan->table;

	if (table == NULL)
		table = scan->table = find_table();
	while (scan->left == 0) {
		if (scan->chunk >= pawl_load_seq_cst(&table->end)) /* [M] */
			return NULL;
		scan->left = pawl_load_seq_cst(&table->live[scan->chunk++]); /* [M] */
	}
	return next_of(table->chunks[scan->chunk - 1], scan);
}

/* The following require the lock. */

/* The number of a record's bit in its chunk, whose number is in *chunk. */
static unsigned place_of(const struct pawl_reads_table *table, const struct pawl_reads *r,
			 unsigned *chunk)
{
	unsigned c = 0;

	while (r < table->chunks[c]->records || r >= table->chunks[c]->records + CHUNK)
		c++;
	*chunk = c;
	return (unsigned)(r - table->chunks[c]->records);
}

static struct holder *holder_of(const struct pawl_reads_table *table,
				const struct pawl_reads *r)
{
	unsigned c, k = place_of(table, r, &c);

	return &table->chunks[c]->holders[k];
}

static struct pawl_reads *take(struct pawl_reads_table *table, bool live)
{
	uint64_t all = ~(uint64_t)0 >> (64 - CHUNK), bit;
	unsigned c = table->vacant, k;

	while (c < CHUNKS && table->used[c] == all)
		c++;
	/* Not from the heap, which a signal handler may not use, nor an allocator that locks. */
	if (c < CHUNKS && table->chunks[c] == NULL)
		table->chunks[c] = pawl_os_reserve(sizeof(struct chunk));
	if (c == CHUNKS || table->chunks[c] == NULL)
		pawl_die_("out of memory for what a thread reads");
	table->vacant = c;
	bit = ~table->used[c] & (table->used[c] + 1);
	table->used[c] |= bit;
	k = (unsigned)__builtin_ctzll(bit);
	table->chunks[c]->holders[k] = (struct holder){.thread = pawl_thread_id()};
	/* Relaxed, here and below: stored under the lock only. */
	if (live) {
		pawl_store_seq_cst(&table->live[c],
				   pawl_load_relaxed(&table->live[c]) | bit); /* [N] */
		if (pawl_load_relaxed(&table->end) <= c)
			pawl_store_seq_cst(&table->end, c + 1); /* [N] */
	}
	return &table->chunks[c]->records[k];
}

static void give_back(struct pawl_reads_table *table, const struct pawl_reads *r)
{
	unsigned c, k = place_of(table, r, &c);
	uint64_t bit = (uint64_t)1 << k, live, end, before;

	/* Relaxed, here and below: stored under the lock only. */
	live = pawl_load_relaxed(&table->live[c]);
	end = before = pawl_load_relaxed(&table->end);
	if ((live & bit) != 0)
		pawl_store_release(&table->live[c], live & ~bit); /* [L] */
	while (end > 0 && pawl_load_relaxed(&table->live[end - 1]) == 0)
		end--;
	if (end != before)
		pawl_store_release(&table->end, end); /* [L] */
	table->used[c] &= ~bit;
	table->chunks[c]->holders[k].thread = 0;
	if (table->vacant > c)
		table->vacant = c;
}

/* The live record that another copy has taken for this thread, or NULL. */
static struct pawl_reads *find_mine(const struct pawl_reads_table *table)
{
	uint64_t me = pawl_thread_id(), left;
	/* Relaxed, here and below: stored under the lock only. */
	unsigned c, end = (unsigned)pawl_load_relaxed(&table->end);

	for (c = 0; c < end; c++)
		for (left = pawl_load_relaxed(&table->live[c]); left != 0;
		     left &= left - 1) {
			int k = __builtin_ctzll(left);
			const struct holder *holder = &table->chunks[c]->holders[k];

			if (holder->thread == me && !holder->left)
				return &table->chunks[c]->records[k];
		}
	return NULL;
}

/* This thread's live record. */
static struct pawl_reads *join(struct pawl_reads_table *table)
{
	struct pawl_reads *r = NULL;

	table->copies += has_joined ? 0 : 1;
	has_joined = true;
	if (table->copies > 1) /* else no other copy has one */
		r = find_mine(table);
	if (r == NULL)
		r = take(table, true);
	holder_of(table, r)->copies++;
	return r;
}

/* Takes the lock, which a signal's handler may want, too; and lets go of it. */

static uint64_t lock_table(struct pawl_reads_table *table)
{
	uint64_t signals = pawl_os_block_signals();

	pawl_guard_lock(&table->lock);
	return signals;
}

static void unlock_table(struct pawl_reads_table *table, uint64_t signals)
{
	pawl_guard_unlock(&table->lock);
	pawl_os_restore_signals(signals);
}

struct pawl_reads *pawl_reads_first(void)
{
	struct pawl_reads_table *table = find_table();
	struct pawl_thread *self = pawl_self();
	uint64_t signals;

	pawl_at_thread_exit();
	if (self->exited)
		return self->reads = &no_room;
	signals = lock_table(table);
	if (self->reads == NULL) /* else a signal's handler was here meanwhile */
		self->reads = join(table);
	unlock_table(table, signals);
	return self->reads;
}

struct pawl_reads *pawl_reads_further(void)
{
	struct pawl_reads_table *table = find_table();
	struct pawl_thread *self = pawl_self();
	uint64_t signals = lock_table(table);
	struct pawl_reads *r = take(table, false);

	r->next = self->more_reads;
	self->more_reads = r;
	unlock_table(table, signals);
	return r;
}

static bool is_empty(const struct pawl_reads *r)
{
	unsigned i;

	for (i = 0; i < SLOTS; i++)
		if (pawl_load_relaxed(&r->slots[i]) != 0) /* Relaxed: our own */
			return false;
	return true;
}

/* This copy leaves its thread's live record, unless the thread still reads: it may unlock in a
 * destructor that comes later. Requires the lock. */
static void leave(struct pawl_reads_table *table, struct pawl_thread *self)
{
	struct holder *holder = holder_of(table, self->reads);

	if (!is_empty(self->reads)) {
		holder->left = true;
		return;
	}
	if (--holder->copies == 0) /* T1 */
		give_back(table, self->reads);
	self->reads = &no_room;
}

void pawl_reads_exit(struct pawl_thread *self)
{
	struct pawl_reads **link = &self->more_reads, *r;
	bool lives = self->reads != NULL && self->reads != &no_room;
	struct pawl_reads_table *table;
	uint64_t signals;

	if (!lives && *link == NULL)
		return;
	table = find_table();
	signals = lock_table(table);
	if (lives)
		leave(table, self);
	while ((r = *link) != NULL)
		if (is_empty(r)) {
			*link = r->next;
			give_back(table, r);
		} else {
			holder_of(table, r)->left = true;
			link = &r->next;
		}
	unlock_table(table, signals);
}

/* In the child of a fork. */

/* Whether the child has the memory of a lock: a program may keep pages from it, and then has
 * no use for the lock (MADV_DONTFORK). */
static bool is_there(const struct pawl_rwlock *l)
{
	return pawl_os_is_mapped(&l->word) && pawl_os_is_mapped(&l->gate.due);
}

/* A record whose thread is gone: nothing is read by it. */
static void clear(struct pawl_reads *r)
{
	/* Relaxed, here and below: nobody else is there. */
	struct pawl_rwlock *counting = pawl_pointer(pawl_load_relaxed(&r->counting));
	unsigned k;

	if (counting != NULL && is_there(counting))
		pawl_rwlock_uncount(counting);
	pawl_store_relaxed(&r->counting, 0);
	for (k = 0; k < SLOTS; k++) {
		pawl_store_relaxed(&r->slots[k], 0);
		r->depth[k] = 0;
	}
}

/* Whether a record is this thread's: of this copy, or of another. */
static bool is_mine(const struct pawl_reads *r, const struct holder *holder)
{
	const struct pawl_thread *self = pawl_self();
	const struct pawl_reads *mine = self->more_reads;

	while (mine != NULL && mine != r)
		mine = mine->next;
	return r == self->reads || mine == r ||
	       (holder->thread == pawl_thread_id() && !holder->left);
}

/* Leaves the records of a chunk that are this thread's, and no others. A thread that is gone
 * may have been about to change the table. */
static void clear_others(struct pawl_reads_table *table, unsigned c)
{
	struct chunk *chunk = table->chunks[c];
	uint64_t mine = 0, live;
	unsigned k;

	for (k = 0; k < CHUNK; k++)
		if (is_mine(&chunk->records[k], &chunk->holders[k])) {
			mine |= (uint64_t)1 << k;
		} else {
			clear(&chunk->records[k]);
			chunk->holders[k].thread = 0;
		}
	table->used[c] = mine;
	/* Relaxed, here and below: nobody else is there. */
	live = pawl_load_relaxed(&table->live[c]) & mine;
	pawl_store_relaxed(&table->live[c], live);
	if (live != 0)
		pawl_store_relaxed(&table->end, c + 1);
}

/* A search through all records that are left, which are this thread's, of any copy. */
static struct pawl_reads *next_mine(const struct pawl_reads_table *table,
				    struct pawl_reads_scan *scan)
{
	while (scan->left == 0) {
		if (scan->chunk == CHUNKS || table->chunks[scan->chunk] == NULL)
			return NULL;
		scan->left = table->used[scan->chunk++];
	}
	return next_of(table->chunks[scan->chunk - 1], scan);
}

/* Whether this thread's records have l with these marks. */
static bool is_noted(const struct pawl_reads_table *table, const struct pawl_rwlock *l,
		     uint64_t marks)
{
	struct pawl_reads_scan scan = {.left = 0};
	struct pawl_reads *r;

	while ((r = next_mine(table, &scan)) != NULL)
		if (pawl_reads_find(r, l, marks) != NULL)
			return true;
	return false;
}

/* The locks that a record has are as this thread knows them. */
static void keep_locks(const struct pawl_reads_table *table, const struct pawl_reads *r)
{
	unsigned k;

	for (k = 0; k < SLOTS; k++) {
		/* Relaxed: our own. */
		uint64_t slot = pawl_load_relaxed(&r->slots[k]) &
				~(uint64_t)PAWL_RWLOCK_MARKS;
		struct pawl_rwlock *l = pawl_pointer(slot);

		if (l != NULL && is_there(l))
			pawl_rwlock_survive(l, is_noted(table, l, 0),
					    is_noted(table, l, PAWL_RWLOCK_COUNTED));
	}
}

void pawl_reads_forget(void)
{
	struct pawl_reads_scan scan = {.left = 0};
	struct pawl_reads_table *table = find_table();
	const struct pawl_reads *r;
	unsigned c;

	if (!pawl_os_part_forked(PAWL_PART_READS))
		return;
	/* Relaxed, here and below: nobody else is there. */
	pawl_store_relaxed(&table->lock, 0);
	pawl_store_relaxed(&table->end, 0);
	table->vacant = 0;
	for (c = 0; c < CHUNKS && table->chunks[c] != NULL; c++)
		clear_others(table, c);
	while ((r = next_mine(table, &scan)) != NULL)
		keep_locks(table, r);
}
