/* SPDX-License-Identifier: MIT */
/*
 * pawl/hemlock_oh2.h - hemlock whose unlock reads the tail before it tries to clear it.
 *
 * Choose it  instead of hemlock-ctr under steady contention: unlock reads the
 *            tail and spares the compare-and-swap that would fail.
 * Avoid it   uncontended: the check costs a load.
 * Source     Dice & Kogan, "Hemlock", SPAA 2021 (extended), appendix B,
 *            listing 6 ("optimized hand-over, variant 2").
 * Departs    from it: nothing.
 * Cost       lock 1 RMW, unlock 1 RMW; 8 bytes, 0 = free.
 *
 * State, invariants and mailbox as in hemlock_ctr.h.
 *
 * Order      as in hemlock_ctr.h. The load of tail is relaxed: only the owner
 *            and its successor replace the owner's name there, so any other
 *            value means that a successor has arrived.
 * Lifetime   [F], or else the load of tail, is unlock's last access to *l.
 * Checked    tests/locks/hemlock_oh2.c; pawl check hemlock-oh2; mutant I1.
 */
#ifndef PAWL_HEMLOCK_OH2_H
#define PAWL_HEMLOCK_OH2_H

#include <pawl/hemlock_ctr.h>

struct PAWL_CAPABILITY pawl_hemlock_oh2 {
	struct pawl_hemlock queue;
};

#define PAWL_HEMLOCK_OH2_INIT PAWL_ZERO

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_hemlock_oh2_acquire_(struct pawl_hemlock_oh2 *l,
					     enum pawl_wait how)
{
	pawl_atomic64 *ahead = pawl_hemlock_enter_(&l->queue, &pawl_self()->grant);

	if (__builtin_expect(ahead != NULL, false))
		pawl_hemlock_ctr_wait_(&l->queue, ahead, how);
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_hemlock_oh2_try_acquire_(struct pawl_hemlock_oh2 *l)
{
	return pawl_hemlock_enter_if_empty_(&l->queue, &pawl_self()->grant);
}

/* Requires the caller to own *l. */
static inline void pawl_hemlock_oh2_release_(struct pawl_hemlock_oh2 *l,
					     enum pawl_wait how)
{
	pawl_atomic64 *grant = &pawl_self()->grant;

	/* Relaxed: our own name, or a successor's (see Order). */
	if (pawl_load_relaxed(&l->queue.tail) == pawl_address(grant) &&
	    pawl_hemlock_leave_if_last_(&l->queue, grant)) /* I1 */
		return;
	pawl_hemlock_ctr_pass_(&l->queue, grant, how);
}

PAWL_FACE(hemlock_oh2);
PAWL_FACE_TRY(hemlock_oh2);

#endif /* PAWL_HEMLOCK_OH2_H */
