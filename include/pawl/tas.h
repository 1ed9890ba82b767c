/* SPDX-License-Identifier: MIT */
/*
 * pawl/tas.h - test-and-set spin lock in one word.
 *
 * Choose it  for locks that are hardly ever contended, where arrival order
 *            does not matter.
 * Avoid it   under contention: every waiter keeps writing to the one word, and
 *            any thread may overtake any other without bound.
 * Source     folklore; Rudolph & Segall, ISCA 1984.
 * Departs    from it: polls with compare-and-swap, which is the waiting seam's
 *            read-modify-write poll.
 * Cost       lock 1 RMW, unlock 0 RMW; 8 bytes, 0 = free.
 *
 * State (held): 0 free, 1 held.
 *
 *   I1  The thread that changes held from 0 to 1 is the holder until it stores 0.
 *
 * Order      [A] pairs with [R]: a section happens before the next one.
 * Lifetime   [R] is unlock's last access: the next holder may free *l.
 * Checked    tests/locks/tas.c; pawl check tas; mutants A, R, I1.
 */
#ifndef PAWL_TAS_H
#define PAWL_TAS_H

#include <pawl/face.h>

struct PAWL_CAPABILITY pawl_tas {
	pawl_atomic64 held;
};

#define PAWL_TAS_INIT PAWL_ZERO

/* Waits until it owns *l. Not recursive. */
static inline void pawl_tas_acquire_(struct pawl_tas *l, enum pawl_wait how)
{
	pawl_await_cas_acquire(&l->held, 0, 1, how); /* [A] I1 */
}

/* Returns true, owning *l, if it was free; never waits. */
static inline bool pawl_tas_try_acquire_(struct pawl_tas *l)
{
	return pawl_cas_acquire(&l->held, 0, 1); /* [A] I1 */
}

/* Requires *l to be held; any thread may release it. */
static inline void pawl_tas_release_(struct pawl_tas *l, enum pawl_wait how)
{
	pawl_store_release(&l->held, 0); /* [R] */
	pawl_notify(&l->held, 0, how);
}

PAWL_FACE(tas);
PAWL_FACE_TRY(tas);

#endif /* PAWL_TAS_H */
