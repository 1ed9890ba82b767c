/* SPDX-License-Identifier: MIT */
/*
 * pawl/hapax_value.h - values that never recur, and the lock body made of them.
 *
 * Shared by hapax.h and hapax_vw.h, which differ in how a waiter waits.
 * Source: Dice & Kogan, "Hapax Locks", PPoPP 2026, section 3.
 *
 *   H1  A value is drawn once in the life of the process, and is never 0.
 *   H2  The lock is unlocked iff arrive == depart (the paper's comment in
 *       listing 2 says the opposite; its text and code say this).
 *   H3  Values with equal high bits belong to one thread at a time, so a
 *       thread's successors find its slot in their caches.
 */
#ifndef PAWL_HAPAX_VALUE_H
#define PAWL_HAPAX_VALUE_H

#include <pawl/runtime.h>

struct pawl_hapax_core {
	pawl_atomic64 arrive; /* value of the last to arrive */
	pawl_atomic64 depart; /* value of the last to leave */
};

struct pawl_hapax_context {
	uint64_t hapax; /* drawn for this episode */
};

/* Draws a value (H1): from this thread's block, or the first of a new one. */
static inline uint64_t pawl_hapax_draw(void)
{
	const uint64_t within_block = ((uint64_t)1 << PAWL_HAPAX_BLOCK_BITS) - 1;
	struct pawl_thread *self = pawl_self();
	uint64_t hapax = self->next_hapax;

	if (__builtin_expect((hapax & within_block) == 0, false))
		hapax = pawl_hapax_block_();
	self->next_hapax = hapax + 1;
	return hapax;
}

/*
 * Index of the slot where the successor of `hapax` waits: by block (H3),
 * salted with the lock so that locks which move in step do not collide. 17
 * puts neighbouring blocks on different lines.
 */
static inline size_t pawl_hapax_index_(const struct pawl_hapax_core *l, uint64_t hapax)
{
	uint64_t zone = hapax >> PAWL_HAPAX_BLOCK_BITS;

	return (size_t)((pawl_address(l) + zone) * 17) & (PAWL_WAITING_SLOTS - 1);
}

/*
 * Returns true, owning *l, if it was free; never waits and never queues. Both
 * locks share it: while hand-overs bypass depart, arrive differs from it.
 */
static inline bool pawl_hapax_try_acquire_(struct pawl_hapax_core *l,
					   struct pawl_hapax_context *context)
{
	uint64_t last = pawl_load_acquire(&l->depart); /* [A] */

	/* Relaxed: saves a value and a write if the lock is held; the compare-and-swap
	 * below decides. */
	if (pawl_load_relaxed(&l->arrive) != last)
		return false;
	context->hapax = pawl_hapax_draw();
	/* Relaxed: arrive is still `last`, which never recurs (H1), so no thread has
	 * arrived since [A] saw it depart. */
	return pawl_cas_relaxed(&l->arrive, last, context->hapax);
}

#endif /* PAWL_HAPAX_VALUE_H */
