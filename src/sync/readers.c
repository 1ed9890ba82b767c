/* SPDX-License-Identifier: MIT */
/*
 * Reads that another thread ends than the one that began them, which the interposer allows
 * for; reads that a new lock in the same memory ends; and reads in the child of a fork.
 *
 * Order: [R] pairs with [K] of sync/rwlock_write.c, and [D] pairs with [E] there. Here they
 * end what another thread read, after its section: that it is over is for the program to
 * know, and to order.
 */
#include "sync/rwlocks.h"

#include <pawl/runtime.h>

pawl_atomic64 *pawl_reads_find(struct pawl_reads *r, const struct pawl_rwlock *l,
			       uint64_t marks)
{
	unsigned i;

	for (i = 0; i < SLOTS; i++)
		/* Relaxed: our own, or the caller takes it from there. */
		if ((pawl_load_relaxed(&r->slots[i]) & ~(uint64_t)PAWL_RWLOCK_NESTED) ==
		    (pawl_address(l) | marks))
			return &r->slots[i];
	return NULL;
}

/* Whether this thread is counted as a reader of l. */
static bool is_counted(const struct pawl_rwlock *l)
{
	struct pawl_thread *self = pawl_self();
	struct pawl_reads *r;

	if (self->reads != NULL &&
	    pawl_reads_find(self->reads, l, PAWL_RWLOCK_COUNTED) != NULL)
		return true;
	for (r = self->more_reads; r != NULL; r = r->next)
		if (pawl_reads_find(r, l, PAWL_RWLOCK_COUNTED) != NULL)
			return true;
	return false;
}

/* Whether this thread reads l through the gate. */
static bool has_gate(const struct pawl_rwlock *l)
{
	/* Relaxed: nobody else stores this value, and only while it is so. */
	return (pawl_load_relaxed(&l->gate.word) & ~(uint64_t)PAWL_RWLOCK_AGAIN) ==
	       pawl_rwlock_reader_();
}

bool pawl_rwlock_reads(const struct pawl_rwlock *l)
{
	struct pawl_reads *mine = pawl_self()->reads;

	return has_gate(l) || (mine != NULL && pawl_reads_find(mine, l, 0) != NULL) ||
	       is_counted(l);
}

enum taken { NOTHING, PART, ALL };

/* Takes a read of l with these marks from a record: the last one of its thread there,
 * or one of several. */
static enum taken take_from(struct pawl_reads *r, const struct pawl_rwlock *l,
			    uint64_t marks)
{
	pawl_atomic64 *slot;

	/* Ends: it is tried again only if the slot has changed. */
	while ((slot = pawl_reads_find(r, l, marks)) != NULL) {
		uint64_t whole = pawl_address(l) | marks;

		if (r->depth[slot - r->slots] == 0) {
			if (pawl_cas_acq_rel(slot, whole, 0)) /* [R] */
				return ALL;
			continue;
		}
		if (--r->depth[slot - r->slots] == 0)
			/* Ordered for who waits for what was in this slot before. */
			pawl_store_release(slot, whole); /* [R] */
		return PART;
	}
	return NOTHING;
}

static enum taken take(const struct pawl_rwlock *l, uint64_t marks)
{
	struct pawl_reads_scan scan = {.left = 0};
	enum taken taken = NOTHING;
	struct pawl_reads *r;

	while (taken == NOTHING && (r = pawl_reads_next(&scan)) != NULL)
		taken = take_from(r, l, marks);
	return taken;
}

/* Ends a read of the one who has the gate; false if that does not read. */
static bool take_gate(struct pawl_rwlock *l)
{
	uint64_t gate = pawl_load_relaxed(&l->gate.word); /* Relaxed: [R] looks again */
	struct pawl_reads_scan scan = {.left = 0};
	struct pawl_reads *r;
	pawl_atomic64 *slot = NULL;

	if ((gate & PAWL_RWLOCK_READS) == 0 ||
	    (gate & PAWL_RWLOCK_YIELDS) == PAWL_RWLOCK_YIELDS)
		return false;
	if ((gate & PAWL_RWLOCK_AGAIN) == 0) {
		if (!pawl_cas_acq_rel(&l->gate.word, gate,
				      pawl_rwlock_reader_())) /* [R] */
			return false;
		pawl_rwlock_leave_gate(l);
		return true;
	}
	while (slot == NULL && (r = pawl_reads_next(&scan)) != NULL) {
		slot = pawl_reads_find(r, l, PAWL_RWLOCK_GATED);
		if (slot != NULL && --r->depth[slot - r->slots] == 0) {
			pawl_store_release(slot, 0); /* [R] */
			/* Relaxed: to writers it is the same. */
			pawl_store_relaxed(&l->gate.word,
					   gate & ~(uint64_t)PAWL_RWLOCK_AGAIN);
		}
	}
	return slot != NULL;
}

bool pawl_rwlock_end_other(struct pawl_rwlock *l)
{
	enum taken taken = take(l, PAWL_RWLOCK_COUNTED);

	if (taken == ALL)
		/* Our last access to l. */
		pawl_fetch_add_release(&l->word, -(uint64_t)PAWL_RWLOCK_READER); /* [D] */
	else if (taken == NOTHING)
		taken = take(l, 0);
	if (taken == NOTHING)
		return take_gate(l);
	if (taken == ALL && pawl_parked_near_(l))
		pawl_rwlock_wake_writer_(l);
	return true;
}

/* Ends each read of l that a record has. */
static void clear(struct pawl_reads *r, const struct pawl_rwlock *l)
{
	unsigned i;

	for (i = 0; i < SLOTS; i++) {
		/* Relaxed, here and below: that these reads are over is for the program to know,
		 * and to order; and a read-modify-write keeps what [F] released. */
		uint64_t seen = pawl_load_relaxed(&r->slots[i]);

		if ((seen & ~(uint64_t)PAWL_RWLOCK_MARKS) == pawl_address(l) &&
		    pawl_cas_relaxed(&r->slots[i], seen, 0))
			r->depth[i] = 0;
	}
}

/* Whether a lock has, or may have, readers or threads that wait. Relaxed: a program that makes
 * a new lock of it has ordered that. */
static bool is_in_use(const struct pawl_rwlock *l)
{
	return !pawl_rwlock_is_quiet_(pawl_load_relaxed(&l->word)) ||
	       pawl_load_relaxed(&l->gate.word) != 0 || pawl_mutex_has_queue(&l->gate);
}

void pawl_rwlock_forget(struct pawl_rwlock *l, bool was_one)
{
	struct pawl_thread *self = pawl_self();
	struct pawl_reads_scan scan = {.left = 0};
	struct pawl_reads *r;

	if (self->reads != NULL)
		clear(self->reads, l);
	for (r = self->more_reads; r != NULL; r = r->next)
		clear(r, l);
	if (!was_one || !is_in_use(l))
		return;
	while ((r = pawl_reads_next(&scan)) != NULL)
		clear(r, l);
	pawl_rwlock_drop_waiters(l);
}

/* Writes only what has to change: the memory may be shared with the parent. */
static void set(pawl_atomic64 *w, uint64_t value)
{
	if (pawl_load_relaxed(w) != value) /* Relaxed: nobody else is there */
		pawl_store_relaxed(w, value);
}

void pawl_rwlock_survive(struct pawl_rwlock *l, bool announced, bool counted)
{
	uint64_t forms = RECORDS | PAWL_RWLOCK_KEPT;
	uint64_t before = pawl_load_relaxed(&l->word); /* Relaxed: nobody else is there */
	uint64_t word = before & (RECORDS | PAWL_RWLOCK_WRITTEN);

	/* Its own announcement would be overlooked by a writer that finds no form. */
	if ((before & forms) != 0 || announced)
		word |= PAWL_RWLOCK_FENCED;
	if (counted)
		word += PAWL_RWLOCK_READER;
	set(&l->word, word);
	/* Who else had the gate waited for us: it did not write. */
	if (!has_gate(l))
		set(&l->gate.word, 0);
	set(&l->gate.due, 0);
}

void pawl_rwlock_uncount(struct pawl_rwlock *l)
{
	uint64_t kept = PAWL_RWLOCK_KEPT | PAWL_RWLOCK_WRITTEN;

	/* Relaxed, here and below: nobody else is there. If we write, it would have
	 * found so, and others, too; if we read through the gate, whoever was counted
	 * is gone. */
	if (has_gate(l))
		kept |= PAWL_RWLOCK_BIASED | PAWL_RWLOCK_FENCED;
	else if (pawl_load_relaxed(&l->gate.word) != pawl_mutex_me_())
		return;
	pawl_store_relaxed(&l->word, pawl_load_relaxed(&l->word) & kept);
}
