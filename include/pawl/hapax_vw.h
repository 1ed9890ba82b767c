/* SPDX-License-Identifier: MIT */
/*
 * pawl/hapax_vw.h - hapax lock whose waiters are visible to the holder.
 *
 * Choose it  for strict arrival order under steady contention: a hand-over
 *            touches the slot alone, not the lock.
 * Avoid it   uncontended on a hot path (unlock pays two read-modify-writes;
 *            hapax.h none) and when threads may outnumber CPUs.
 * Source     Dice & Kogan, "Hapax Locks", PPoPP 2026, section 4, listing 3, and
 *            appendix F.
 * Departs    from it: unlock's second attempt loads the slot before it tries
 *            to clear it. The first does not: the load would cost a second
 *            miss on the hand-over path (docs/simulation.md).
 * Cost       lock 1 RMW, unlock 2 RMW; 24 bytes (core 16), 0 = free. The
 *            array has 4096 slots for all locks of the process.
 *
 * State (arrive, depart) and slot[hash(lock, value)]: 0 or the value whose
 * departure a waiter awaits there. Unlocked iff arrive == depart (H2). A waiter
 * waits in two stages, visible in its slot and then as those of hapax.h do:
 *
 *   slot is 0 ----> visible --- handed over ---> owns
 *   slot is taken -----.  `--- for too long: vacates the slot
 *                      `-------> invisible --- departed ---> owns
 *
 *   I1  A waiter owns its slot from its compare-and-swap 0 -> ahead until
 *       ahead's unlock, or the waiter itself, changes it; no other thread does.
 *   I2  A waiter whose slot was changed by another thread owns the lock: a
 *       value never recurs (H1), so ahead's unlock has cleared it.
 *   I3  Unlock stores depart, and announces it to invisible waiters, unless it
 *       cleared the slot itself.
 *   I4  Of a waiter (slot, then depart) and unlock (depart, then slot) at
 *       least one sees the other. Hence no waiter waits for a hand-over that
 *       the unlock did not make.
 *
 * Order      [A] pairs with [R], or [B] with [S], or hapax.h's own: a section
 *            happens before the next one. [W1] [W2] and [U1] [U2] are the four
 *            accesses of I4; all four must be sequentially consistent, an
 *            acq_rel fence between them would not do. Slots are changed by
 *            compare-and-swap alone, so [B] meets [S] whatever changes came in
 *            between.
 * Lifetime   [U1], which is also [R], is unlock's last access to *l: from then
 *            on its address is only hashed. The arrays are never freed.
 * Checked    tests/locks/hapax_vw.c; pawl check hapax-vw; mutants A, B, S, W1,
 *            W2, U1, U2, I1, I3, I4.
 */
#ifndef PAWL_HAPAX_VW_H
#define PAWL_HAPAX_VW_H

#include <pawl/hapax.h>

struct pawl_hapax_vw_core {
	struct pawl_hapax_core body;
};

struct pawl_hapax_vw_context {
	struct pawl_hapax_context episode;
};

#define PAWL_HAPAX_VW_INIT PAWL_ZERO

/* Where the successor of `hapax` waits. */
static inline pawl_atomic64 *pawl_hapax_vw_slot_(const struct pawl_hapax_core *l,
						 uint64_t hapax)
{
	pawl_atomic64 *slots;

	pawl_raw_find(pawl_hapax_vw_slots_, slots);
	return &slots[pawl_hapax_index_(l, hapax)];
}

/* Waits until `ahead` has departed, or has handed the lock to us. */
static inline void pawl_hapax_vw_wait_(struct pawl_hapax_core *l, uint64_t ahead,
				       enum pawl_wait how)
{
	pawl_atomic64 *slot = pawl_hapax_vw_slot_(l, ahead);

	if (pawl_cas_seq_cst(slot, 0, ahead)) {		      /* [W1] I1 */
		if (pawl_load_seq_cst(&l->depart) == ahead) { /* [W2] [A] I4 */
			/* Relaxed: vacates the slot unless unlock did; [W2]
			 * ordered us. */
			pawl_cas_relaxed(slot, ahead, 0);
			return;
		}
		if (pawl_await_briefly_acquire(slot, ahead, how) != ahead) /* [B] I2 */
			return;
		/* After so long a wait the lock is not busy: leave the slot to
		 * waiters of other locks. Relaxed: we do not own the lock, so there
		 * is nothing to order. */
		if (!pawl_cas_relaxed(slot, ahead, 0)) {
			pawl_load_acquire(slot); /* [B] I2: handed over just now */
			return;
		}
	}
	pawl_hapax_wait_(l, ahead, how);
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_hapax_vw_acquire_(struct pawl_hapax_vw_core *l,
					  struct pawl_hapax_vw_context *context,
					  enum pawl_wait how)
{
	uint64_t mine = pawl_hapax_draw();
	/* Relaxed: only names the predecessor; [A] or [B] does the ordering. */
	uint64_t ahead = pawl_exchange_relaxed(&l->body.arrive, mine);

	if (__builtin_expect(pawl_load_acquire(&l->body.depart) != ahead,
			     false)) /* [A] */
		pawl_hapax_vw_wait_(&l->body, ahead, how);
	context->episode.hapax = mine;
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_hapax_vw_try_acquire_(struct pawl_hapax_vw_core *l,
					      struct pawl_hapax_vw_context *context)
{
	return pawl_hapax_try_acquire_(&l->body, &context->episode);
}

/* Requires the context of the acquire that holds *l; any thread may call. */
static inline void pawl_hapax_vw_release_(struct pawl_hapax_vw_core *l,
					  struct pawl_hapax_vw_context *context,
					  enum pawl_wait how)
{
	uint64_t mine = context->episode.hapax;
	pawl_atomic64 *slot = pawl_hapax_vw_slot_(&l->body, mine);

	if (pawl_cas_release(slot, mine, 0)) { /* [S] I1 */
		pawl_notify(slot, 0, how);
		return;
	}
	pawl_store_seq_cst(&l->body.depart, mine); /* [U1] [R] I3 */
	pawl_hapax_post_(&l->body, mine, mine, how);
	/* A waiter that was late for [S] and early for [U1] is let in here. */
	if (pawl_load_seq_cst(slot) == mine && /* [U2] I4 */
	    pawl_cas_release(slot, mine, 0))   /* [S] */
		pawl_notify(slot, 0, how);
}

PAWL_FACE_CONTEXT(hapax_vw);
PAWL_FACE_CONTEXT_TRY(hapax_vw);

#endif /* PAWL_HAPAX_VW_H */
