/* SPDX-License-Identifier: MIT */
/* See lease/depot.h for I1, I2 and the orders. */
#include "lease/depot.h"
#include "os/os.h"

#include <pawl/runtime.h>

static uint64_t bit(uint64_t n)
{
	return (uint64_t)1 << n % 64;
}

static void set_summary(struct pawl_slots *a, uint64_t word)
{
	pawl_atomic64 *summary = &a->summary[word / 64];
	uint64_t seen;

	/* The compare-and-swap is relaxed: a clearing that it could miss comes after
	 * [S]. */
	while (((seen = pawl_load_seq_cst(summary)) & bit(word)) == 0) /* [S] */
		if (pawl_cas_relaxed(summary, seen, seen | bit(word)))
			break;
}

/* Requires that the word was seen to be 0. */
static void clear_summary(struct pawl_slots *a, uint64_t word)
{
	pawl_atomic64 *summary = &a->summary[word / 64];
	uint64_t seen;

	/* Relaxed: the compare-and-swap checks it. */
	while (((seen = pawl_load_relaxed(summary)) & bit(word)) != 0)
		if (pawl_cas_seq_cst(summary, seen, seen & ~bit(word))) /* [T] */
			break;
	if (pawl_load_seq_cst(&a->words[word]) != 0) /* [T] */
		set_summary(a, word);
}

static void set_bits(struct pawl_slots *a, uint64_t word, uint64_t bits, bool torn)
{
	uint64_t seen;

	pawl_note_releasing(&a->words[word]);
	do {
		seen = pawl_load_relaxed(&a->words[word]); /* Relaxed: [S] checks it. */
		if ((seen & bits) != 0 && !torn)
			pawl_die_("an id or object was put back twice");
	} while (!pawl_cas_seq_cst(&a->words[word], seen, seen | bits)); /* [S] */
	set_summary(a, word);
}

/* The lowest n of the bits that are set, or all of them if there are fewer. */
static uint64_t lowest(uint64_t bits, size_t n)
{
	uint64_t rest = bits;

	while (n-- > 0 && rest != 0)
		rest &= rest - 1;
	return bits & ~rest;
}

static size_t slots_of(const struct pawl_slots *a, uint64_t word, uint64_t bits,
		       uint32_t *slots)
{
	size_t n;

	for (n = 0; bits != 0; bits &= bits - 1)
		slots[n++] = (uint32_t)((word * 64 + (uint64_t)__builtin_ctzll(bits)) *
					a->step);
	return n;
}

static size_t take_from(struct pawl_slots *a, uint64_t word, uint32_t *slots, size_t n)
{
	uint64_t seen, mine;

	do {
		/* [G] checks it, and clear_summary reads it again. */
		seen = pawl_load_acquire(&a->words[word]); /* [E] */
		if (seen == 0) {
			clear_summary(a, word);
			return 0;
		}
		mine = lowest(seen, n);
	} while (!pawl_cas_acq_rel(&a->words[word], seen, seen & ~mine)); /* [G] */
	pawl_note_acquired(&a->words[word]);
	return slots_of(a, word, mine, slots);
}

static uint64_t words_of(const struct pawl_slots *a)
{
	return (a->limit + 63) / 64;
}

static size_t take_new(struct pawl_slots *a, uint32_t *slots, size_t n)
{
	uint64_t words = words_of(a), word, bits, mine;

	do {
		word = pawl_load_relaxed(&a->fresh); /* Relaxed: checked below. */
		if (word == words)
			return 0;
		/* Relaxed: one thread succeeds for each value, and the slots are new. */
	} while (!pawl_cas_relaxed(&a->fresh, word, word + 1));
	bits = word == words - 1 && a->limit % 64 != 0 ? bit(a->limit) - 1 : ~(uint64_t)0;
	mine = lowest(bits, n);
	if (bits != mine)
		set_bits(a, word, bits & ~mine, false);
	pawl_fetch_add_release(&a->made, 1); /* [M] */
	return slots_of(a, word, mine, slots);
}

bool pawl_depot_any(const struct pawl_slots *a)
{
	/* Relaxed, here and below: a hint; a caller that must be sure checks again with
	 * ordered loads. */
	uint64_t fresh = pawl_load_relaxed(&a->fresh), i;

	for (i = 0; i < (fresh + 63) / 64; i++)
		if (pawl_load_relaxed(&a->summary[i]) != 0)
			return true;
	return fresh != words_of(a);
}

size_t pawl_depot_take(struct pawl_slots *a, uint32_t *slots, size_t n)
{
	/* Relaxed: later words are new, and take_new or a later call finds them; a caller
	 * that must not miss one has seen it made by [M]. */
	uint64_t end = (pawl_load_relaxed(&a->fresh) + 63) / 64, i;
	size_t taken = 0;

	for (i = 0; i < end && taken < n; i++) {
		/* Relaxed: likewise; a slot is ordered by its word. */
		uint64_t seen = pawl_load_relaxed(&a->summary[i]);

		for (; seen != 0 && taken < n; seen &= seen - 1)
			taken += take_from(a, i * 64 + (uint64_t)__builtin_ctzll(seen),
					   slots + taken, n - taken);
	}
	return taken > 0 ? taken : take_new(a, slots, n);
}

static uint64_t number_of(const struct pawl_slots *a, uint32_t slot)
{
	uint64_t number = slot / a->step;

	if (number >= a->limit || number * a->step != slot)
		pawl_die_("an id or object was put back that is none");
	return number;
}

void pawl_depot_put(struct pawl_slots *a, const uint32_t *slots, size_t n, bool torn)
{
	size_t i = 0;

	while (i < n) {
		uint64_t number = number_of(a, slots[i]), word = number / 64, bits = 0;

		/* Relaxed: set before the fork, and only grows. */
		if (torn && word >= pawl_load_relaxed(&a->fresh)) {
			i++;
			continue;
		}
		/* Ends: each iteration consumes one of the slots. */
		while (number / 64 == word) {
			if ((bits & bit(number)) != 0 && !torn)
				pawl_die_("an id or object was put back twice");
			bits |= bit(number);
			if (++i == n)
				break;
			number = number_of(a, slots[i]);
		}
		set_bits(a, word, bits, torn);
	}
}

void pawl_depot_unmake(struct pawl_slots *a, uint64_t fresh)
{
	uint64_t words = words_of(a), first = fresh / 64;
	const size_t size = sizeof(a->words[0]);

	pawl_os_clear(a->words + fresh, (words - fresh) * size);
	/* Relaxed, here and below: the child has no other thread. */
	if (fresh % 64 != 0) {
		pawl_store_relaxed(&a->summary[first],
				   pawl_load_relaxed(&a->summary[first]) &
					   (bit(fresh) - 1));
		first++;
	}
	pawl_os_clear(a->summary + first, ((words + 63) / 64 - first) * size);
	pawl_store_relaxed(&a->fresh, fresh);
	pawl_store_relaxed(&a->made, fresh);
}

void pawl_depot_mend(struct pawl_slots *a)
{
	/* Relaxed: inconsistencies are from before the fork. */
	uint64_t words = pawl_load_relaxed(&a->fresh), word;

	for (word = 0; word < words; word++)
		/* Relaxed: likewise. */
		if (pawl_load_relaxed(&a->words[word]) != 0)
			set_summary(a, word);
}

bool pawl_depot_take_word(struct pawl_slots *a, uint64_t word)
{
	return pawl_cas_acquire(&a->words[word], ~(uint64_t)0, 0); /* [G] */
}

void pawl_depot_put_word(struct pawl_slots *a, uint64_t word, bool torn)
{
	set_bits(a, word, ~(uint64_t)0, torn);
}
