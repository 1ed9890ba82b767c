/* SPDX-License-Identifier: MIT */
/*
 * The records of what threads read. A thread that reads has one that is live: writers look at
 * it. If it reads more locks at once than that has slots, the others are counted, and noted in
 * further records, which writers pass over. Records are made in chunks that are never given
 * back, lowest first, and return to the table when their thread exits; so what a writer looks
 * at follows the number of threads that live.
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

/* All but what is atomic is the lock's. */
static struct {
	pawl_atomic64 lock;
	pawl_atomic64 end;	    /* of the chunks that have live records */
	pawl_atomic64 live[CHUNKS]; /* a bit for each record */
	uint64_t used[CHUNKS];	    /* likewise: some thread has it */
	unsigned vacant;	    /* chunks before this one are used up */
	struct pawl_reads *chunks[CHUNKS];
} table;

/* What threads have that are past their exit. It has no free slot. */
static struct pawl_reads no_room = {
	.slots = {[0 ... SLOTS - 1] = {PAWL_RWLOCK_GATED}},
};

struct pawl_reads *pawl_reads_next(struct pawl_reads_scan *scan)
{
	uint64_t lowest;

	while (scan->left == 0) {
		if (scan->chunk >= pawl_load_seq_cst(&table.end)) /* [M] */
			return NULL;
		scan->left = pawl_load_seq_cst(&table.live[scan->chunk++]); /* [M] */
	}
	lowest = (uint64_t)__builtin_ctzll(scan->left);
	scan->left &= scan->left - 1;
	return &table.chunks[scan->chunk - 1][lowest];
}

/* The number of a record's bit in its chunk, whose number is in *chunk. */
static unsigned place_of(const struct pawl_reads *r, unsigned *chunk)
{
	unsigned c = 0;

	while (r < table.chunks[c] || r >= table.chunks[c] + CHUNK)
		c++;
	*chunk = c;
	return (unsigned)(r - table.chunks[c]);
}

/* The following require the lock. */

static struct pawl_reads *take(bool live)
{
	uint64_t all = ~(uint64_t)0 >> (64 - CHUNK), bit;
	unsigned c = table.vacant;

	while (c < CHUNKS && table.used[c] == all)
		c++;
	/* Not from the heap, which a signal handler may not use, nor an allocator that locks. */
	if (c < CHUNKS && table.chunks[c] == NULL)
		table.chunks[c] = pawl_os_reserve(CHUNK * sizeof(struct pawl_reads));
	if (c == CHUNKS || table.chunks[c] == NULL)
		pawl_die_("out of memory for what a thread reads");
	table.vacant = c;
	bit = ~table.used[c] & (table.used[c] + 1);
	table.used[c] |= bit;
	/* Relaxed, here and below: stored under the lock only. */
	if (live) {
		pawl_store_seq_cst(&table.live[c],
				   pawl_load_relaxed(&table.live[c]) | bit); /* [N] */
		if (pawl_load_relaxed(&table.end) <= c)
			pawl_store_seq_cst(&table.end, c + 1); /* [N] */
	}
	return &table.chunks[c][__builtin_ctzll(bit)];
}

static void give_back(const struct pawl_reads *r)
{
	unsigned c, k = place_of(r, &c);
	uint64_t bit = (uint64_t)1 << k, live, end, before;

	/* Relaxed, here and below: stored under the lock only. */
	live = pawl_load_relaxed(&table.live[c]);
	end = before = pawl_load_relaxed(&table.end);
	if ((live & bit) != 0)
		pawl_store_release(&table.live[c], live & ~bit); /* [L] */
	while (end > 0 && pawl_load_relaxed(&table.live[end - 1]) == 0)
		end--;
	if (end != before)
		pawl_store_release(&table.end, end); /* [L] */
	table.used[c] &= ~bit;
	if (table.vacant > c)
		table.vacant = c;
}

/* Takes the lock, which a signal's handler may want, too; and lets go of it. */

static uint64_t lock_table(void)
{
	uint64_t signals = pawl_os_block_signals();

	pawl_guard_lock(&table.lock);
	return signals;
}

static void unlock_table(uint64_t signals)
{
	pawl_guard_unlock(&table.lock);
	pawl_os_restore_signals(signals);
}

struct pawl_reads *pawl_reads_first(void)
{
	struct pawl_thread *self = pawl_self();
	uint64_t signals;

	pawl_at_thread_exit();
	if (self->exited)
		return self->reads = &no_room;
	signals = lock_table();
	if (self->reads == NULL) /* else a signal's handler was here meanwhile */
		self->reads = take(true);
	unlock_table(signals);
	return self->reads;
}

struct pawl_reads *pawl_reads_further(void)
{
	struct pawl_thread *self = pawl_self();
	uint64_t signals = lock_table();
	struct pawl_reads *r = take(false);

	r->next = self->more_reads;
	self->more_reads = r;
	unlock_table(signals);
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

void pawl_reads_exit(struct pawl_thread *self)
{
	struct pawl_reads **link = &self->more_reads, *r = self->reads;
	uint64_t signals;

	if ((r == NULL || r == &no_room) && *link == NULL)
		return;
	/* What it reads still, it may unlock in a destructor that comes later. */
	signals = lock_table();
	if (r != NULL && r != &no_room && is_empty(r)) {
		self->reads = &no_room;
		give_back(r);
	}
	while ((r = *link) != NULL)
		if (is_empty(r)) {
			*link = r->next;
			give_back(r);
		} else {
			link = &r->next;
		}
	unlock_table(signals);
}

/* In the child of a fork. */

static bool is_mine(const struct pawl_thread *self, const struct pawl_reads *r)
{
	const struct pawl_reads *mine = self->more_reads;

	while (mine != NULL && mine != r)
		mine = mine->next;
	return r == self->reads || mine == r;
}

/* Whether the child has the memory of a lock: a program may keep pages from it, and then has
 * no use for the lock (MADV_DONTFORK). */
static bool is_there(const struct pawl_rwlock *l)
{
	return pawl_os_is_mapped(&l->word) && pawl_os_is_mapped(&l->gate.due);
}

/* The locks that a record of this thread has are as it knows them. */
static void keep_locks(const struct pawl_reads *r)
{
	unsigned k;

	for (k = 0; k < SLOTS; k++) {
		/* Relaxed: our own. The record without room names no lock. */
		uint64_t slot = pawl_load_relaxed(&r->slots[k]) &
				~(uint64_t)PAWL_RWLOCK_MARKS;

		if (slot != 0 && is_there(pawl_pointer(slot)))
			pawl_rwlock_survive(pawl_pointer(slot));
	}
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

void pawl_reads_forget(void)
{
	struct pawl_thread *self = pawl_self();
	const struct pawl_reads *r;
	unsigned c, k;

	/* Relaxed, here and below: nobody else is there; and a thread that is gone may have
	 * been about to change the table. */
	pawl_store_relaxed(&table.lock, 0);
	pawl_store_relaxed(&table.end, 0);
	table.vacant = 0;
	for (c = 0; c < CHUNKS && table.chunks[c] != NULL; c++) {
		table.used[c] = 0;
		pawl_store_relaxed(&table.live[c], 0);
		for (k = 0; k < CHUNK; k++) {
			if (!is_mine(self, &table.chunks[c][k])) {
				clear(&table.chunks[c][k]);
				continue;
			}
			table.used[c] |= (uint64_t)1 << k;
			if (&table.chunks[c][k] != self->reads)
				continue;
			pawl_store_relaxed(&table.live[c], (uint64_t)1 << k);
			pawl_store_relaxed(&table.end, c + 1);
		}
	}
	if (self->reads != NULL)
		keep_locks(self->reads);
	for (r = self->more_reads; r != NULL; r = r->next)
		keep_locks(r);
}
