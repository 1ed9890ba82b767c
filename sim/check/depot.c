/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of the depot, src/lease/depot.c: who has a slot writes to its plain word, so
 * that two who have it race; and in the end all slots are there, once, and found.
 */
#include "outside.h"

#include <src/lease/depot.h>

#include <pawl/atomic.h>

enum { WORDS = 2, SLOTS = 64 + 2 };

static struct world {
	struct pawl_slots slots;
	pawl_atomic64 words[WORDS], summary[1];
	uint64_t uses[SLOTS]; /* plain: by whoever has it */
} * world;

/* No slot has ever been used. */
static void set_up_for(uint64_t slots)
{
	world = explore_allocate(sizeof(*world), 128);
	explore_label(world, "depot");
	world->slots.limit = slots;
	world->slots.words = world->words;
	world->slots.summary = world->summary;
}

static void set_up(void *argument)
{
	(void)argument;
	set_up_for(2);
}

static void set_up_words(void *argument)
{
	(void)argument;
	set_up_for(SLOTS);
}

/* Takes up to n, uses them, and puts them back. */
static void borrow(size_t n)
{
	uint32_t mine[2];
	size_t count = pawl_depot_take(&world->slots, mine, n), i;

	for (i = 0; i < count; i++)
		world->uses[mine[i]]++;
	pawl_depot_put(&world->slots, mine, count, false);
}

/* borrow: all take one and put it back. words: who comes while the first word's slots
 * are on their way makes the second. */
static void borrow_thread(void *argument, int thread)
{
	(void)argument, (void)thread;
	borrow(1);
}

/* batch: one takes two at a time; the others find one, or none. */
static void batch_thread(void *argument, int thread)
{
	(void)argument;
	borrow(thread == 0 ? 2 : 1);
}

/* again: everybody comes twice, and finds what others have put back. */
static void again_thread(void *argument, int thread)
{
	(void)argument, (void)thread;
	borrow(1);
	borrow(1);
}

/* All that was made is there, and the summary shows it (I2). */
static void is_whole(void *argument)
{
	uint64_t fresh = explore_final(&world->slots.fresh.raw), word;
	uint64_t summary = explore_final(&world->summary[0].raw);

	(void)argument;
	if (explore_final(&world->slots.made.raw) != fresh)
		explore_fail(VERDICT_ASSERTION, "new slots have not arrived");
	for (word = 0; word < WORDS; word++) {
		bool last = (word + 1) * 64 > world->slots.limit;
		uint64_t all = word >= fresh ? 0 : last ? 3 : ~(uint64_t)0;

		if (explore_final(&world->words[word].raw) != all)
			explore_fail(VERDICT_ASSERTION, "slots are lost");
		if (all != 0 && (summary >> word & 1) == 0)
			explore_fail(VERDICT_ASSERTION, "the summary shows no slot");
	}
}

const struct lock_type depot_types[] = {
	{.name = "depot", .base = "depot", .header = "pawl/slots.h"},
	{.name = NULL},
};

const struct scenario depot_scenarios[] = {
	{"borrow", "threads take slots and put them back", 2, 0, 1, 1, always, passes,
	 set_up, borrow_thread, is_whole},
	{"batch", "one takes two at a time, one is left or none", 2, 2, 1, 1, always,
	 passes, set_up, batch_thread, is_whole},
	{"words", "who comes too early for the first word makes another", 2, 2, 1, 1,
	 always, passes, set_up_words, borrow_thread, is_whole},
	{"again", "threads take slots and put them back, twice", 2, 2, 1, 1, always,
	 passes, set_up, again_thread, is_whole},
	{.name = NULL},
};
