/* SPDX-License-Identifier: MIT */
/*
 * The registry of all slots.h objects of the process. With it the child of a fork repairs
 * those that threads of the parent were inside of: see pawl_slots_inherit in slots.c.
 */
#ifndef PAWL_LEASE_HEIRS_H
#define PAWL_LEASE_HEIRS_H

#include <pawl/slots.h>

/* An object's entry, in memory in front of its words. */
struct pawl_heir {
	PAWL_SEQUESTER struct pawl_slots *slots;
	struct pawl_heir *next, **link; /* of the list of entries */
	/* ATOMIC: batches that were begun to be moved from the depot to a list, and that
	 * have arrived. */
	pawl_atomic64 begun, ended;
	uint64_t fresh; /* words that were complete when the process forked */
};

static inline struct pawl_heir *pawl_heir_of(const struct pawl_slots *a)
{
	return (struct pawl_heir *)(void *)a->words - 1;
}

void pawl_heirs_add(struct pawl_heir *heir);
void pawl_heirs_remove(struct pawl_heir *heir);

/* Before a fork: records which words are complete. Waits, until a time at most, for
 * threads that have made new slots and not stored them yet. */
void pawl_slots_bequeath(struct pawl_slots *a, uint64_t until);
/* In the child of a fork, its only thread: repairs what the parent's threads were
 * changing. */
void pawl_slots_inherit(struct pawl_slots *a);

/* Called by life.c: before a fork, after it in the parent, and in the child. */
void pawl_heirs_before_fork(void);
void pawl_heirs_after_fork(void);
void pawl_heirs_forked(void);

#endif /* PAWL_LEASE_HEIRS_H */
