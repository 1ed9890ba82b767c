/* SPDX-License-Identifier: MIT */
/*
 * pawl/clh.h - queue lock: every waiter polls its predecessor's node.
 *
 * Choose it  for strict arrival order and an unlock that never waits.
 * Avoid it   where locks are not destroyed explicitly: an unlocked lock keeps
 *            a node; and where threads may outnumber CPUs.
 * Source     Craig 1993; Magnusson, Landin, Hagersten 1994; in the form of
 *            Scott, "Shared-Memory Synchronization", figure 4.14.
 * Departs    from it: no dummy node is made in advance, an all-zero lock is
 *            unlocked and its first acquirer has no predecessor. What remains
 *            of the dummy is the last node, which pawl_clh_destroy frees.
 * Cost       lock 1 RMW, unlock 0 RMW; 24 bytes (core 8), 0 = free; one node
 *            of 128 bytes for each lock used and each lock held.
 *
 * State (tail; node: ready):
 *
 *   0 --lock--> N, N.ready = 0 --unlock--> N, N.ready = 1 --lock by M--> M
 *
 *   I1  tail is the node of the last arrival, 0 before the first one.
 *   I2  A node's ready is stored 1 once an episode, by its holder's unlock.
 *   I3  After that store the node belongs to the successor, which keeps it in
 *       place of its own: nodes circulate.
 *
 * Order      [A] pairs with [R]: a section happens before the next one. [T]
 *            pairs with itself: it publishes the cleared node.
 * Lifetime   [R] is unlock's last access to its node, and it does not touch
 *            *l at all: the next holder may destroy and free it.
 * Checked    tests/locks/clh.c; pawl check clh; mutants A, R, T, I3.
 */
#ifndef PAWL_CLH_H
#define PAWL_CLH_H

#include <pawl/face.h>
#include <pawl/runtime.h>

struct pawl_clh_core {
	pawl_atomic64 tail; /* struct pawl_node * (I1) */
};

struct pawl_clh_context {
	struct pawl_node *mine;	 /* becomes the successor's */
	struct pawl_node *ahead; /* becomes ours; NULL for the first */
};

#define PAWL_CLH_INIT PAWL_ZERO

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_clh_acquire_(struct pawl_clh_core *l,
				     struct pawl_clh_context *context, enum pawl_wait how)
{
	struct pawl_node *mine = pawl_node_get_();
	struct pawl_node *ahead;

	pawl_store_relaxed(&mine->ready, 0); /* Relaxed: published by [T] */
	ahead = (struct pawl_node *)pawl_pointer(
		pawl_exchange_acq_rel(&l->tail, pawl_address(mine))); /* [T] */
	if (__builtin_expect(ahead != NULL, true))
		pawl_await_ne_acquire(&ahead->ready, 0, how); /* [A] */
	context->mine = mine;
	context->ahead = ahead;
}

/* Requires the context of the acquire that holds *l; any thread may call. */
static inline void pawl_clh_release_(struct pawl_clh_core *l,
				     struct pawl_clh_context *context, enum pawl_wait how)
{
	(void)l;
	pawl_store_release(&context->mine->ready, 1); /* [R] I2 */
	pawl_notify(&context->mine->ready, 1, how);
	/* After [R]: the write misses in the cache, and need not delay the hand-over. */
	if (__builtin_expect(context->ahead != NULL, true))
		pawl_node_put_(context->ahead); /* I3 */
}

PAWL_FACE_CONTEXT(clh);

/* Frees the node that an unlocked lock keeps; *l may then be freed or used again. */
static inline void pawl_clh_destroy(struct pawl_clh *l)
{
	/* Relaxed: no other thread uses *l any more, and the caller saw it unlocked. */
	uint64_t last = pawl_load_relaxed(&l->core.tail);

	if (last != 0)
		pawl_node_free_((struct pawl_node *)pawl_pointer(last));
	pawl_store_relaxed(&l->core.tail, 0); /* Relaxed: as above */
}

/* As pawl_clh_destroy, of a lock whose waiters sleep. */
static inline void pawl_clh_park_destroy(struct pawl_clh_park *l)
{
	pawl_clh_destroy(&l->lock);
}

#endif /* PAWL_CLH_H */
