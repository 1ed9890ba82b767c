/* SPDX-License-Identifier: MIT */
/*
 * pawl/cna.h - NUMA-aware queue lock in one word: stays within a cache for a while.
 *
 * Choose it  for a hot lock on a machine whose CPUs do not all share a cache: lock
 *            and data then seldom travel further. It fits wherever mcs.h does.
 * Avoid it   when threads may outnumber CPUs; or for strict arrival order.
 * Source     Dice & Kogan, "Compact NUMA-aware Locks", EuroSys 2019.
 * Departs    from it: waiters are grouped by last-level cache (LLC), not by NUMA
 *            node; a count, not a coin, ends a turn (I4); a link carries the LLC of
 *            the node it points to; waiters that are passed over are sorted by LLC, so
 *            that many LLCs do not make a long search; what a holder hands on is in
 *            fields of its own, not in the word that the waiter polls.
 * Cost       lock 1 RMW, unlock 1 RMW; 16 bytes (core 8), 0 = free; one node
 *            of 128 bytes for each lock held or waited for. With one LLC it
 *            is mcs and a few stores.
 *
 * State: the queue of mcs.h, and beside it the waiters that its holder H passed over, in
 * runs of one LLC each. The runs form a circle; H.aside is the newest.
 *
 *   H -> b1 -> c1 -> b2 -> a1, aside  -         (a, b, c: LLCs; H is an a)
 *     unlock by H:  a1 -> ..., aside b1 -> b2, c1        a1 is near
 *     unlock by a1: b1 -> b2 -> ..., aside c1            the turn is over, or no
 *                                                        thread near waits
 *
 *   I1  tail is the last node of the queue, 0 if no thread holds or waits. Nodes
 *       aside are not in the queue, and cannot be reached from tail.
 *   I2  Only the holder accesses the links of nodes before the tail, aside, value,
 *       last, free_next and streak. A waiter writes its LLC and its predecessor's link,
 *       once; the link carries its LLC as well, so that passing the waiter over needs
 *       no access to its node.
 *   I3  An LLC has at most one run aside; the bits of value say which LLCs have one
 *       (PAWL_CNA_HOMES bits). A run's first node knows its last, whose link is 0. A
 *       waiter that is passed over is appended to its LLC's run, a new run to the circle.
 *   I4  A turn is a row of sections of one LLC while waiters are aside: streak counts
 *       them, PAWL_NUMA_STREAK at most. The next turn is that of the oldest run. So
 *       all LLCs take turns, and each of them is first come, first served.
 *
 * Order      [A] pairs with [R]: a section happens before the next one, and what
 *            its holder handed on is there. [T] pairs with itself and with [F]: it
 *            publishes the cleared node to the successor, and takes over from the
 *            unlock that emptied the queue, or replaced it by a run that was aside:
 *            a successor of the run's last node links itself after that node's link
 *            was cleared. [N] pairs with [L]: a holder that finds a waiter also finds
 *            its LLC, and its link cleared.
 * Lifetime   [F], or else [R], is unlock's last access to what it does not own: [F]
 *            to *l, [R] to the node of a thread that waits.
 * Checked    tests/locks/cna.c; pawl check cna, with two LLCs and with
 *            three; mutants A, R, T, F, N, L, I1, I2, I3.
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

/* Machines with more LLCs fold them onto these. A link has room for 64 beside its
 * address, which is a multiple of 128. */
enum { PAWL_CNA_HOMES = 64 };

static inline struct pawl_node *pawl_cna_node_(uint64_t link)
{
	return (struct pawl_node *)pawl_pointer(link / PAWL_CNA_HOMES * PAWL_CNA_HOMES);
}

static inline uint32_t pawl_cna_home_(uint64_t link)
{
	return link % PAWL_CNA_HOMES;
}

/* The lock was free: no waiters are aside, and our LLC is not known yet. */
static inline void pawl_cna_begin_(struct pawl_node *node)
{
	node->aside = NULL;
	node->value = 0;
	node->streak = 0;
	node->home = PAWL_NO_HOME;
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_cna_acquire_(struct pawl_cna_core *l,
				     struct pawl_cna_context *context, enum pawl_wait how)
{
	struct pawl_node *node = pawl_node_get_(), *ahead;
	uint64_t link;

	context->node = node;
	pawl_store_relaxed(&node->next, 0);  /* Relaxed: published by [T], [L] */
	pawl_store_relaxed(&node->ready, 0); /* Relaxed: published by [L] */
	ahead = (struct pawl_node *)pawl_pointer(
		pawl_exchange_acq_rel(&l->tail, pawl_address(node))); /* [T] */
	if (__builtin_expect(ahead == NULL, true)) {
		pawl_cna_begin_(node);
		return;
	}
	node->home = pawl_node_home_(node) % PAWL_CNA_HOMES;
	link = pawl_address(node) + node->home;
	pawl_store_release(&ahead->next, link); /* [L] */
	pawl_notify(&ahead->next, link, how);
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

/* Puts the waiters of one LLC from `link` to `last`, which is not the tail, aside. */
static inline void pawl_cna_put_aside_(struct pawl_node *node, uint64_t link,
				       struct pawl_node *last)
{
	struct pawl_node *first = pawl_cna_node_(link), *run = node->aside;
	uint64_t bit = (uint64_t)1 << pawl_cna_home_(link);

	/* Relaxed: links that only the holder accesses (I2) until [R] hands them on, or
	 * [F] lets an arrival append to the last one. */
	pawl_store_relaxed(&last->next, 0);
	if ((node->value & bit) != 0) {
		while (run->home != pawl_cna_home_(link)) /* ends: it exists (I3) */
			run = run->free_next;
		pawl_store_relaxed(&run->last->next, link); /* Relaxed: likewise */
		run->last = last;
		return;
	}
	node->value |= bit;
	first->last = last;
	first->free_next = run == NULL ? first : run->free_next;
	if (run != NULL)
		run->free_next = first;
	node->aside = first;
}

/*
 * Puts the waiters before the first near one aside; if none is near, those before the
 * last known run: the tail must stay. Returns the link to the first one that stays.
 */
static inline uint64_t pawl_cna_pass_over_(struct pawl_node *node, uint64_t link)
{
	uint64_t at = link, next;

	/* Written only if needed: the previous holder's CPU may have our node's line. */
	if (node->home == PAWL_NO_HOME)
		node->home = pawl_node_home_(node) % PAWL_CNA_HOMES;
	while (pawl_cna_home_(at) != node->home) {
		next = pawl_load_acquire(&pawl_cna_node_(at)->next); /* [N] */
		if (next == 0)
			break;
		if (pawl_cna_home_(next) != pawl_cna_home_(at)) {
			pawl_cna_put_aside_(node, link, pawl_cna_node_(at));
			link = next;
		}
		at = next;
	}
	return link;
}

/* Copies the state that goes with the lock to its next holder. */
static inline struct pawl_node *pawl_cna_give_(const struct pawl_node *node,
					       struct pawl_node *to, uint32_t streak)
{
	to->aside = node->aside;
	to->value = node->value;
	to->streak = streak;
	return to;
}

/* Removes the oldest run from those aside. */
static inline struct pawl_node *pawl_cna_fetch_(struct pawl_node *node)
{
	struct pawl_node *first = node->aside->free_next;

	node->value &= ~((uint64_t)1 << first->home);
	if (node->aside == first)
		node->aside = NULL;
	else
		node->aside->free_next = first->free_next;
	return first;
}

/* The next holder; NULL if no thread waits, and *l is now free. */
static inline struct pawl_node *pawl_cna_next_(struct pawl_cna_core *l,
					       struct pawl_node *node, enum pawl_wait how)
{
	struct pawl_node *aside = node->aside, *first;
	uint64_t link = pawl_load_acquire(&node->next); /* [N] */

	if (__builtin_expect(link == 0, true)) {
		uint64_t rest = aside == NULL ? 0 : pawl_address(aside->free_next->last);

		if (pawl_cas_release(&l->tail, pawl_address(node), rest)) /* [F] */
			return aside == NULL
				       ? NULL
				       : pawl_cna_give_(node, pawl_cna_fetch_(node), 0);
		link = pawl_await_ne_acquire(&node->next, 0, how); /* [N] as in mcs.h */
	}
	if (node->streak < PAWL_NUMA_STREAK) { /* I4 */
		link = pawl_cna_pass_over_(node, link);
		if (pawl_cna_home_(link) == node->home)
			return pawl_cna_give_(node, pawl_cna_node_(link),
					      node->aside == NULL ? 0 : node->streak + 1);
	}
	if (node->aside == NULL)
		return pawl_cna_give_(node, pawl_cna_node_(link), 0);
	first = pawl_cna_fetch_(node);
	pawl_store_relaxed(&first->last->next, link); /* Relaxed: ours (I2) */
	return pawl_cna_give_(node, first, 0);
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
