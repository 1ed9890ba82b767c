/* SPDX-License-Identifier: MIT */
/*
 * pawl/ticket.h - first-come first-served spin lock in two 64-bit counters.
 *
 * Choose it  for short sections, strict arrival order, threads <= CPUs.
 * Avoid it   when threads may outnumber CPUs: a preempted waiter stalls all
 *            those behind it; or with many waiters: all of them poll one word
 *            (twa.h).
 * Source     Mellor-Crummey & Scott, ACM TOCS 9(1), 1991, section 2.2.
 * Departs    from it: no proportional back-off; trylock added, which is sound
 *            because 64-bit counters do not wrap (Hapax paper, footnote 7).
 * Cost       lock 1 RMW, unlock 0 RMW; 16 bytes, 0 = free.
 *
 * State (next, serving), which never wrap; a thread's ticket is the next it
 * took:
 *
 *            lock              unlock
 *    (n, n) -----> (n+1, n) ------------> (n+1, n+1)   free / held / free
 *                     | lock     unlock
 *                     `----> (n+2, n) --> (n+2, n+1)   one waits / handed over
 *
 *   I1  next - serving = holders + waiters; both only ever grow.
 *   I2  Tickets are distinct; the thread whose ticket == serving is the holder.
 *   I3  Only the holder writes serving, so unlock needs no read-modify-write.
 *
 * Order      [A] pairs with [R]: the critical section of ticket n happens
 *            before that of ticket n+1. Nothing else here orders anything.
 * Lifetime   [R] is unlock's last access: the next holder may free *l.
 * Checked    tests/locks/ticket.c; pawl check ticket; mutants A, R, I2, I3.
 */
#ifndef PAWL_TICKET_H
#define PAWL_TICKET_H

#include <pawl/face.h>

struct PAWL_CAPABILITY pawl_ticket {
	pawl_atomic64 next;    /* ticket the next arrival will take */
	pawl_atomic64 serving; /* ticket that may enter; holder writes (I3) */
};

#define PAWL_TICKET_INIT PAWL_ZERO

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_ticket_acquire_(struct pawl_ticket *l, enum pawl_wait how)
{
	/* Relaxed: a ticket need only be unique (I2); [A] does the ordering. */
	uint64_t mine = pawl_fetch_add_relaxed(&l->next, 1);

	pawl_await_eq_acquire(&l->serving, mine, how); /* [A] I2 */
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_ticket_try_acquire_(struct pawl_ticket *l)
{
	uint64_t turn = pawl_load_acquire(&l->serving); /* [A] */

	/*
	 * Relaxed: success proves next == turn; serving lies between turn (it
	 * never goes back) and next (I1), so the lock was free, as [A] saw it.
	 */
	return pawl_cas_relaxed(&l->next, turn, turn + 1);
}

/* Requires *l to be held; any thread may release it. */
static inline void pawl_ticket_release_(struct pawl_ticket *l, enum pawl_wait how)
{
	uint64_t turn = pawl_load_relaxed(&l->serving); /* Relaxed: ours (I3) */

	pawl_store_release(&l->serving, turn + 1); /* [R] I3 */
	pawl_notify(&l->serving, turn + 1, how);
}

PAWL_FACE(ticket);
PAWL_FACE_TRY(ticket);

#endif /* PAWL_TICKET_H */
