/* SPDX-License-Identifier: MIT */
/*
 * Counters (src/lease/counter.c) and spare shards, from creation to destruction, on the
 * leases of slots_world.h. The last thread to come through finds every addition.
 */
#ifndef CHECK_SLOTS_COUNTER_H
#define CHECK_SLOTS_COUNTER_H

#include "slots_pool.h"

#include <lease/counter.c>

static void create_counter(enum pawl_shards_kind kind)
{
	make_things();
	expect("counter_create", pawl_counter_create(&things->counter, kind), 0);
}

static void set_up_counter(void *argument)
{
	(void)argument;
	create_counter(PAWL_SHARDS_LEASED);
	world->homes[1] = 0;
}

static void set_up_atomic_counter(void *argument)
{
	(void)argument;
	create_counter(PAWL_SHARDS_ATOMIC);
	world->homes[1] = 0;
}

static void set_up_random_counter(void *argument)
{
	(void)argument;
	create_counter(PAWL_SHARDS_RANDOM);
}

static void quiet_counter(void)
{
	never_due(&things->counter.shards);
}

static void quiet_counter_of_two(void)
{
	quiet_counter();
	/* Relaxed: before the release of all of it. */
	pawl_store_relaxed(&things->counter.shards.mask, 1);
}

static void sum_is(int64_t sum)
{
	if (pawl_counter_sum(&things->counter) != sum)
		explore_fail(VERDICT_ASSERTION, "the sum is %d, not %d",
			     (int)pawl_counter_sum(&things->counter), (int)sum);
}

/* The last thread finds all that was added. */
static void count_up(int64_t sum)
{
	struct pawl_shards_stats stats;

	if (!is_last())
		return;
	sum_is(sum);
	pawl_shards_get_stats(&things->counter.shards, &stats);
	if (stats.shards == 0 || stats.shards > 2)
		explore_fail(VERDICT_ASSERTION, "%d shards are in use",
			     (int)stats.shards);
	pawl_counter_destroy(&things->counter);
}

/* counter, counter-atomic, counter-random: two threads add. */
static void counter_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, quiet_counter);
	pawl_counter_add(&things->counter, 1);
	if (thread == 0)
		pawl_counter_add_leased_(&things->counter, 4);
	else
		pawl_counter_add(&things->counter, 4);
	count_up(10);
}

static void shared_counter_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, things->counter.shards.at_random ? quiet_counter_of_two
							     : quiet_counter);
	pawl_counter_add(&things->counter, 1);
	pawl_counter_add(&things->counter, 4);
	count_up(10);
}

/* counter-exact: one asks for the sum of one instant while the other adds, on one CPU and
 * then on another; its additions show in their order. */
static void use_both_shards(void)
{
	quiet_counter();
	pawl_counter_add(&things->counter, 0);
	world->homes[0] = 1;
	pawl_counter_add(&things->counter, 0);
	world->homes[0] = 0;
}

static void counter_exact_thread(void *argument, int thread)
{
	int64_t sum;

	(void)argument;
	begin_after(thread, use_both_shards);
	if (thread == 0) {
		pawl_counter_add(&things->counter, 1);
		world->homes[0] = 1;
		pawl_counter_add(&things->counter, 10);
	} else if (!pawl_counter_exact(&things->counter, 1, &sum)) {
		see(SAW_REFUSED);
	} else {
		see(SAW_LOOKED);
		if (sum != 0 && sum != 1 && sum != 11)
			explore_fail(VERDICT_ASSERTION, "at no time was the sum %d",
				     (int)sum);
	}
	count_up(11);
}

/* counter-nested: a signal handler adds while its thread is inside a shard. */
static void counter_nested_thread(void *argument, int thread)
{
	struct pawl_lease_handle *h = begin_after(thread, quiet_counter);
	struct pawl_shards *shards = &things->counter.shards;

	(void)argument;
	if (thread == 0) {
		struct pawl_shard *s = pawl_shards_enter(shards, h);

		pawl_counter_add(&things->counter, 3);
		pawl_counter_add_leased_(&things->counter, 3);
		if (s != NULL)
			pawl_shards_exit(shards, s, h);
	} else {
		pawl_counter_add(&things->counter, 4);
	}
	count_up(10);
}

/* counter-died: one ends inside the shard, before any of its writes; a counter cannot be
 * drained, so the others go to the shared side, and nothing that they add is lost. */
static void counter_died_thread(void *argument, int thread)
{
	struct pawl_lease_handle *h = begin_after(thread, quiet_counter);

	(void)argument;
	if (thread == 0) {
		be_mortal(h);
		if (_setjmp(end_of_life) == 0)
			pawl_counter_add(&things->counter, 1);
		be_immortal();
	} else {
		pawl_counter_add(&things->counter, 2);
		pawl_counter_add(&things->counter, 2);
	}
	if (is_last()) {
		int64_t sum = pawl_counter_sum(&things->counter);

		if (sum != 5 && !(dead && sum == 4))
			explore_fail(VERDICT_ASSERTION, "the sum is %d", (int)sum);
		if (dead)
			see(SAW_POISONED);
	}
}

/* spare: hostages are no rarity, and there is a spare shard: one thread works there while
 * another stays inside its shard. */
static void make_spare(void)
{
	const struct pawl_shards_plan plan = {
		.kind = PAWL_SHARDS_LEASED,
		.chain = 2,
		.bytes = sizeof(struct pawl_counter_shard),
	};
	struct pawl_lease_handle *stuck = &world->handles[2];
	struct pawl_shard *s;

	expect("shards", pawl_shards_create(&things->shards, &plan), 0);
	never_due(&things->shards);
	s = pawl_shards_enter(&things->shards, stuck);
	if (pawl_shards_enter(&things->shards, &world->handles[0]) != NULL)
		pawl_die_("two threads are inside");
	pawl_shards_exit(&things->shards, s, stuck);
	/* The detour is over. Relaxed: before the release of all of it. */
	pawl_store_relaxed(detour_of(s), 0);
}

static void set_up_spare(void *argument)
{
	set_up_nothing(argument);
	world->homes[1] = 0;
}

static void spare_thread(void *argument, int thread)
{
	struct pawl_lease_handle *h = begin_after(thread, make_spare);
	struct pawl_counter_shard *s;

	(void)argument;
	if (thread == 1)
		pawl_await_ne_acquire(&world->held, 0, PAWL_SPIN);
	s = (struct pawl_counter_shard *)pawl_shards_enter(&things->shards, h);
	if (thread == 0)
		pawl_store_release(&world->held, 1);
	if (s == NULL)
		explore_fail(VERDICT_ASSERTION, "no shard for thread %d", thread);
	/* Relaxed: the lease orders them. */
	pawl_store_relaxed(&s->value, pawl_load_relaxed(&s->value) + 1);
	if (thread == 0)
		pawl_await_ne_acquire(&world->left, 0, PAWL_SPIN);
	pawl_shards_exit(&things->shards, &s->base, h);
	if (thread == 1)
		pawl_store_release(&world->left, 1);
	if (is_last())
		pawl_shards_destroy(&things->shards);
}

#define COUNTER_SCENARIOS                                                                \
	TWO("counter", "two threads add", set_up_counter, counter_thread, show_sights,   \
	    0),                                                                          \
		TWO("counter-atomic", "the same, on the shared side",                    \
		    set_up_atomic_counter, shared_counter_thread, show_sights, 0),       \
		TWO("counter-random", "the same, spread at random",                      \
		    set_up_random_counter, shared_counter_thread, show_sights, 0),       \
		TWO("counter-exact", "one asks for the sum of an instant",               \
		    set_up_counter, counter_exact_thread, show_sights,                   \
		    SIGHT(LOOKED) | SIGHT(REFUSED)),                                     \
		TWO("counter-nested", "a handler adds inside a section", set_up_counter, \
		    counter_nested_thread, show_sights, 0),                              \
		TWO("counter-died", "a thread ends inside the shard", set_up_counter,    \
		    counter_died_thread, show_sights, SIGHT(POISONED)),                  \
		TWO("spare", "a spare shard beside a thread that stays", set_up_spare,   \
		    spare_thread, show_sights, 0)

#endif /* CHECK_SLOTS_COUNTER_H */
