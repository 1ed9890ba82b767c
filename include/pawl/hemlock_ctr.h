/* SPDX-License-Identifier: MIT */
/*
 * pawl/hemlock_ctr.h - hemlock that polls by read-modify-write.
 *
 * Choose it  instead of hemlock where a grant word has one waiter: the poll
 *            already owns the line it will clear ("coherence traffic
 *            reduction").
 * Avoid it   where one thread holds several contended locks: their waiters
 *            steal the line of its grant word from each other (section 5.6).
 * Source     Dice & Kogan, "Hemlock", SPAA 2021 (extended), listing 2.
 * Departs    from it: nothing.
 * Cost       lock 1 RMW, unlock 1 RMW; 8 bytes, 0 = free.
 *
 * State and invariants I1 to I3 as in hemlock.h.
 *
 * Order      [T] and [F] as in hemlock.h. [A], the taking of the grant, pairs
 *            with [R]: a section happens before the next one; and with [E]:
 *            the owner may reuse or free the word.
 * Lifetime   as in hemlock.h; [A] is lock's last access to its predecessor's
 *            grant.
 * Checked    tests/locks/hemlock_ctr.c; pawl check hemlock-ctr; mutants A, R,
 *            E.
 */
#ifndef PAWL_HEMLOCK_CTR_H
#define PAWL_HEMLOCK_CTR_H

#include <pawl/hemlock.h>

struct PAWL_CAPABILITY pawl_hemlock_ctr {
	struct pawl_hemlock queue;
};

#define PAWL_HEMLOCK_CTR_INIT PAWL_ZERO

/* Waits until the predecessor's word grants *l, and clears it. hemlock-ah and
 * hemlock-oh2 wait in the same way. */
static inline void pawl_hemlock_ctr_wait_(struct pawl_hemlock *l, pawl_atomic64 *ahead,
					  enum pawl_wait how)
{
	pawl_await_cas_acq_rel(ahead, pawl_hemlock_name_(l), 0, how); /* [A] I3 */
	pawl_notify(ahead, 0, how);
}

/* Hands *l to the successor, and waits until that has taken it. */
static inline void pawl_hemlock_ctr_pass_(struct pawl_hemlock *l, pawl_atomic64 *grant,
					  enum pawl_wait how)
{
	pawl_store_release(grant, pawl_hemlock_name_(l)); /* [R] I2 */
	pawl_notify(grant, pawl_hemlock_name_(l), how);
	pawl_await_eq_rmw_acquire(grant, 0, how); /* [E] I3 */
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_hemlock_ctr_acquire_(struct pawl_hemlock_ctr *l,
					     enum pawl_wait how)
{
	pawl_atomic64 *ahead = pawl_hemlock_enter_(&l->queue, &pawl_self()->grant);

	if (__builtin_expect(ahead != NULL, false))
		pawl_hemlock_ctr_wait_(&l->queue, ahead, how);
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_hemlock_ctr_try_acquire_(struct pawl_hemlock_ctr *l)
{
	return pawl_hemlock_enter_if_empty_(&l->queue, &pawl_self()->grant);
}

/* Requires the caller to own *l. */
static inline void pawl_hemlock_ctr_release_(struct pawl_hemlock_ctr *l,
					     enum pawl_wait how)
{
	pawl_atomic64 *grant = &pawl_self()->grant;

	if (__builtin_expect(!pawl_hemlock_leave_if_last_(&l->queue, grant), false))
		pawl_hemlock_ctr_pass_(&l->queue, grant, how);
}

PAWL_FACE(hemlock_ctr);
PAWL_FACE_TRY(hemlock_ctr);

#endif /* PAWL_HEMLOCK_CTR_H */
