/* SPDX-License-Identifier: MIT */
/*
 * pawl/twa.h - ticket lock whose far waiters wait in a shared array.
 *
 * Choose it  where a ticket lock would do but more than a few threads wait:
 *            only the next in line polls the lock itself.
 * Avoid it   when threads may outnumber CPUs; or uncontended on a hot path:
 *            unlock always pays a read-modify-write for the array.
 * Source     Dice & Kogan, "TWA - Ticket Locks Augmented with a Waiting Array",
 *            Euro-Par 2019, listing 1.1.
 * Departs    from it: 64-bit counters, and with them a sound trylock (Hapax
 *            paper, footnote 7).
 * Cost       lock 1 RMW, unlock 1 RMW; 16 bytes, 0 = free. The array has 4096
 *            slots for all locks of the process.
 *
 * State (next, serving) as in ticket.h, and slot[hash(lock, ticket)], a count
 * of hints: "serving came within NEAR of a ticket that hashes here".
 *
 *   I1  next - serving = holders + waiters; both only ever grow.
 *   I2  Tickets are distinct; the thread whose ticket == serving is the holder.
 *   I3  Only the holder writes serving.
 *   I4  When serving becomes n, the slot of ticket n + NEAR is bumped
 *       afterwards. A hint may come for nothing; it must never be missing.
 *   I5  A far waiter reads its slot before it reads serving, so a bump that
 *       it did not see is still to come.
 *
 * Order      [A] pairs with [R] as in ticket.h. [B] pairs with [S]: a waiter
 *            that saw the bump for n also sees serving >= n, so it does not
 *            sleep again on a stale serving. Bumps are read-modify-writes, hence a
 *            bump by another lock that shares the slot keeps the pairing.
 * Lifetime   [R] is unlock's last access to *l: from then on its address is
 *            only hashed. The array is never freed.
 * Checked    tests/locks/twa.c; pawl check twa; mutants A, R, S, B, I4, I5.
 */
#ifndef PAWL_TWA_H
#define PAWL_TWA_H

#include <pawl/face.h>
#include <pawl/runtime.h>

struct PAWL_CAPABILITY pawl_twa {
	pawl_atomic64 next;    /* ticket the next arrival will take */
	pawl_atomic64 serving; /* ticket that may enter; holder writes (I3) */
};

#define PAWL_TWA_INIT PAWL_ZERO

/* This close to the head a waiter polls the lock itself (section 2). */
enum { PAWL_TWA_NEAR = 1 };

/* 127 spreads neighbouring tickets over different lines (section 2). */
static inline pawl_atomic64 *pawl_twa_slot_(const struct pawl_twa *l, uint64_t ticket)
{
	uint64_t hash = (ticket * 127) ^ pawl_address(l);
	pawl_atomic64 *slots;

	pawl_raw_find(pawl_twa_slots_, slots);
	return &slots[hash & (PAWL_WAITING_SLOTS - 1)];
}

/* Waits until at most PAWL_TWA_NEAR threads are ahead of ticket `mine`. */
static inline void pawl_twa_wait_far_(struct pawl_twa *l, uint64_t mine,
				      enum pawl_wait how)
{
	pawl_atomic64 *slot = pawl_twa_slot_(l, mine);
	uint64_t hint = pawl_load_acquire(slot); /* [B] I5 */

	/* Relaxed: decides only where to wait; [A] does the ordering. */
	while (mine - pawl_load_relaxed(&l->serving) > PAWL_TWA_NEAR)
		/* Ends with the bump for `mine` (I4), if not before. Not an
		 * await_change: many waiters that wake up periodically would leave
		 * the holder no CPU, and by I5 they would find nothing. */
		hint = pawl_await_ne_acquire(slot, hint, how); /* [B] I5 */
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_twa_acquire_(struct pawl_twa *l, enum pawl_wait how)
{
	/* Relaxed: a ticket need only be unique (I2); [A] does the ordering. */
	uint64_t mine = pawl_fetch_add_relaxed(&l->next, 1);
	uint64_t turn = pawl_load_acquire(&l->serving); /* [A] */

	if (__builtin_expect(turn == mine, true))
		return;
	if (mine - turn > PAWL_TWA_NEAR)
		pawl_twa_wait_far_(l, mine, how);
	pawl_await_eq_acquire(&l->serving, mine, how); /* [A] I2 */
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_twa_try_acquire_(struct pawl_twa *l)
{
	uint64_t turn = pawl_load_acquire(&l->serving); /* [A] */

	/* Relaxed: success proves that the lock was free, as in ticket.h. */
	return pawl_cas_relaxed(&l->next, turn, turn + 1);
}

/* Requires *l to be held; any thread may release it. */
static inline void pawl_twa_release_(struct pawl_twa *l, enum pawl_wait how)
{
	/* Relaxed: ours alone to write (I3). */
	uint64_t turn = pawl_load_relaxed(&l->serving) + 1;
	pawl_atomic64 *slot = pawl_twa_slot_(l, turn + PAWL_TWA_NEAR);
	uint64_t hint;

	pawl_store_release(&l->serving, turn); /* [R] I3 */
	pawl_notify(&l->serving, turn, how);
	hint = pawl_fetch_add_release(slot, 1) + 1; /* [S] I4 */
	pawl_notify(slot, hint, how);
}

PAWL_FACE(twa);
PAWL_FACE_TRY(twa);

#endif /* PAWL_TWA_H */
