/* SPDX-License-Identifier: MIT */
/*
 * The depot of slots.h: a bitmap of free slots with a summary above it, by atomics
 * alone. A word's value is all its state, so nothing here can mistake one state
 * for another; every loop repeats only if somebody else succeeded.
 *
 *   I1  A bit of a word is set by who holds the slot, and cleared by who gets it.
 *   I2  While a word is not 0, its bit in the summary is set, or will be by a
 *       thread that is between its change of the word and its return: a summary
 *       bit may be set for nothing, but is never missing for long.
 *
 * Order: [S] pairs with [T], both sequentially consistent: who set a word's bits then
 * looks at the summary, who clears a summary bit then looks at the word, and not both miss
 * the other (I2). [G] pairs with [S]: who gets a slot sees what was done by who put it
 * back. [M] pairs with itself: who counts a word as made sees its new slots here.
 * [E] pairs with [G], and [T] then with [L] of lease/slots.c: who finds nothing here sees
 * what those did before who took the last slots.
 */
#ifndef PAWL_LEASE_DEPOT_H
#define PAWL_LEASE_DEPOT_H

#include <pawl/slots.h>

/* As pawl_slots_create; slots are multiples of a step. Their greatest is below 2^32 - 1,
 * and of lists the step is 1. */
int pawl_slots_create_by(struct pawl_slots *a, enum pawl_shards_kind kind, uint64_t limit,
			 uint64_t step);

/* Whether no thread has new slots that it has not put here yet; of *words words, then. */
static inline bool pawl_depot_complete(const struct pawl_slots *a, uint64_t *words)
{
	uint64_t made = pawl_load_acquire(&a->made); /* [M] */

	/* Relaxed: who is counted as done had made it grow before, and it only grows. */
	*words = pawl_load_relaxed(&a->fresh);
	return made >= *words;
}

/* False if nothing seems to be here, nor new: then take, after this, would find nothing
 * that was here for long. */
bool pawl_depot_any(const struct pawl_slots *a);

/* Takes up to n slots, the lowest of those in one word at a time, and new ones
 * only if there are no others. Returns how many. */
size_t pawl_depot_take(struct pawl_slots *a, uint32_t *slots, size_t n);

/* Puts slots back; ends the process if one is here already, unless that may be, for
 * memory is torn: see drain in slots.c. Then what is new is left out, too. */
void pawl_depot_put(struct pawl_slots *a, const uint32_t *slots, size_t n, bool torn);

/* In the child of a fork: words from this one on are new again, whatever others made of
 * them meanwhile. */
void pawl_depot_unmake(struct pawl_slots *a, uint64_t fresh);

/* Finds again what the summary of a torn memory does not show (I2). */
void pawl_depot_mend(struct pawl_slots *a);

/* Takes a word's 64 slots if they are all here; puts them back. */
bool pawl_depot_take_word(struct pawl_slots *a, uint64_t word);
void pawl_depot_put_word(struct pawl_slots *a, uint64_t word, bool torn);

#endif /* PAWL_LEASE_DEPOT_H */
