/* SPDX-License-Identifier: MIT */
/*
 * pawl/cohort.h - NUMA-aware lock: a global lock above one queue per last-level cache.
 *
 * Choose it  for a few very hot locks on a machine whose CPUs do not all share a cache:
 *            CPUs that share one (LLC) keep the lock for a while, and wait for each other
 *            only. With one cache for all it is hapax.h.
 * Avoid it   when threads may outnumber CPUs; or where four kilobytes for a lock are
 *            too much (cna.h needs 16 bytes).
 * Source     Dice, Marathe & Shavit, "Lock Cohorting", PPoPP 2012, with what the
 *            Hapax paper (Dice & Kogan, PPoPP 2026) says its locks are for: release
 *            by another thread than the one that acquired.
 * Departs    from it: a group is an LLC, not a NUMA node; a thread leaves the queue of
 *            its group before it releases the global lock, so that the next holder may
 *            free it; trylock goes straight to the global lock.
 * Cost       lock 2 RMW, unlock 1 RMW; 4240 bytes (core 4224), 0 = free; one node of 128
 *            bytes for each lock held or waited for. With one LLC 1 and 0 RMW.
 *
 * State: `all`, a hapax lock, and groups[LLC].tail, a queue as in mcs.h. The first thread
 * of a group's queue acquires `all`, and holds *l; unlock either passes both on
 *
 *   (all: x, group: N -> M) --unlock by N--> (all: x, group: M), M.ready = PASSED
 *
 * or leaves the group, then `all`:
 *
 *   (all: x, group: N -> M) --> (all: x, group: M), M.ready = FIRST --> (all free)
 *
 *   I1  The holder of *l holds `all`, by the value in its context. Groups exclude
 *       no thread: one may hold *l without being in a group (trylock, one LLC).
 *   I2  At most one thread of a group waits for `all`, or holds *l through the group.
 *   I3  A group passes `all` on PAWL_NUMA_STREAK times at most, and `all` is first come,
 *       first served. So the number of sections that overtake a waiter is bounded.
 *
 * Order      [A] pairs with [R]: a section happens before the next one of the group;
 *            other sections are ordered by `all`. [T] pairs with itself: it publishes
 *            the cleared node. [N] pairs with [L]: a successor that is found has
 *            cleared its node.
 * Lifetime   Passing on, [R] is unlock's last access, to the successor's node. Otherwise
 *            it is [R] of hapax.h.
 * Checked    tests/locks/cohort.c; pawl check cohort, with two LLCs and with three;
 *            mutants A, R, T, N, L, I1, I2, I3.
 */
#ifndef PAWL_COHORT_H
#define PAWL_COHORT_H

#include <pawl/face.h>
#include <pawl/hapax.h>

enum { PAWL_COHORT_GROUPS = 32 }; /* machines with more LLCs fold them onto these */

/* Values of ready: the waiter is first in its group; or it also owns the lock. */
enum { PAWL_COHORT_FIRST = 1, PAWL_COHORT_PASSED = 2 };

/* Kept apart by distance: memory may be aligned to 16 bytes only. */
struct pawl_cohort_group {
	pawl_atomic64 tail; /* struct pawl_node * */
	char apart[128 - sizeof(pawl_atomic64)];
};

struct pawl_cohort_core {
	struct pawl_hapax_core all;
	char apart[128 - sizeof(struct pawl_hapax_core)];
	struct pawl_cohort_group groups[PAWL_COHORT_GROUPS];
};

struct pawl_cohort_context {
	struct pawl_hapax_context all;
	struct pawl_node *node; /* in the group's queue; NULL: in none (I1) */
};

#define PAWL_COHORT_INIT PAWL_ZERO

static inline pawl_atomic64 *pawl_cohort_tail_(struct pawl_cohort_core *l,
					       const struct pawl_node *node)
{
	return &l->groups[node->home % PAWL_COHORT_GROUPS].tail;
}

/* Waits until this thread is first in its group; true if `all` was passed on to it. */
static inline bool pawl_cohort_join_(struct pawl_cohort_core *l, struct pawl_node *node,
				     enum pawl_wait how)
{
	struct pawl_node *ahead;

	node->streak = 0;
	pawl_store_relaxed(&node->next, 0);  /* Relaxed: published by [T], [L] */
	pawl_store_relaxed(&node->ready, 0); /* Relaxed: published by [L] */
	ahead = (struct pawl_node *)pawl_pointer(pawl_exchange_acq_rel(
		pawl_cohort_tail_(l, node), pawl_address(node))); /* [T] */
	if (ahead == NULL)
		return false;
	pawl_store_release(&ahead->next, pawl_address(node)); /* [L] */
	pawl_notify(&ahead->next, pawl_address(node), how);
	return pawl_await_ne_acquire(&node->ready, 0, how) ==
	       PAWL_COHORT_PASSED; /* [A] */
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_cohort_acquire_(struct pawl_cohort_core *l,
					struct pawl_cohort_context *context,
					enum pawl_wait how)
{
	struct pawl_node *node = pawl_node_get_();

	node->home = pawl_node_home_(node);
	if (node->home == PAWL_NO_HOME) { /* I1 */
		pawl_node_put_(node);
		node = NULL;
	} else if (pawl_cohort_join_(l, node, how)) {
		context->all.hapax = node->value;
		context->node = node;
		return;
	}
	pawl_hapax_acquire_(&l->all, &context->all, how); /* I2 */
	context->node = node;
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_cohort_try_acquire_(struct pawl_cohort_core *l,
					    struct pawl_cohort_context *context)
{
	context->node = NULL; /* I1 */
	return pawl_hapax_try_acquire_(&l->all, &context->all);
}

/* Passes *l on to the next of the group, or leaves the group; true if it passed it on. */
static inline bool pawl_cohort_leave_(struct pawl_cohort_core *l,
				      struct pawl_cohort_context *context,
				      enum pawl_wait how)
{
	struct pawl_node *node = context->node, *behind;
	uint64_t next = pawl_load_acquire(&node->next); /* [N] */
	bool pass = node->streak < PAWL_NUMA_STREAK;	/* I3 */

	if (next == 0) {
		/* Relaxed: `all` orders a thread that finds the queue empty. */
		if (pawl_cas_relaxed(pawl_cohort_tail_(l, node), pawl_address(node), 0))
			return false;
		next = pawl_await_ne_acquire(&node->next, 0, how); /* [N] as in mcs.h */
	}
	behind = (struct pawl_node *)pawl_pointer(next);
	if (pass) {
		behind->value = context->all.hapax; /* I1 */
		behind->streak = node->streak + 1;
	}
	pawl_store_release(&behind->ready,
			   pass ? PAWL_COHORT_PASSED : PAWL_COHORT_FIRST); /* [R] */
	pawl_notify(&behind->ready, pass ? PAWL_COHORT_PASSED : PAWL_COHORT_FIRST, how);
	return pass;
}

/* Requires the context of the acquire that holds *l; any thread may call. */
static inline void pawl_cohort_release_(struct pawl_cohort_core *l,
					struct pawl_cohort_context *context,
					enum pawl_wait how)
{
	bool passed = false;

	if (__builtin_expect(context->node != NULL, true)) {
		passed = pawl_cohort_leave_(l, context, how);
		pawl_node_put_(context->node);
	}
	if (!passed)
		pawl_hapax_release_(&l->all, &context->all, how);
}

PAWL_FACE_CONTEXT(cohort);
PAWL_FACE_CONTEXT_TRY(cohort);

#endif /* PAWL_COHORT_H */
