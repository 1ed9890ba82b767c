/* SPDX-License-Identifier: MIT */
/*
 * pawl/cna.h - queue lock in one word that stays on a NUMA node for a while.
 *
 * Choose it  for a hot lock on a machine with several sockets: lock and data
 *            then seldom travel between them. It fits wherever mcs.h does.
 * Avoid it   when threads may outnumber CPUs; or for strict arrival order.
 * Source     Dice & Kogan, "Compact NUMA-aware Locks", EuroSys 2019.
 * Departs    from it: a count, not a coin, ends a node's turn, so that nobody
 *            waits for longer than I4 says; what a holder hands on is in fields
 *            of its own, not in the word that is waited for.
 * Cost       lock 1 RMW, unlock 1 RMW; 16 bytes (core 8), 0 = free; one node
 *            of 128 bytes for each lock held or waited for. With one NUMA node it
 *            is mcs and two stores.
 *
 * State: the queue of mcs.h, and of its holder H a second one, H.aside, of those
 * that were passed over; its first node knows its last.
 *
 *   H -> b -> c -> a, aside  -      (small letters wait; a is on the node of H)
 *        unlock by H: a -> ..., aside b -> c         a is on this node
 *        unlock by a: b -> c -> ..., aside  -        the turn is over, or nobody
 *                                                    else of this node waits
 *
 *   I1  tail is the last node of the queue, 0 if nobody holds or waits. Who is
 *       aside is not in the queue, and cannot be reached from tail.
 *   I2  Links of nodes before the tail, aside, last and streak are the holder's
 *       alone; a waiter writes its home and the link behind it, once.
 *   I3  Who is aside came before all that are in the queue, and among each other
 *       they keep their order: the eldest waiter is the first aside or, if
 *       nobody is, the first in the queue.
 *   I4  streak counts hand-overs since the eldest waiter's turn, and is
 *       PAWL_NUMA_STREAK at most. So the eldest is overtaken that often at most.
 *
 * Order      [A] pairs with [R]: a section happens before the next one, and what
 *            its holder handed on is there. [T] pairs with itself and with [F]: it
 *            publishes the cleared node to the successor, and takes over from the
 *            unlock that emptied the queue, or made it those that were aside: who
 *            comes behind the last of them links itself after that link was cleared.
 *            [N] pairs with [L]: a holder that finds a waiter also finds its home,
 *            and its link cleared.
 * Lifetime   [F], or else [R], is unlock's last access to what it does not own: [F]
 *            to *l, [R] to the node of a thread that waits.
 * Checked    tests/locks/cna.c; pawl check cna, with two nodes; mutants A, R, T, F,
 *            N, L, I2, I3, I4.
 */
#ifndef PAWL_CNA_H
#define PAWL_CNA_H

#include <pawl/face.h>
#include <pawl/runtime.h>

struct pawl_cna_core {
	pawl_atomic64 tail; /* struct pawl_node * (I1) */
};

struct pawl_cna_context {
	struct pawl_node *node;
};

#define PAWL_CNA_INIT PAWL_ZERO

/* The lock was free: nobody is aside, and where we are nobody has asked yet. */
static inline void pawl_cna_begin_(struct pawl_node *node)
{
	node->aside = NULL;
	node->streak = 0;
	node->home = PAWL_NO_HOME;
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_cna_acquire_(struct pawl_cna_core *l,
				     struct pawl_cna_context *context, enum pawl_wait how)
{
	struct pawl_node *node = pawl_node_get_(), *ahead;

	context->node = node;
	pawl_store_relaxed(&node->next, 0);  /* Relaxed: published by [T], [L] */
	pawl_store_relaxed(&node->ready, 0); /* Relaxed: published by [L] */
	ahead = (struct pawl_node *)pawl_pointer(
		pawl_exchange_acq_rel(&l->tail, pawl_address(node))); /* [T] */
	if (__builtin_expect(ahead == NULL, true)) {
		pawl_cna_begin_(node);
		return;
	}
	node->home = pawl_node_home_(node);
	pawl_store_release(&ahead->next, pawl_address(node)); /* [L] */
	pawl_notify(&ahead->next, pawl_address(node), how);
	pawl_await_ne_acquire(&node->ready, 0, how); /* [A] */
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_cna_try_acquire_(struct pawl_cna_core *l,
					 struct pawl_cna_context *context)
{
	struct pawl_node *node = pawl_node_get_();

	pawl_store_relaxed(&node->next, 0); /* Relaxed: published by [T] */
	if (pawl_cas_acq_rel(&l->tail, 0, pawl_address(node))) { /* [T] */
		pawl_cna_begin_(node);
		context->node = node;
		return true;
	}
	pawl_node_put_(node);
	return false;
}

/*
 * The first waiter of the holder's NUMA node, NULL if none is known. Those before it,
 * from `first` on, go aside, behind those that are there (I3).
 */
static inline struct pawl_node *pawl_cna_neighbour_(struct pawl_node *node,
						    struct pawl_node *first)
{
	uint32_t home = node->home != PAWL_NO_HOME ? node->home : pawl_node_home_(node);
	struct pawl_node *last = first, *at = first;

	while (at->home != home) {
		last = at;
		at = (struct pawl_node *)pawl_pointer(
			pawl_load_acquire(&at->next)); /* [N] */
		if (at == NULL)
			return NULL;
	}
	if (at == first)
		return at;
	/* Relaxed: links that are ours (I2) until [R] hands them on, or [F] lets somebody
	 * come behind the last one. */
	pawl_store_relaxed(&last->next, 0);
	if (node->aside == NULL)
		node->aside = first;
	else /* Relaxed: likewise */
		pawl_store_relaxed(&node->aside->last->next, pawl_address(first));
	node->aside->last = last;
	return at;
}

/* What goes to a waiter with the lock. */
static inline struct pawl_node *pawl_cna_give_(struct pawl_node *to,
					       struct pawl_node *aside, uint32_t streak)
{
	to->aside = aside;
	to->streak = streak;
	return to;
}

/* Who comes next; NULL if nobody waits, and *l is free. */
static inline struct pawl_node *pawl_cna_next_(struct pawl_cna_core *l,
					       struct pawl_node *node, enum pawl_wait how)
{
	struct pawl_node *aside = node->aside, *behind, *near;
	uint64_t next = pawl_load_acquire(&node->next); /* [N] */

	if (__builtin_expect(next == 0, true)) {
		uint64_t rest = aside == NULL ? 0 : pawl_address(aside->last);

		if (pawl_cas_release(&l->tail, pawl_address(node), rest)) /* [F] */
			return aside == NULL ? NULL : pawl_cna_give_(aside, NULL, 0);
		next = pawl_await_ne_acquire(&node->next, 0, how); /* [N] as in mcs.h */
	}
	behind = (struct pawl_node *)pawl_pointer(next);
	if (node->streak < PAWL_NUMA_STREAK) { /* I4 */
		near = pawl_cna_neighbour_(node, behind);
		/* If nobody is aside, it is the eldest that comes. */
		if (near != NULL)
			return pawl_cna_give_(near, node->aside,
					      node->aside == NULL ? 0 : node->streak + 1);
	}
	if (aside == NULL)
		return pawl_cna_give_(behind, NULL, 0);
	pawl_store_relaxed(&aside->last->next, next); /* Relaxed: ours (I2) */
	return pawl_cna_give_(aside, NULL, 0);	      /* I3 */
}

/* Requires the context of the acquire that holds *l; any thread may call. */
static inline void pawl_cna_release_(struct pawl_cna_core *l,
				     struct pawl_cna_context *context, enum pawl_wait how)
{
	struct pawl_node *behind = pawl_cna_next_(l, context->node, how);

	if (__builtin_expect(behind != NULL, false)) {
		pawl_store_release(&behind->ready, 1); /* [R] */
		pawl_notify(&behind->ready, 1, how);
	}
	pawl_node_put_(context->node);
}

PAWL_FACE_CONTEXT(cna);
PAWL_FACE_CONTEXT_TRY(cna);

#endif /* PAWL_CNA_H */
