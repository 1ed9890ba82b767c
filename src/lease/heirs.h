/* SPDX-License-Identifier: MIT */
/*
 * All slots.h objects of the process, so that the child of a fork can put right those that
 * somebody was inside of, who is not there: see slots_inherit in slots.c.
 */
#ifndef PAWL_LEASE_HEIRS_H
#define PAWL_LEASE_HEIRS_H

#include <pawl/slots.h>

/* What the library keeps of an object, in front of its words. */
struct pawl_heir {
	PAWL_SEQUESTER struct pawl_slots *slots;
	struct pawl_heir *next, **link; /* of the list */
	/* Of ATOMIC: batches on their way from the depot to a list, and those that have
	 * arrived. */
	pawl_atomic64 begun, ended;
	uint64_t fresh; /* words that were made when the process forked */
};

static inline struct pawl_heir *pawl_heir_of(const struct pawl_slots *a)
{
	return (struct pawl_heir *)(void *)a->words - 1;
}

void pawl_heirs_add(struct pawl_heir *heir);
void pawl_heirs_remove(struct pawl_heir *heir);

/* Before a fork: notes what is there. Waits for those who have new slots that are nowhere
 * yet, until a time at most. */
void pawl_slots_bequeath(struct pawl_slots *a, uint64_t until);
/* In the child of a fork, where nobody else is: puts right what others were at. */
void pawl_slots_inherit(struct pawl_slots *a);

/* What life.c calls: before a fork, after it in the parent, and in the child. */
void pawl_heirs_before_fork(void);
void pawl_heirs_after_fork(void);
void pawl_heirs_forked(void);

#endif /* PAWL_LEASE_HEIRS_H */
