/* SPDX-License-Identifier: MIT */
/*
 * pawl/cna.h - queue lock in one word that stays where its data are for a while.
 *
 * Choose it  for a hot lock on a machine whose CPUs do not all share a cache: lock
 *            and data then seldom travel further. It fits wherever mcs.h does.
 * Avoid it   when threads may outnumber CPUs; or for strict arrival order.
 * Source     Dice & Kogan, "Compact NUMA-aware Locks", EuroSys 2019.
 * Departs    from it: a home is what shares a cache, not a NUMA node; a count, not a
 *            coin, ends its turn (I4); links say who is near; those that are passed
 *            over are sorted by home, so that many homes do not make a long search;
 *            what a holder hands on is in fields of its own, not in the word that is
 *            waited for.
 * Cost       lock 1 RMW, unlock 1 RMW; 16 bytes (core 8), 0 = free; one node
 *            of 128 bytes for each lock held or waited for. With one home it
 *            is mcs and a few stores.
 *
 * State: the queue of mcs.h, and beside it those that its holder H passed over, in
 * runs of one home each: H.aside is the run that was made last, in a circle.
 *
 *   H -> b1 -> c1 -> b2 -> a1, aside  -         (a, b, c: homes; H is an a)
 *     unlock by H:  a1 -> ..., aside b1 -> b2, c1        a1 is near
 *     unlock by a1: b1 -> b2 -> ..., aside c1            the turn is over, or nobody
 *                                                        near waits
 *
 *   I1  tail is the last node of the queue, 0 if nobody holds or waits. Who is
 *       aside is not in the queue, and cannot be reached from tail.
 *   I2  Links of nodes before the tail, aside, value, last, free_next and streak are
 *       the holder's alone; a waiter writes its home and the link behind it, once,
 *       and that says its home as well: to pass it over, nobody need look at it.
 *   I3  Of a home there is one run aside at most, value says of which there are
 *       (PAWL_CNA_HOMES bits); its first node knows its last, whose link is 0. Who is
 *       passed over comes last in its home's run, and a new run last in the circle.
 *   I4  A turn is the sections of one home in a row while somebody is aside: streak
 *       counts them, PAWL_NUMA_STREAK at most. The next turn is that of the eldest
 *       run. So all homes take turns, and each of them is first come, first served.
 *
 * Order      [A] pairs with [R]: a section happens before the next one, and what
 *            its holder handed on is there. [T] pairs with itself and with [F]: it
 *            publishes the cleared node to the successor, and takes over from the
 *            unlock that emptied the queue, or made it a run that was aside: who
 *            comes behind its last links itself after that link was cleared.
 *            [N] pairs with [L]: a holder that finds a waiter also finds its home,
 *            and its link cleared.
 * Lifetime   [F], or else [R], is unlock's last access to what it does not own: [F]
 *            to *l, [R] to the node of a thread that waits.
 * Checked    tests/locks/cna.c; pawl check cna, with two homes and with
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

/* Homes that are more share one. A link has room for so many, beside its address. */
enum { PAWL_CNA_HOMES = 64 };

static inline struct pawl_node *pawl_cna_node_(uint64_t link)
{
	return (struct pawl_node *)pawl_pointer(link / PAWL_CNA_HOMES * PAWL_CNA_HOMES);
}

static inline uint32_t pawl_cna_home_(uint64_t link)
{
	return link % PAWL_CNA_HOMES;
}

/* The lock was free: nobody is aside, and where we are nobody has asked yet. */
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

/* Puts a row of waiters of one home aside, from `link` to `last`, who is not the tail. */
static inline void pawl_cna_put_aside_(struct pawl_node *node, uint64_t link,
				       struct pawl_node *last)
{
	struct pawl_node *first = pawl_cna_node_(link), *run = node->aside;
	uint64_t bit = (uint64_t)1 << pawl_cna_home_(link);

	/* Relaxed: links that are ours (I2) until [R] hands them on, or [F] lets
	 * somebody come behind the last one. */
	pawl_store_relaxed(&last->next, 0);
	if ((node->value & bit) != 0) {
		while (run->home != pawl_cna_home_(link)) /* there is one (I3) */
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
 * Puts those aside that wait before the first one near, or else before the last ones
 * that are known: the tail cannot go. Returns the link to who is left.
 */
static inline uint64_t pawl_cna_pass_over_(struct pawl_node *node, uint64_t link)
{
	uint64_t at = link, next;

	/* Not written for nothing: who told us to go has our node's line, too. */
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

/* What goes to a waiter with the lock. */
static inline struct pawl_node *pawl_cna_give_(const struct pawl_node *node,
					       struct pawl_node *to, uint32_t streak)
{
	to->aside = node->aside;
	to->value = node->value;
	to->streak = streak;
	return to;
}

/* Takes the eldest run from those aside. */
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

/* Who comes next; NULL if nobody waits, and *l is free. */
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
