/* SPDX-License-Identifier: MIT */
/*
 * pawl/hemlock_chain.h - hemlock whose waiters hang on a chain at their
 * predecessor and poll words of their own.
 *
 * Choose it  instead of hemlock where one thread holds several contended
 *            locks: every waiter still polls locally.
 * Avoid it   otherwise: lock pays a second read-modify-write when it waits,
 *            and unlock walks the chain of all threads that wait for this one.
 * Source     Dice & Kogan, "Hemlock", SPAA 2021 (extended), appendix C.
 * Departs    from it: the paper gives prose only. Elements that did not match
 *            are put back in one push; unlock then waits for the chain to
 *            change before it looks again.
 * Cost       lock 1 RMW, unlock 1 RMW; 8 bytes, 0 = free. Waiting elements
 *            live on the waiters' stacks.
 *
 * State (tail; chain of each thread): tail is the chain word of the last to
 * arrive. A chain holds the immediate successors of its owner, one for each
 * lock at most, that have arrived and not been let in.
 *
 *   I1  tail is 0 if no thread holds or waits.
 *   I2  A thread that finds a predecessor pushes an element on the predecessor's
 *       chain, so an owner that is not last will find it: unlock's search ends.
 *   I3  Only the owner takes elements off its chain, all at once; others only
 *       push. Hence a push has no ABA problem.
 *   I4  An element is alive until its ready is stored.
 *
 * Order      [A] pairs with [R]: a section happens before the next one. [T]
 *            and [F] as in hemlock.h. [D] pairs with [P]: an owner that takes
 *            elements off its chain sees what was written to them, by their
 *            waiters or by itself when it put them back.
 * Lifetime   [F] is unlock's last access to *l; [R] its last access to the
 *            successor's element, and [P] lock's to its predecessor's chain.
 * Checked    tests/locks/hemlock_chain.c; pawl check hemlock-chain; mutants A,
 *            R, P, D, I2.
 */
#ifndef PAWL_HEMLOCK_CHAIN_H
#define PAWL_HEMLOCK_CHAIN_H

#include <pawl/hemlock.h>

struct PAWL_CAPABILITY pawl_hemlock_chain {
	struct pawl_hemlock queue;
};

#define PAWL_HEMLOCK_CHAIN_INIT PAWL_ZERO

struct pawl_chain_element {
	PAWL_SEQUESTER pawl_atomic64 ready;
	struct pawl_chain_element *next;
	uint64_t name; /* of the lock that this element waits for */
};

/* Pushes the caller's list first..last onto a chain; returns the previous top. */
static inline uint64_t pawl_chain_push_(pawl_atomic64 *chain,
					struct pawl_chain_element *first,
					struct pawl_chain_element *last,
					enum pawl_wait how)
{
	uint64_t top;

	do {
		/* Relaxed: [P] fails if it is stale; it is not dereferenced here. */
		top = pawl_load_relaxed(chain);
		last->next = (struct pawl_chain_element *)pawl_pointer(top);
	} while (!pawl_cas_release(chain, top, pawl_address(first))); /* [P] I3 */
	pawl_notify(chain, pawl_address(first), how);
	return top;
}

/*
 * Removes from our own chain, and returns, the element that waits for `name`;
 * it is there or on its way (I2).
 */
static inline struct pawl_chain_element *pawl_chain_take_(pawl_atomic64 *chain,
							  uint64_t name,
							  enum pawl_wait how)
{
	uint64_t seen = 0;

	for (;;) {
		struct pawl_chain_element *first, *last = NULL, *e;
		struct pawl_chain_element *found = NULL;
		struct pawl_chain_element **link = &first;

		pawl_await_ne_relaxed(chain, seen, how); /* Relaxed: [D] orders */
		first = (struct pawl_chain_element *)pawl_pointer(
			pawl_exchange_acquire(chain, 0)); /* [D] I3 */
		for (e = first; e != NULL; e = *link) {
			if (e->name == name) {
				found = e;
				*link = e->next;
			} else {
				last = e;
				link = &e->next;
			}
		}
		/* If the chain was empty, wait until it differs from what was put
		 * back. If arrivals were there, they are now below it: search
		 * again at once. */
		if (last == NULL || pawl_chain_push_(chain, first, last, how) != 0)
			seen = 0;
		else
			seen = pawl_address(first);
		if (found != NULL)
			return found;
	}
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_hemlock_chain_acquire_(struct pawl_hemlock_chain *l,
					       enum pawl_wait how)
{
	pawl_atomic64 *ahead = pawl_hemlock_enter_(&l->queue, &pawl_self()->chain);

	if (__builtin_expect(ahead != NULL, false)) {
		struct pawl_chain_element me = {
			PAWL_ZERO,
			NULL,
			pawl_hemlock_name_(&l->queue),
		};

		pawl_chain_push_(ahead, &me, &me, how);
		pawl_await_ne_acquire(&me.ready, 0, how); /* [A] I4 */
	}
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_hemlock_chain_try_acquire_(struct pawl_hemlock_chain *l)
{
	return pawl_hemlock_enter_if_empty_(&l->queue, &pawl_self()->chain);
}

/* Requires the caller to own *l. */
static inline void pawl_hemlock_chain_release_(struct pawl_hemlock_chain *l,
					       enum pawl_wait how)
{
	pawl_atomic64 *chain = &pawl_self()->chain;
	struct pawl_chain_element *next;

	if (__builtin_expect(pawl_hemlock_leave_if_last_(&l->queue, chain), true))
		return;
	next = pawl_chain_take_(chain, pawl_hemlock_name_(&l->queue), how);
	pawl_store_release(&next->ready, 1); /* [R] I4 */
	pawl_notify(&next->ready, 1, how);
}

PAWL_FACE(hemlock_chain);
PAWL_FACE_TRY(hemlock_chain);

#endif /* PAWL_HEMLOCK_CHAIN_H */
