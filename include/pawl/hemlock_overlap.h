/* SPDX-License-Identifier: MIT */
/*
 * pawl/hemlock_overlap.h - hemlock whose unlock does not wait for its successor.
 *
 * Choose it  instead of hemlock where unlock should return at once: the wait
 *            for the successor moves to the next operation that needs the
 *            mailbox, and is mostly over by then.
 * Avoid it   where a thread must be able to exit without waiting: its storage
 *            may be freed only when its last successor has read the mailbox.
 * Source     Dice & Kogan, "Hemlock", SPAA 2021 (extended), appendix A,
 *            listing 3.
 * Departs    from it: line 6 there waits while grant differs from the lock;
 *            the text, and correctness, want it to wait while it is equal.
 * Cost       lock 1 RMW, unlock 1 RMW; 8 bytes, 0 = free. A thread's first
 *            contended unlock arranges for the wait at its exit.
 *
 * State as in hemlock.h, on a mailbox of its own, with I1; and:
 *
 *   I2  grant is 0, or names the lock whose hand-over no successor has taken yet.
 *   I3  That successor waits for nothing else, so the mailbox empties.
 *   I4  A thread does not queue for a lock that its mailbox still names: its
 *       successor would take the old hand-over for a new one.
 *   I5  A thread's storage goes only after its mailbox is empty.
 *
 * Order      [T], [F], [A], [C], [R] as in hemlock.h. [E] pairs with [C]: the
 *            mailbox may be freed. To use it again needs no order but its own.
 * Lifetime   [F], or else [R], is unlock's last access to *l.
 * Checked    tests/locks/hemlock_overlap.c; pawl check hemlock-overlap;
 *            mutants A, R, C, E, I4, I5.
 */
#ifndef PAWL_HEMLOCK_OVERLAP_H
#define PAWL_HEMLOCK_OVERLAP_H

#include <pawl/hemlock.h>

struct PAWL_CAPABILITY pawl_hemlock_overlap {
	struct pawl_hemlock queue;
};

#define PAWL_HEMLOCK_OVERLAP_INIT PAWL_ZERO

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_hemlock_overlap_acquire_(struct pawl_hemlock_overlap *l,
						 enum pawl_wait how)
{
	pawl_atomic64 *grant = &pawl_self()->overlap_grant;

	/* Relaxed: [T] passes on what we read here (I4). */
	pawl_await_ne_relaxed(grant, pawl_hemlock_name_(&l->queue), how);
	pawl_hemlock_acquire_grant_(&l->queue, grant, how);
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_hemlock_overlap_try_acquire_(struct pawl_hemlock_overlap *l)
{
	pawl_atomic64 *grant = &pawl_self()->overlap_grant;

	/* Relaxed: as above (I4). */
	if (pawl_load_relaxed(grant) == pawl_hemlock_name_(&l->queue))
		return false; /* a thread waits, hence it is not free */
	return pawl_hemlock_enter_if_empty_(&l->queue, grant);
}

/* Requires the caller to own *l. */
static inline void pawl_hemlock_overlap_release_(struct pawl_hemlock_overlap *l,
						 enum pawl_wait how)
{
	struct pawl_thread *self = pawl_self();
	pawl_atomic64 *grant = &self->overlap_grant;

	if (__builtin_expect(pawl_hemlock_leave_if_last_(&l->queue, grant), true))
		return;
	pawl_at_thread_exit(); /* I5 */
	/* Relaxed: [R] comes after the 0 in the mailbox's own order (I3). */
	pawl_await_eq_relaxed(grant, 0, how);
	pawl_store_release(grant, pawl_hemlock_name_(&l->queue)); /* [R] I2 */
	pawl_notify(grant, pawl_hemlock_name_(&l->queue), how);
	if (__builtin_expect(self->exited, false))
		pawl_await_eq_acquire(grant, 0, how); /* [E] I5 */
}

PAWL_FACE(hemlock_overlap);
PAWL_FACE_TRY(hemlock_overlap);

#endif /* PAWL_HEMLOCK_OVERLAP_H */
