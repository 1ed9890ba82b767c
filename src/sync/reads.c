/* SPDX-License-Identifier: MIT */
/*
 * The records of what threads read: made in chunks that are never given back,
 * handed from threads that exit to threads that come.
 *
 * Order: [M] pairs with [N]: a writer that sees that a record exists finds its chunk. Both are
 * sequentially consistent for a fenced reader's first read, as [S] of pawl/rwlock.h is: a
 * writer that withdrew the form before that reader looked at it sees the new record.
 */
#include "sync/reads.h"
#include "os/os.h"
#include "sleep/parking.h"

#include <pawl/runtime.h>

enum { CHUNK = PAWL_READS_CHUNK, CHUNKS = 1024, SLOTS = 1 << PAWL_READS_BITS };

_Static_assert(sizeof(struct pawl_reads) == 128, "a pair of cache lines");

static struct {
	pawl_atomic64 lock;
	struct pawl_reads *free; /* the last one that was left */
	pawl_atomic64 made;
	struct pawl_reads *chunks[CHUNKS];
} table;

/* A record without room: marks of nobody's lock. */
static struct pawl_reads no_room = {
	.slots = {[0 ... SLOTS - 1] = {PAWL_RWLOCK_GATED}},
};

struct pawl_reads *pawl_reads_at(unsigned i)
{
	uint64_t made = pawl_load_seq_cst(&table.made); /* [M] */

	return i < made ? &table.chunks[i / CHUNK][i % CHUNK] : NULL;
}

/* Requires the lock. NULL if there are too many, or there is no memory. */
static struct pawl_reads *make(void)
{
	uint64_t made = pawl_load_relaxed(&table.made); /* Relaxed: under the lock */
	struct pawl_reads **chunk = &table.chunks[made / CHUNK];

	if (made == (uint64_t)CHUNK * CHUNKS)
		return NULL;
	/* Not from the heap, which a signal handler may not use. */
	if (*chunk == NULL) {
		*chunk = pawl_os_reserve(CHUNK * sizeof(struct pawl_reads));
		if (*chunk == NULL)
			return NULL;
	}
	pawl_store_seq_cst(&table.made, made + 1); /* [N] */
	return &(*chunk)[made % CHUNK];
}

struct pawl_reads *pawl_reads_first(void)
{
	struct pawl_thread *self = pawl_self();
	struct pawl_reads *r;
	uint64_t signals;

	pawl_at_thread_exit();
	if (self->exited)
		return self->reads = &no_room;
	signals = pawl_os_block_signals();
	pawl_guard_lock(&table.lock);
	if (self->reads == NULL) { /* else a signal's handler was here meanwhile */
		r = table.free;
		if (r != NULL)
			table.free = r->free_next;
		else
			r = make();
		self->reads = r != NULL ? r : &no_room;
	}
	pawl_guard_unlock(&table.lock);
	pawl_os_restore_signals(signals);
	return self->reads;
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
	struct pawl_reads *r = self->reads;
	uint64_t signals;

	/* What it reads still, it may unlock in a destructor that comes later. */
	if (r == NULL || r == &no_room || !is_empty(r))
		return;
	self->reads = &no_room;
	signals = pawl_os_block_signals();
	pawl_guard_lock(&table.lock);
	r->free_next = table.free;
	table.free = r;
	pawl_guard_unlock(&table.lock);
	pawl_os_restore_signals(signals);
}

/* The locks that this thread reads are as it knows them. */
static void keep_mine(struct pawl_thread *self)
{
	struct pawl_node *node;
	unsigned k;

	if (self->reads == NULL)
		return;
	for (k = 0; k < SLOTS && self->reads != &no_room; k++) {
		/* Relaxed: our own. */
		uint64_t slot = pawl_load_relaxed(&self->reads->slots[k]);

		if (slot != 0)
			pawl_rwlock_survive(
				pawl_pointer(slot & ~(uint64_t)PAWL_RWLOCK_MARKS));
	}
	for (node = self->more_reads; node != NULL; node = node->free_next)
		pawl_rwlock_survive(pawl_pointer(node->value));
}

void pawl_reads_forget(void)
{
	const struct pawl_reads *mine = pawl_self()->reads;
	struct pawl_reads *r;
	unsigned i, k;

	/* Relaxed, here and below: nobody else is there. */
	pawl_store_relaxed(&table.lock, 0);
	table.free = NULL;
	for (i = 0; (r = pawl_reads_at(i)) != NULL; i++) {
		if (r == mine)
			continue;
		if (pawl_load_relaxed(&r->counting) != 0)
			pawl_rwlock_uncount(
				pawl_pointer(pawl_load_relaxed(&r->counting)));
		pawl_store_relaxed(&r->counting, 0);
		for (k = 0; k < SLOTS; k++) {
			pawl_store_relaxed(&r->slots[k], 0);
			r->depth[k] = 0;
		}
		r->free_next = table.free;
		table.free = r;
	}
	keep_mine(pawl_self());
}
