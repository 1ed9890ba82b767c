/* SPDX-License-Identifier: MIT */
/*
 * pawl/mcs.h - queue lock: every waiter polls its own node.
 *
 * Choose it  for strict arrival order with many waiters, threads <= CPUs.
 * Avoid it   when threads may outnumber CPUs; or where a node for each lock
 *            held is too much (hapax.h, reciprocating.h need none).
 * Source     Mellor-Crummey & Scott, ACM TOCS 9(1), 1991, section 2.4.
 * Departs    from it: nodes come from a list that each thread keeps (Hemlock
 *            paper, section 5.1); a caller that supplies its own node uses
 *            pawl_mcs_acquire_node_ and pawl_mcs_release_node_.
 * Cost       lock 1 RMW, unlock 1 RMW; 16 bytes (core 8), 0 = free; one node
 *            of 128 bytes for each lock held or waited for.
 *
 * State (tail; node: next, ready):
 *
 *   0 --lock--> N --lock by M--> M, N.next = M --unlock by N--> M, M.ready = 1
 *   N --unlock--> 0
 *
 *   I1  tail is the last node of the queue, 0 if no thread holds or waits.
 *   I2  A node is in one queue at most, from its exchange until its holder
 *       has stored ready in the next node or set tail back to 0.
 *   I3  A holder whose node is not the tail has a successor that will link
 *       itself, so unlock's wait for the link ends.
 *
 * Order      [A] pairs with [R]: a section happens before the next one. [T]
 *            pairs with itself and with [F]: it publishes the cleared node to
 *            the successor, and takes over from the unlock [F] that emptied
 *            the queue. [N] pairs with [L]: a holder that finds its successor
 *            also finds that node cleared.
 * Lifetime   [F], or else [R], is unlock's last access to what it does not
 *            own: [F] to *l, [R] to the successor's node.
 * Checked    tests/locks/mcs.c; pawl check mcs; mutants A, R, T, F, N, L, I3.
 */
#ifndef PAWL_MCS_H
#define PAWL_MCS_H

#include <pawl/face.h>
#include <pawl/runtime.h>

struct pawl_mcs_core {
	pawl_atomic64 tail; /* struct pawl_node * (I1) */
};

struct pawl_mcs_context {
	struct pawl_node *node;
};

#define PAWL_MCS_INIT PAWL_ZERO

/* Waits its turn; *node is the lock's until the matching release returns. */
static inline void pawl_mcs_acquire_node_(struct pawl_mcs_core *l, struct pawl_node *node,
					  enum pawl_wait how)
{
	struct pawl_node *ahead;

	pawl_store_relaxed(&node->next, 0);  /* Relaxed: published by [T], [L] */
	pawl_store_relaxed(&node->ready, 0); /* Relaxed: published by [L] */
	ahead = (struct pawl_node *)pawl_pointer(
		pawl_exchange_acq_rel(&l->tail, pawl_address(node))); /* [T] */
	if (__builtin_expect(ahead == NULL, true))
		return;
	pawl_store_release(&ahead->next, pawl_address(node)); /* [L] */
	pawl_notify(&ahead->next, pawl_address(node), how);
	pawl_await_ne_acquire(&node->ready, 0, how); /* [A] */
}

/* Hands the lock to the successor; *node is the caller's again on return. */
static inline void pawl_mcs_release_node_(struct pawl_mcs_core *l, struct pawl_node *node,
					  enum pawl_wait how)
{
	uint64_t next = pawl_load_acquire(&node->next); /* [N] */
	struct pawl_node *behind;

	if (__builtin_expect(next == 0, true)) {
		if (pawl_cas_release(&l->tail, pawl_address(node), 0)) /* [F] */
			return;
		next = pawl_await_ne_acquire(&node->next, 0, how); /* [N] I3 */
	}
	behind = (struct pawl_node *)pawl_pointer(next);
	pawl_store_release(&behind->ready, 1); /* [R] */
	pawl_notify(&behind->ready, 1, how);
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_mcs_acquire_(struct pawl_mcs_core *l,
				     struct pawl_mcs_context *context, enum pawl_wait how)
{
	context->node = pawl_node_get_();
	pawl_mcs_acquire_node_(l, context->node, how);
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_mcs_try_acquire_(struct pawl_mcs_core *l,
					 struct pawl_mcs_context *context)
{
	struct pawl_node *node = pawl_node_get_();

	pawl_store_relaxed(&node->next, 0); /* Relaxed: published by [T] */
	if (pawl_cas_acq_rel(&l->tail, 0, pawl_address(node))) { /* [T] */
		context->node = node;
		return true;
	}
	pawl_node_put_(node);
	return false;
}

/* Requires the context of the acquire that holds *l; any thread may call. */
static inline void pawl_mcs_release_(struct pawl_mcs_core *l,
				     struct pawl_mcs_context *context, enum pawl_wait how)
{
	pawl_mcs_release_node_(l, context->node, how);
	pawl_node_put_(context->node);
}

PAWL_FACE_CONTEXT(mcs);
PAWL_FACE_CONTEXT_TRY(mcs);

#endif /* PAWL_MCS_H */
