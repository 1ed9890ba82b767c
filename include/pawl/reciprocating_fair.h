/* SPDX-License-Identifier: MIT */
/*
 * pawl/reciprocating_fair.h - reciprocating lock with equal long-run shares.
 *
 * Choose it  instead of reciprocating where the 2 : 1 of its worst schedule
 *            matters: under a steady load every thread gets the same share.
 * Avoid it   where order must be first come, first served, and for the other
 *            reasons given in reciprocating.h. It is a little slower: now and
 *            then a hand-over takes two hops.
 * Source     Dice & Kogan, "Reciprocating Locks", PPoPP 2025, section 9.4.
 * Departs    from it: the paper proposes to perturb the order inside a
 *            segment and gives no construction. Here a thread whose turn has
 *            come sometimes steps aside, once: it lets its successor in and is
 *            passed along as a companion of the lock; each release tosses a
 *            coin whether it is the companion's turn now, and the last of the
 *            segment lets it in without a coin.
 * Cost       lock 1 RMW, unlock 1 RMW; 32 bytes (core 8), 0 = free.
 *
 * State as in reciprocating.h, with I1, I2; and the companion `aside`, at most
 * one a segment at any time, which travels with ownership.
 *
 *   I3  As in reciprocating.h: all reordering is inside a segment, and the
 *       segment does not end before its companion was let in.
 *   I4  A thread steps aside at most once for each arrival.
 *   I5  Why shares are equal: stepping aside can turn any order of a segment
 *       into any other in finitely many segments, and no choice depends on a
 *       thread's identity; so in the long run all orders are equally frequent.
 *
 * Order      as in reciprocating.h. [A] and [R] also carry aside and next.
 * Lifetime   as in reciprocating.h.
 * Checked    tests/locks/reciprocating_fair.c; pawl check reciprocating-fair;
 *            mutants A, R, I3.
 */
#ifndef PAWL_RECIPROCATING_FAIR_H
#define PAWL_RECIPROCATING_FAIR_H

#include <pawl/reciprocating.h>

struct pawl_reciprocating_fair_core {
	pawl_atomic64 arrivals;
};

/* All zero unless the thread has waited, as in reciprocating.h. */
struct pawl_reciprocating_fair_context {
	struct pawl_element *next;  /* successor; NULL at the segment's end */
	uint64_t end;		    /* end mark of the segment */
	struct pawl_element *aside; /* of the thread that stepped aside, or NULL */
};

#define PAWL_RECIPROCATING_FAIR_INIT PAWL_ZERO

/* A thread steps aside once in this many turns. */
enum { PAWL_FAIR_STEP_ASIDE = 8 };

/* Waits behind `top`. */
static inline __attribute__((cold)) void pawl_reciprocating_fair_wait_(
	struct pawl_element *mine, uint64_t top,
	struct pawl_reciprocating_fair_context *context, enum pawl_wait how)
{
	uint64_t next = top & ~(uint64_t)PAWL_RECIPROCATING_LOCKED;
	uint64_t end = pawl_await_ne_acquire(&mine->gate, 0, how); /* [A] */
	uint64_t aside = mine->aside;

	if (next == end) { /* I2: the bottom of the stack, not a waiter */
		next = 0;
		end = PAWL_RECIPROCATING_LOCKED;
	}
	if (next != 0 && aside == 0 && pawl_one_in(PAWL_FAIR_STEP_ASIDE)) {
		struct pawl_element *first = (struct pawl_element *)pawl_pointer(next);

		pawl_store_relaxed(&mine->gate, 0); /* Relaxed: published by [R] */
		first->aside = pawl_address(mine);
		pawl_reciprocating_admit_(first, end, how);	  /* [R] */
		end = pawl_await_ne_acquire(&mine->gate, 0, how); /* [A] */
		next = mine->next;				  /* I4: owns it now */
	}
	context->next = (struct pawl_element *)pawl_pointer(next);
	context->end = end;
	context->aside = (struct pawl_element *)pawl_pointer(aside);
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_reciprocating_fair_acquire_(
	struct pawl_reciprocating_fair_core *l,
	struct pawl_reciprocating_fair_context *context, enum pawl_wait how)
{
	struct pawl_element *mine = &pawl_self()->element;
	uint64_t top = pawl_reciprocating_arrive_(&l->arrivals, mine);

	if (__builtin_expect(top != 0, false)) {
		pawl_reciprocating_fair_wait_(mine, top, context, how);
		return;
	}
	context->next = NULL;
	context->end = 0;
	context->aside = NULL;
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_reciprocating_fair_try_acquire_(
	struct pawl_reciprocating_fair_core *l,
	struct pawl_reciprocating_fair_context *context)
{
	context->next = NULL;
	context->end = 0;
	context->aside = NULL;
	return pawl_cas_acquire(&l->arrivals, 0, pawl_reciprocating_end_(0)); /* [T] */
}

/* Requires the acquirer's context; only the thread that acquired may call. */
static inline void pawl_reciprocating_fair_release_(
	struct pawl_reciprocating_fair_core *l,
	struct pawl_reciprocating_fair_context *context, enum pawl_wait how)
{
	struct pawl_element *next = context->next;
	struct pawl_element *aside = context->aside;
	uint64_t end = pawl_reciprocating_end_(context->end);

	if (__builtin_expect(next == NULL && aside == NULL, true)) {
		next = pawl_reciprocating_turn_(&l->arrivals, end);
		if (__builtin_expect(next == NULL, true))
			return;
		next->aside = 0;
	} else if (aside != NULL && (next == NULL || pawl_one_in(2))) { /* I3 */
		aside->next = pawl_address(next);
		next = aside;
	} else {
		next->aside = pawl_address(aside);
	}
	pawl_reciprocating_admit_(next, end, how);
}

PAWL_FACE_RARE_CONTEXT(reciprocating_fair);
PAWL_FACE_RARE_CONTEXT_TRY(reciprocating_fair);

#endif /* PAWL_RECIPROCATING_FAIR_H */
