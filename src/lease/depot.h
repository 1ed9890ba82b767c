/* SPDX-License-Identifier: MIT */
/*
 * The depot of slots.h: a bitmap of free slots with a summary above it, accessed by atomics
 * only. A word's value is its whole state, so there is no ABA problem; every loop repeats
 * only if another thread succeeded.
 *
 *   I1  The holder of a slot sets its bit, and the thread that gets the slot clears it.
 *   I2  While a word is not 0, its bit in the summary is set, or will be by a
 *       thread that is between its change of the word and its return: a summary
 *       bit may be set for nothing, but is never missing for long.
 *
 * Order: [S] pairs with [T], both sequentially consistent: a thread that sets a word's bits
 * then reads the summary, one that clears a summary bit then reads the word, and at least
 * one sees the other (I2). [G] pairs with [S]: a thread that gets a slot sees what its last
 * holder did. [M] pairs with itself: a thread that counts a word as made sees its new slots
 * here. [E] pairs with [G], and [T] then with [L] of lease/slots.c: a thread that finds the
 * depot empty sees what the threads that took the last slots did before.
 */
#ifndef PAWL_LEASE_DEPOT_H
#define PAWL_LEASE_DEPOT_H

#include <pawl/slots.h>

/* As pawl_slots_create, with slots that are multiples of a step. The greatest slot is below
 * 2^32 - 1; for ATOMIC the step is 1. */
int pawl_slots_create_by(struct pawl_slots *a, enum pawl_shards_kind kind, uint64_t limit,
			 uint64_t step);

/* Whether no thread has made new slots that it has not stored here yet; *words is then the
 * number of words made. */
static inline bool pawl_depot_complete(const struct pawl_slots *a, uint64_t *words)
{
	uint64_t made = pawl_load_acquire(&a->made); /* [M] */

	/* Relaxed: a thread increments fresh before made, and fresh only grows. */
	*words = pawl_load_relaxed(&a->fresh);
	return made >= *words;
}

/* False if the depot seems empty and no new slots can be made: a take after this would
 * find only slots that were put here recently. */
bool pawl_depot_any(const struct pawl_slots *a);

/* Takes up to n slots, word by word, the lowest of each first; makes new ones only if there
 * are no others. Returns how many. */
size_t pawl_depot_take(struct pawl_slots *a, uint32_t *slots, size_t n);

/* Puts slots back; ends the process if one is here already. With torn, which says that
 * memory may be inconsistent (see torn in slots.c), that is allowed, and slots beyond
 * `fresh` are ignored. */
void pawl_depot_put(struct pawl_slots *a, const uint32_t *slots, size_t n, bool torn);

/* In the child of a fork: makes the words from this one on unused again, whatever the
 * parent's other threads had made of them. */
void pawl_depot_unmake(struct pawl_slots *a, uint64_t fresh);

/* In the child of a fork: sets the summary bits that inconsistent memory misses (I2). */
void pawl_depot_mend(struct pawl_slots *a);

/* Take a word's 64 slots if all of them are here; and put them back. */
bool pawl_depot_take_word(struct pawl_slots *a, uint64_t word);
void pawl_depot_put_word(struct pawl_slots *a, uint64_t word, bool torn);

#endif /* PAWL_LEASE_DEPOT_H */
