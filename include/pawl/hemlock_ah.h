/* SPDX-License-Identifier: MIT */
/*
 * pawl/hemlock_ah.h - hemlock with aggressive hand-over. NOT SAFE where the
 * memory of a lock can be freed while a thread is still inside its unlock.
 *
 * Choose it  for locks that are never freed (static, type-stable, or under
 *            RCU), where hand-over latency counts most.
 * Avoid it   everywhere else: unlock touches the lock after the next holder
 *            may have freed it (appendix B). It is not offered under pthread.
 * Source     Dice & Kogan, "Hemlock", SPAA 2021 (extended), listing 4.
 * Departs    from it: nothing.
 * Cost       lock 1 RMW, unlock 1 RMW; 8 bytes, 0 = free.
 *
 * State as in hemlock.h, with I1 and I3; instead of I2:
 *
 *   I2  grant is 0 except inside unlock; there it first names the lock, in
 *       case a successor waits, and is cleared again by the successor
 *       or, if there is none, by the owner itself.
 *
 * Order      [T], [A], [R], [E] as in hemlock_ctr.h. [F] must not be seen
 *            before [R], or an arrival would find the lock free while the
 *            mailbox is still to be filled for another thread: the owner
 *            performs both, and [F] is a release.
 * Lifetime   [F] accesses *l after [R] may have handed it over: see above.
 * Checked    tests/locks/hemlock_ah.c; pawl check hemlock-ah; mutants R, E, I2.
 *            pawl check shows the use after free.
 */
#ifndef PAWL_HEMLOCK_AH_H
#define PAWL_HEMLOCK_AH_H

#include <pawl/hemlock_ctr.h>

struct PAWL_CAPABILITY pawl_hemlock_ah {
	struct pawl_hemlock queue;
};

#define PAWL_HEMLOCK_AH_INIT PAWL_ZERO

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_hemlock_ah_acquire_(struct pawl_hemlock_ah *l, enum pawl_wait how)
{
	pawl_atomic64 *ahead = pawl_hemlock_enter_(&l->queue, &pawl_self()->grant);

	if (__builtin_expect(ahead != NULL, false))
		pawl_hemlock_ctr_wait_(&l->queue, ahead, how);
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_hemlock_ah_try_acquire_(struct pawl_hemlock_ah *l)
{
	return pawl_hemlock_enter_if_empty_(&l->queue, &pawl_self()->grant);
}

/* Requires the caller to own *l, and *l to stay allocated until it returns. */
static inline void pawl_hemlock_ah_release_(struct pawl_hemlock_ah *l, enum pawl_wait how)
{
	pawl_atomic64 *grant = &pawl_self()->grant;

	pawl_store_release(grant, pawl_hemlock_name_(&l->queue)); /* [R] I2 */
	pawl_notify(grant, pawl_hemlock_name_(&l->queue), how);
	if (__builtin_expect(pawl_hemlock_leave_if_last_(&l->queue, grant), true))
		pawl_store_relaxed(grant, 0); /* Relaxed: no successor reads it (I2) */
	else
		pawl_await_eq_rmw_acquire(grant, 0, how); /* [E] I3 */
}

PAWL_FACE(hemlock_ah);
PAWL_FACE_TRY(hemlock_ah);

#endif /* PAWL_HEMLOCK_AH_H */
