/* SPDX-License-Identifier: MIT */
/*
 * pawl/hapax.h - FIFO lock of values that never recur; waiters are invisible.
 *
 * Choose it  for strict arrival order, a short unlock that never waits, no
 *            queue nodes, and release from another thread (with the context).
 * Avoid it   when threads may outnumber CPUs; hapax_vw.h hands over with less
 *            traffic when contention is the rule.
 * Source     Dice & Kogan, "Hapax Locks", PPoPP 2026, listing 2.
 * Departs    from it: a waiter looks at depart from time to time even if its
 *            slot does not change, which closes the hole described under I4.
 *            Unlock does not skip the slot store when nobody seems to wait:
 *            finding that out would touch the lock after its release.
 * Cost       lock 1 RMW, unlock 0 RMW; 24 bytes (core 16), 0 = free. The
 *            array has 4096 slots for all locks of the process.
 *
 * State (arrive, depart) and slot[hash(lock, value)]; unlocked iff equal (H2):
 *
 *   (x, x) --lock--> (a, x) --lock--> (b, x) --unlock--> (b, a), slot(a) = a
 *
 *   I1  A thread owns the lock once depart is what its exchange returned.
 *   I2  Only the holder writes depart; the slot is written after it.
 *   I3  A waiter that sees its predecessor's value in the slot owns the lock:
 *       the value stands for this lock, that thread and that episode (H1).
 *   I4  A slot is a hint and may be overwritten by another lock's before the
 *       waiter looks. What it then reads orders it after the other unlock, not
 *       after its own predecessor's, so C11 lets the re-read of depart be
 *       stale, and the slot need never change again. Hence a waiter may rest
 *       on a hint only for a bounded time.
 *
 * Order      [A] pairs with [R], or [B] with [S]: a section happens before the
 *            next one. [B] also keeps the waiter's looks at slot and depart in
 *            that order, so that a slot store it did not see is yet to come.
 * Lifetime   [R] is unlock's last access to *l: from then on its address is
 *            only hashed. The array is never freed.
 * Checked    tests/locks/hapax.c; pawl check hapax; mutants A, R, B, S, I2, I4.
 */
#ifndef PAWL_HAPAX_H
#define PAWL_HAPAX_H

#include <pawl/face.h>
#include <pawl/hapax_value.h>

#define PAWL_HAPAX_INIT PAWL_ZERO

/* Waits until `ahead` has departed. */
static inline void pawl_hapax_wait(struct pawl_hapax_core *l, uint64_t ahead,
				   enum pawl_wait how)
{
	pawl_atomic64 *slot = &pawl_hapax_slots[pawl_hapax_index(l, ahead)];
	uint64_t seen = pawl_load_acquire(slot); /* [B] */

	while (seen != ahead &&					   /* I3 */
	       pawl_load_acquire(&l->depart) != ahead)		   /* [A] I1 */
		seen = pawl_await_change_acquire(slot, seen, how); /* [B] I4 */
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_hapax_acquire(struct pawl_hapax_core *l,
				      struct pawl_hapax_context *context,
				      enum pawl_wait how)
{
	uint64_t mine = pawl_hapax_draw();
	/* Relaxed: only says whom to wait for; [A] or [B] does the ordering. */
	uint64_t ahead = pawl_exchange_relaxed(&l->arrive, mine);

	if (__builtin_expect(pawl_load_acquire(&l->depart) != ahead, false)) /* [A] */
		pawl_hapax_wait(l, ahead, how);
	context->hapax = mine;
}

/* Tells whoever waits for `mine` that it has departed. Uses l's address alone:
 * the lock may be gone. */
static inline void pawl_hapax_announce(const struct pawl_hapax_core *l, uint64_t mine,
				       enum pawl_wait how)
{
	pawl_atomic64 *slot = &pawl_hapax_slots[pawl_hapax_index(l, mine)];

	pawl_store_release(slot, mine); /* [S] I2 */
	pawl_notify(slot, mine, how);
}

/* Requires the context of the acquire that holds *l; any thread may call. */
static inline void pawl_hapax_release(struct pawl_hapax_core *l,
				      struct pawl_hapax_context *context,
				      enum pawl_wait how)
{
	uint64_t mine = context->hapax;

	pawl_store_release(&l->depart, mine); /* [R] I2 */
	pawl_hapax_announce(l, mine, how);
}

PAWL_FACE_CONTEXT(hapax);
PAWL_FACE_CONTEXT_TRY(hapax);

#endif /* PAWL_HAPAX_H */
