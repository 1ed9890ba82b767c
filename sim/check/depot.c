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
	pawl_atomic64 ready;
	uint64_t uses[SLOTS]; /* plain: by whoever has it */
} * world;

/* No slot has ever been used. */
static void set_up_for(uint64_t slots)
{
	world = explore_allocate(sizeof(*world), 128);
	explore_label(world, "depot");
	world->slots.limit = slots;
	world->slots.step = 1;
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

static void set_up_full(void *argument)
{
	(void)argument;
	set_up_for(64);
}

/* What there was before: memory is all zero at first, so the first thread makes it, and
 * the others come when it is there. */
static void begin_with(int thread, uint64_t word, uint64_t summary)
{
	if (thread != 0) {
		pawl_await_ne_acquire(&world->ready, 0,
				      PAWL_SPIN); /* [B] pairs with [A] */
		return;
	}
	/* Relaxed: before the release of all of it. */
	pawl_store_relaxed(&world->words[0], word);
	pawl_store_relaxed(&world->summary[0], summary);
	pawl_store_relaxed(&world->slots.fresh, 1);
	pawl_store_relaxed(&world->slots.made, 1);
	pawl_store_release(&world->ready, 1); /* [A] pairs with [B] */
}

static void use(const uint32_t *slots, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		world->uses[slots[i]]++;
	pawl_depot_put(&world->slots, slots, n, false);
}

/* Takes up to n, uses them, and puts them back. Returns how many. */
static size_t borrow(size_t n)
{
	uint32_t mine[2];
	size_t count = pawl_depot_take(&world->slots, mine, n);

	use(mine, count);
	return count;
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

/* arrived: who finds nothing, and then that all new slots have arrived, finds the one
 * that the other has left. See take_untrimmed in slots.c. */
static void arrived_thread(void *argument, int thread)
{
	uint64_t made;

	(void)argument;
	if (borrow(1) == 0 && pawl_depot_complete(&world->slots, &made) && borrow(1) == 0)
		explore_fail(VERDICT_ASSERTION,
			     "thread %d misses a slot that has arrived", thread);
}

/* torn: in the child of a fork the summary may not show what is there. Who has mended
 * finds one of two. */
static void torn_thread(void *argument, int thread)
{
	(void)argument;
	begin_with(thread, 3, 0);
	pawl_depot_mend(&world->slots);
	if (borrow(1) == 0)
		explore_fail(VERDICT_ASSERTION, "thread %d misses a slot that it mended",
			     thread);
}

/* idle: the first has all of a word to itself, or nothing. */
static void idle_thread(void *argument, int thread)
{
	(void)argument;
	begin_with(thread, ~(uint64_t)0, 1);
	if (thread > 0) {
		borrow(1);
	} else if (pawl_depot_take_word(&world->slots, 0)) {
		world->uses[0]++;
		pawl_depot_put_word(&world->slots, 0, false);
	}
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
	{"arrived", "who finds that all have arrived finds one", 2, 2, 1, 1, always,
	 passes, set_up, arrived_thread, is_whole},
	{"torn", "who mends what a fork has torn finds a slot", 2, 2, 1, 1, always,
	 passes, set_up, torn_thread, is_whole},
	{"idle", "one takes a word while others borrow from it", 2, 0, 1, 1, always,
	 passes, set_up_full, idle_thread, is_whole},
	{.name = NULL},
};
