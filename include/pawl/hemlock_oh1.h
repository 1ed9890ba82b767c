/* SPDX-License-Identifier: MIT */
/*
 * pawl/hemlock_oh1.h - hemlock whose waiters leave a hint in the mailbox.
 *
 * Choose it  for hand-over as quick as hemlock-ah's, on locks that may be
 *            freed: a holder that finds the hint passes the lock on without
 *            touching it.
 * Avoid it   where one thread holds several contended locks: there is room
 *            for one hint, and the waiters poll one word.
 * Source     Dice & Kogan, "Hemlock", SPAA 2021 (extended), appendix B,
 *            listing 5 ("optimized hand-over, variant 1").
 * Departs    from it: nothing. (Its comment on line 8 means that the result of
 *            the compare-and-swap is not used.)
 * Cost       lock 1 RMW, unlock 1 RMW; 8 bytes, 0 = free.
 *
 * State as in hemlock.h, on a mailbox of its own, with I1; and:
 *
 *   I2  grant is 0; or a lock's name: handed over, not yet taken; or a name
 *       with bit 0 set: that lock's successor is waiting.
 *   I3  A hint may be missing; it is never there without a successor, which
 *       then waits until the lock is handed over.
 *   I4  Once the name is gone from the mailbox the hand-over is complete.
 *       Another lock's waiter may post its hint at once, so unlock waits for
 *       the name to go, not for 0 to come.
 *
 * Order      [T], [F], [A], [R] as in hemlock_ctr.h. [E] pairs with [A]: the
 *            mailbox may be used again, or freed. Hints are relaxed: a hint
 *            only says that its thread waits, which [T] made true before.
 * Lifetime   [F], or else [R], is unlock's last access to *l.
 * Checked    tests/locks/hemlock_oh1.c; pawl check hemlock-oh1; mutants A, R,
 *            E, I3, I4.
 */
#ifndef PAWL_HEMLOCK_OH1_H
#define PAWL_HEMLOCK_OH1_H

#include <pawl/hemlock_ctr.h>

struct PAWL_CAPABILITY pawl_hemlock_oh1 {
	struct pawl_hemlock queue;
};

#define PAWL_HEMLOCK_OH1_INIT PAWL_ZERO

static inline uint64_t pawl_hemlock_oh1_hint_(const struct pawl_hemlock_oh1 *l)
{
	return pawl_hemlock_name_(&l->queue) | 1;
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_hemlock_oh1_acquire_(struct pawl_hemlock_oh1 *l,
					     enum pawl_wait how)
{
	pawl_atomic64 *ahead = pawl_hemlock_enter_(&l->queue, &pawl_self()->hinted_grant);

	if (__builtin_expect(ahead == NULL, true))
		return;
	/* Relaxed: a hint; it may be missing, so a failure does no harm (I3). */
	pawl_cas_relaxed(ahead, 0, pawl_hemlock_oh1_hint_(l));
	pawl_hemlock_ctr_wait_(&l->queue, ahead, how);
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_hemlock_oh1_try_acquire_(struct pawl_hemlock_oh1 *l)
{
	return pawl_hemlock_enter_if_empty_(&l->queue, &pawl_self()->hinted_grant);
}

/* Requires the caller to own *l. */
static inline void pawl_hemlock_oh1_release_(struct pawl_hemlock_oh1 *l,
					     enum pawl_wait how)
{
	pawl_atomic64 *grant = &pawl_self()->hinted_grant;
	uint64_t name = pawl_hemlock_name_(&l->queue);

	/* Relaxed: a hint is true whenever it is seen (I3). */
	if (pawl_load_relaxed(grant) != pawl_hemlock_oh1_hint_(l) &&
	    pawl_hemlock_leave_if_last_(&l->queue, grant))
		return;
	pawl_store_release(grant, name); /* [R] I2 */
	pawl_notify(grant, name, how);
	pawl_await_ne_rmw_acquire(grant, name, how); /* [E] I4 */
}

PAWL_FACE(hemlock_oh1);
PAWL_FACE_TRY(hemlock_oh1);

#endif /* PAWL_HEMLOCK_OH1_H */
