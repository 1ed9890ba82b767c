/* SPDX-License-Identifier: MIT */
/*
 * pawl/tidex.h - FIFO lock in which threads swap identities.
 *
 * Choose it  to study what hapax.h is built on: a ticket lock with exchange
 *            in place of fetch-and-add.
 * Avoid it   otherwise: all waiters poll one word, and there is no trylock.
 * Source     Ramalhete & Correia, PPoPP 2016; in the form of Dice & Kogan,
 *            "Hapax Locks", PPoPP 2026, listing 1.
 * Departs    from it: nothing. A trylock is absent, not faked: identities
 *            recur, so a compare-and-swap on arrive can succeed although the
 *            lock was taken and left in between (Hapax paper, appendix A).
 * Cost       lock 1 RMW, unlock 0 RMW; 24 bytes (core 16), 0 = free.
 *
 * State (arrive, depart): identities of the last to arrive and the last to
 * leave; unlocked iff equal.
 *
 *   (x, x) --lock by a--> (a, x) --lock by b--> (b, x) --unlock--> (b, a)
 *
 *   I1  A thread's identity is one of two addresses in its own storage.
 *   I2  The identity it arrives with is not the one in depart: else its
 *       successor would see it gone before it left.
 *   I3  Only the holder writes depart; before it does, depart is what the
 *       holder's exchange returned.
 *
 * Order      [A] pairs with [R]: a section happens before the next one. [X]
 *            pairs with itself: identities recur, so a thread that finds a ahead
 *            must also have seen a's previous departure overwritten; a stale a
 *            in depart would let it in.
 * Lifetime   [R] is unlock's last access: the next holder may free *l.
 * Checked    tests/locks/tidex.c; pawl check tidex; mutants A, R, X, I2.
 */
#ifndef PAWL_TIDEX_H
#define PAWL_TIDEX_H

#include <pawl/face.h>
#include <pawl/thread.h>

struct pawl_tidex_core {
	pawl_atomic64 arrive;
	pawl_atomic64 depart;
};

struct pawl_tidex_context {
	uint64_t identity;
};

#define PAWL_TIDEX_INIT PAWL_ZERO

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_tidex_acquire_(struct pawl_tidex_core *l,
				       struct pawl_tidex_context *context,
				       enum pawl_wait how)
{
	uint64_t mine = pawl_address(&pawl_self()->identity[0]);
	uint64_t ahead;

	/* Relaxed: only we ever store mine there, and we see our own stores. */
	if (pawl_load_relaxed(&l->depart) == mine)
		mine = pawl_address(&pawl_self()->identity[1]); /* I2 */
	ahead = pawl_exchange_acq_rel(&l->arrive, mine);	/* [X] */
	pawl_await_eq_acquire(&l->depart, ahead, how);		/* [A] */
	context->identity = mine;
}

/* Requires the acquirer's context; only the thread that acquired may call. */
static inline void pawl_tidex_release_(struct pawl_tidex_core *l,
				       struct pawl_tidex_context *context,
				       enum pawl_wait how)
{
	pawl_store_release(&l->depart, context->identity); /* [R] I3 */
	pawl_notify(&l->depart, context->identity, how);
}

PAWL_FACE_CONTEXT(tidex);

#endif /* PAWL_TIDEX_H */
