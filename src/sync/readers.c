/* SPDX-License-Identifier: MIT */
/*
 * Reads that are not ended by who began them: of a thread that left it to another,
 * which the interposer allows for, and in the child of a fork.
 *
 * Order: as in sync/rwlock.c. Here [R] and [D] end what another thread read, after its
 * section: that it is over is for the program to know, and to order.
 */
#include "sync/reads.h"

#include <pawl/runtime.h>

enum { SLOTS = 1 << PAWL_READS_BITS };

/* How often a record has l in a slot with that mark, and where last. */
static unsigned find(struct pawl_reads *r, const struct pawl_rwlock *l, uint64_t mark,
		     pawl_atomic64 **where)
{
	unsigned i, found = 0;

	for (i = 0; i < SLOTS; i++)
		/* Relaxed: our own, or the caller takes it from there. */
		if (pawl_load_relaxed(&r->slots[i]) == (pawl_address(l) | mark)) {
			*where = &r->slots[i];
			found++;
		}
	return found;
}

/* How many reads of l this thread has that found no slot. */
static unsigned count_nodes(const struct pawl_rwlock *l)
{
	const struct pawl_node *node;
	unsigned count = 0;

	for (node = pawl_self()->more_reads; node != NULL; node = node->free_next)
		count += node->value == pawl_address(l);
	return count;
}

bool pawl_rwlock_reads(const struct pawl_rwlock *l)
{
	struct pawl_reads *mine = pawl_self()->reads;
	pawl_atomic64 *where;

	return mine != NULL &&
	       (find(mine, l, 0, &where) != 0 ||
		find(mine, l, PAWL_RWLOCK_COUNTED, &where) != 0 || count_nodes(l) != 0);
}

/* Takes a read of l with that mark from any record. */
static bool take(const struct pawl_rwlock *l, uint64_t mark)
{
	pawl_atomic64 *slot;
	struct pawl_reads *r;
	unsigned i;

	for (i = 0; (r = pawl_reads_at(i)) != NULL; i++)
		while (find(r, l, mark, &slot) != 0)
			if (pawl_cas_acq_rel(slot, pawl_address(l) | mark, 0)) /* [R] */
				return true;
	return false;
}

bool pawl_rwlock_end_other(struct pawl_rwlock *l)
{
	if (take(l, PAWL_RWLOCK_COUNTED))
		/* Our last access to l. */
		pawl_fetch_add_release(&l->word, -(uint64_t)PAWL_RWLOCK_READER); /* [D] */
	else if (!take(l, 0))
		return false;
	if (pawl_parked_near(l))
		pawl_rwlock_wake(l, &l->word);
	return true;
}

void pawl_rwlock_survive(struct pawl_rwlock *l)
{
	struct pawl_reads *mine = pawl_self()->reads;
	pawl_atomic64 *where;
	uint64_t counted = find(mine, l, PAWL_RWLOCK_COUNTED, &where) + count_nodes(l);
	bool announced = find(mine, l, 0, &where) != 0;
	/* Relaxed, here and below: nobody else is there. */
	uint64_t word = pawl_load_relaxed(&l->word) & PAWL_RWLOCK_BIASED;

	word += counted * PAWL_RWLOCK_READER;
	if (announced) /* lest a writer look at the count alone */
		word |= PAWL_RWLOCK_FENCED;
	pawl_store_relaxed(&l->word, word);
	/* Who had the gate waited for us: it did not write. */
	l->gate = (struct pawl_mutex)PAWL_MUTEX_INIT;
}
