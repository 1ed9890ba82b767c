/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of slots and shards, src/lease/slots.c and shards.c as they are, on the depot
 * as it is. Who has a slot writes to its plain word, so that two who have it race; stacks
 * in shards are plain as well. In the end every slot is in one place.
 */
#include "slots_world.h"

/* share: two slots, two threads, two shards: there is one for everybody, though who comes
 * first takes both to its shard. */
static void set_up_two(void *argument)
{
	(void)argument;
	set_up_with(PAWL_SHARDS_LEASED, 2);
}

static void share_thread(void *argument, int thread)
{
	(void)argument;
	begin(thread);
	must_get();
}

static void leave_two(void)
{
	put(must_get());
}

/* old: as share, but the slots are not new; a third thread may find the depot empty
 * before, and say so in the summary. */
static void set_up_three(void *argument)
{
	(void)argument;
	set_up_with(PAWL_SHARDS_LEASED, 3);
}

static void make_old(void)
{
	/* Relaxed: before the release of all of it. */
	pawl_store_relaxed(&world->slots.words[0], 7);
	pawl_store_relaxed(&world->slots.summary[0], 1);
	pawl_store_relaxed(&world->slots.fresh, 1);
	pawl_store_relaxed(&world->slots.made, 1);
}

static void old_thread(void *argument, int thread)
{
	uint32_t slot;

	(void)argument;
	begin_after(thread, make_old);
	if (thread < 2)
		must_get();
	else if (pawl_depot_take(&world->slots, &slot, 1) > 0)
		use(slot);
}

/* put: one puts the slot back that it has, and the other wants one. */
static void get_first(void)
{
	world->mine = must_get();
}

static void put_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, get_first);
	if (thread == 0)
		put(world->mine);
	else
		must_get();
}

/* left: who ends leaves two slots in its shard; another one finds both. */
static void left_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, leave_two);
	if (thread == 1) {
		must_get();
		must_get();
	}
}

/* none: the same with one slot; who comes before it is back gets none. */
static void none_thread(void *argument, int thread)
{
	uint32_t slot;

	(void)argument;
	begin_after(thread, get_first);
	if (thread == 0)
		put(world->mine);
	else
		get(&slot);
}

static void set_up_one(void *argument)
{
	(void)argument;
	set_up_with(PAWL_SHARDS_LEASED, 1);
}

/* home: two threads with one shard, which has two slots; home-three: three. */
static void set_up_home(void *argument)
{
	set_up_two(argument);
	world->homes[1] = 0;
}

static void set_up_home_of_three(void *argument)
{
	set_up_three(argument);
	world->homes[1] = 0;
	world->homes[2] = 0;
}

static void home_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, leave_two);
	must_get();
}

/* hostage: one stays in the shard until the other has got a slot, and put it back: it
 * waits for nothing (I3 of pawl/shards.h). */
static void set_up_hostage(void *argument)
{
	set_up_three(argument);
	world->homes[1] = 0;
}

static void hostage_thread(void *argument, int thread)
{
	struct pawl_lease_handle *h = begin_after(thread, NULL);

	(void)argument;
	if (thread == 0) {
		struct pawl_shard *s = pawl_shards_enter(&world->slots.shards, h);

		pawl_store_release(&world->held, 1);
		pawl_await_ne_acquire(&world->left, 0, PAWL_SPIN);
		pawl_shards_exit(&world->slots.shards, s, h);
		return;
	}
	pawl_await_ne_acquire(&world->held, 0, PAWL_SPIN);
	put(must_get());
	see(SAW_SHARED);
	pawl_store_release(&world->left, 1);
}

/* detour: one entry is left of the way round that a hostage makes. Two come at once; the
 * next time they enter, since the detour is over, and each leaves again. */
static pawl_atomic64 *detour_of(struct pawl_shard *s)
{
	pawl_atomic64 *count = (pawl_atomic64 *)s; /* it is in front of the shard */

	/* Relaxed: only the caller's thread is there. */
	do
		count--;
	while (pawl_load_relaxed(count) != PAWL_SHARDS_DETOUR);
	return count;
}

static void go_round_all_but_once(void)
{
	struct pawl_lease_handle *stuck = &world->handles[2], *other = &world->handles[1];
	struct pawl_shards *shards = &world->slots.shards;
	struct pawl_shard *s = pawl_shards_enter(shards, stuck);

	if (pawl_shards_enter(shards, other) != NULL)
		pawl_die_("two are inside");
	pawl_shards_exit(shards, s, stuck);
	/* As after all entries but one. Relaxed: before the release of all of it. */
	pawl_store_relaxed(detour_of(s), 1);
}

static void detour_thread(void *argument, int thread)
{
	struct pawl_lease_handle *h = begin_after(thread, go_round_all_but_once);
	struct pawl_shards *shards = &world->slots.shards;
	int i;

	(void)argument;
	for (i = 0; i < 2; i++) {
		struct pawl_shard *s = pawl_shards_enter(shards, h);

		if (s != NULL)
			pawl_shards_exit(shards, s, h);
		else if (i == 0)
			see(SAW_SHARED);
		else
			explore_fail(VERDICT_ASSERTION,
				     "thread %d is on a detour for ever", thread);
	}
}

/* died: one ends inside its shard, before any of its writes, or does not; its shard is
 * mended by who needs the slots, of which none is in two places and none is lost. */
static void work_and_die(struct pawl_lease_handle *h)
{
	be_mortal(h);
	if (_setjmp(end_of_life) == 0) {
		/* It has the slot until that is in the shard, and count comes last. */
		pawl_slots_put(&world->slots, world->mine);
		world->hands[0] = 0;
	}
	be_immortal();
	pawl_store_release(&world->left, 1);
}

static void died_thread(void *argument, int thread)
{
	struct pawl_lease_handle *h = begin_after(thread, get_first);

	(void)argument;
	if (thread == 0)
		work_and_die(h);
	else
		must_get();
}

static void died_finished(void *argument)
{
	(void)argument;
	/* Put before the end, or not. */
	if (dead)
		world->hands[0] = 0;
	all_but(dead ? (uint64_t)1 << world->mine : 0);
}

/* trim: one looks for idle words while the other wants a slot. */
static void set_up_word(void *argument)
{
	(void)argument;
	set_up_with(PAWL_SHARDS_LEASED, 64);
}

/* As after many gets and puts. */
static void fill_depot(void)
{
	/* Relaxed: before the release of all of it. */
	pawl_store_relaxed(&world->slots.words[0], ~(uint64_t)0);
	pawl_store_relaxed(&world->slots.summary[0], 1);
	pawl_store_relaxed(&world->slots.fresh, 1);
	pawl_store_relaxed(&world->slots.made, 1);
}

static void use_all(uint64_t first, uint64_t slots, void *argument)
{
	uint64_t i;

	(void)argument;
	see(SAW_IDLE);
	for (i = first; i < first + slots; i++)
		world->uses[i]++;
}

static void trim_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, fill_depot);
	if (thread == 0)
		pawl_slots_each_idle(&world->slots, use_all, NULL);
	else
		must_get();
}

/* idle: a round of maintenance drains a shard that nobody has used for two rounds, and
 * to which somebody comes back just then. */
static void leave_long_ago(void)
{
	leave_two();
	now = (uint64_t)1 << 40;
	pawl_shards_maintain(&world->slots.shards);
	pawl_shards_maintain(&world->slots.shards);
}

static void idle_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, leave_long_ago);
	if (thread == 0)
		pawl_shards_maintain(&world->slots.shards);
	else
		put(must_get());
}

/* rounds: two do the same, and there is one keeper at a time. */
static void rounds_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, leave_long_ago);
	pawl_shards_maintain(&world->slots.shards);
}

/* frozen: one looks at all stacks while nobody is inside. */
static void look_at_stacks(void *argument)
{
	uint64_t i, k, used = pawl_shards_used(&world->slots.shards);

	(void)argument;
	see(SAW_LOOKED);
	for (i = 0; i < used; i++)
		/* Relaxed: the lease is drained. */
		for (k = 0; k < pawl_load_relaxed(&own_shard(i)->state); k++)
			world->looked += own_shard(i)->slot[k];
}

static void frozen_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, leave_two);
	if (thread == 1)
		put(must_get());
	else if (!pawl_shards_frozen(&world->slots.shards, 1, look_at_stacks, NULL))
		see(SAW_REFUSED);
}

/* frozen-new: the other puts its slot into a shard that is not in use so far. A look that
 * sees, at its end, that this is done has counted that slot, or there is another one. */
static void get_both(void)
{
	must_get();
	must_get();
}

static void count_in_stacks(void *argument)
{
	uint64_t i, used = pawl_shards_used(&world->slots.shards);

	(void)argument;
	see(SAW_LOOKED);
	world->looked = 0;
	for (i = 0; i < used; i++)
		/* Relaxed: the lease is drained. */
		world->looked += pawl_load_relaxed(&own_shard(i)->state);
	world->told = pawl_load_acquire(&world->left); /* [D] pairs with [C] */
}

static void frozen_new_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, get_both);
	if (thread == 1) {
		world->hands[0] &= ~(uint64_t)2;
		put(1);
		pawl_store_release(&world->left, 1); /* [C] pairs with [D] */
	} else if (pawl_shards_frozen(&world->slots.shards, 1, count_in_stacks, NULL) &&
		   world->told != 0 && world->looked == 0) {
		explore_fail(VERDICT_ASSERTION, "a look misses a slot");
	}
}

/*
 * inherited: the child of a fork, whose parent had a keeper that had drained a shard's
 * lease. It is not here; the first to keep house mends that, and no slot is missed.
 */
static void set_up_child(void *argument)
{
	set_up_two(argument);
	world->homes[1] = 0;
}

static void fork_now(void *argument)
{
	(void)argument;
	_longjmp(end_of_life, 1);
}

static void inherit(void)
{
	leave_two();
	pawl_self()->lease = &world->handles[2]; /* the parent's keeper */
	if (_setjmp(end_of_life) == 0)
		pawl_shards_frozen(&world->slots.shards, 1, fork_now, NULL);
	pawl_self()->lease = &world->handles[0];
	pawl_lease_generation = 1;
}

static void inherited_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, inherit);
	if (thread == 0) {
		pawl_shards_maintain(&world->slots.shards);
	} else {
		int error = pawl_shards_reclaim(&world->slots.shards);

		if (error != EBUSY)
			expect("reclaim", error, 0);
	}
}

static void inherited_finished(void *argument)
{
	if (explore_final(&own_shard(0)->base.lease.word.raw) == DRAINED)
		explore_fail(VERDICT_ASSERTION, "nobody can have the lease any more");
	all_are_there(argument);
}

/* list, of the kind ATOMIC: a list of two slots. */
static void set_up_list(void *argument)
{
	(void)argument;
	set_up_with(PAWL_SHARDS_ATOMIC, 2);
	world->homes[1] = 0;
}

static void list_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, leave_two);
	put(must_get());
}

/* list-share: who comes first leaves two more in a list; the other finds one there, also
 * while these are on their way. */
static void set_up_list_of_three(void *argument)
{
	(void)argument;
	set_up_with(PAWL_SHARDS_ATOMIC, 3);
	world->homes[1] = 0;
}

static void list_share_thread(void *argument, int thread)
{
	(void)argument;
	begin(thread);
	must_get();
}

/* list-again: a list's top comes back, with another slot below. */
static void list_again_thread(void *argument, int thread)
{
	uint32_t first, second;

	(void)argument;
	begin_after(thread, get_first);
	if (!get(&first) || thread != 0)
		return;
	get(&second);
	put(world->mine);
	put(first);
}

/* list-put: as put, with two lists. */
static void get_of_two_lists(void)
{
	get_first();
	/* Relaxed: before the release of all of it. */
	pawl_store_relaxed(&world->slots.shards.mask, 1);
}

static void list_put_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, get_of_two_lists);
	if (thread == 0)
		put(world->mine);
	else
		must_get();
}

/* grow: the next failure makes a second list. */
static void set_up_grow(void *argument)
{
	(void)argument;
	set_up_with(PAWL_SHARDS_ATOMIC, 2);
}

static void leave_contended(void)
{
	leave_two();
	/* Relaxed: before the release of all of it. */
	pawl_store_relaxed(&world->slots.shards.failures, 63);
}

static void grow_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, leave_contended);
	put(must_get());
}

static void grow_finished(void *argument)
{
	if (explore_final(&world->slots.shards.mask.raw) == 1)
		see(SAW_GROWN);
	all_are_there(argument);
}

/* shrink: there were two lists, and one drains the second, which the other uses, or, in
 * shrink-three, both others. */
static void set_up_shrink_of_three(void *argument)
{
	(void)argument;
	set_up_with(PAWL_SHARDS_ATOMIC, 3);
}

static void leave_quiet(void)
{
	leave_two();
	/* Relaxed: before the release of all of it. */
	pawl_store_relaxed(&world->slots.shards.mask, 1);
	world->slots.shards.quiet = world->slots.shards.patience;
}

static void shrink_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, leave_quiet);
	if (thread == 0)
		pawl_shards_maintain(&world->slots.shards);
	else
		put(must_get());
}

#include "slots_counter.h"

const struct lock_type slots_types[] = {
	{.name = "slots", .base = "slots", .header = "pawl/slots.h"},
	{.name = NULL},
};

const struct scenario slots_scenarios[] = {
	TWO("share", "two slots for two threads, that come first", set_up_two,
	    share_thread, all_are_there, SIGHT(DRAINED) | SIGHT(BUSY)),
	THREE("old", "slots that are not new, and a third who finds none", set_up_three,
	      old_thread, all_are_there, SIGHT(DRAINED), .takes_minutes = true),
	TWO("put", "one puts a slot back, the other wants one", set_up_two, put_thread,
	    all_are_there, SIGHT(DRAINED) | SIGHT(BUSY)),
	TWO("none", "the same, and there is no other", set_up_one, none_thread,
	    all_are_there, SIGHT(DRAINED) | SIGHT(NONE)),
	TWO("left", "a thread ends and leaves slots in its shard", set_up_two,
	    left_thread, all_are_there, SIGHT(DRAINED)),
	TWO("home", "two threads get slots from one shard", set_up_home, home_thread,
	    all_are_there, SIGHT(BUSY)),
	THREE("home-three", "the same, with three", set_up_home_of_three, home_thread,
	      all_are_there, SIGHT(BUSY)),
	TWO("hostage", "one stays inside for as long as another needs", set_up_hostage,
	    hostage_thread, all_are_there, SIGHT(SHARED)),
	TWO("detour", "two threads come to the end of a detour", set_up_home,
	    detour_thread, all_are_there, SIGHT(SHARED)),
	TWO("died", "a thread ends inside its shard", set_up_two, died_thread,
	    died_finished, SIGHT(RECOVERED)),
	THREE("died-three", "the same, with three", set_up_three, died_thread,
	      died_finished, SIGHT(RECOVERED), .takes_hours = true),
	TWO("trim", "one has a word to itself while another needs a slot", set_up_word,
	    trim_thread, all_are_there, SIGHT(IDLE) | SIGHT(BUSY)),
	TWO("idle", "a shard is drained as somebody comes back to it", set_up_home,
	    idle_thread, all_are_there, SIGHT(DRAINED)),
	TWO("rounds", "two keep house", set_up_two, rounds_thread, all_are_there,
	    SIGHT(DRAINED)),
	THREE("rounds-three", "three do", set_up_three, rounds_thread, all_are_there,
	      SIGHT(DRAINED)),
	TWO("frozen", "one looks while nobody is inside", set_up_home, frozen_thread,
	    all_are_there, SIGHT(LOOKED) | SIGHT(REFUSED)),
	TWO("frozen-new", "the same, and a shard comes into use", set_up_two,
	    frozen_new_thread, all_are_there, SIGHT(LOOKED)),
	TWO("inherited", "the child of a fork in which leases were drained", set_up_child,
	    inherited_thread, inherited_finished, SIGHT(DRAINED)),
	TWO("list", "two threads get slots from a list, and put them back", set_up_list,
	    list_thread, all_are_there, 0),
	THREE("list-three", "the same, with three", set_up_list_of_three, list_thread,
	      all_are_there, 0, .takes_minutes = true),
	TWO("list-again", "a list's top comes back, and what was below does not",
	    set_up_list_of_three, list_again_thread, all_are_there, 0),
	TWO("list-share", "the same, and one makes the list", set_up_list_of_three,
	    list_share_thread, all_are_there, SIGHT(BUSY)),
	TWO("list-put", "one puts a slot into its list, the other wants one", set_up_grow,
	    list_put_thread, all_are_there, SIGHT(DRAINED)),
	TWO("grow", "the same, and there are more lists", set_up_grow, grow_thread,
	    grow_finished, SIGHT(GROWN)),
	TWO("shrink", "a list is drained that another one uses", set_up_grow,
	    shrink_thread, all_are_there, SIGHT(DRAINED)),
	THREE("shrink-three", "the same, with three", set_up_shrink_of_three,
	      shrink_thread, all_are_there, SIGHT(DRAINED), .takes_minutes = true),
	POOL_SCENARIOS,
	COUNTER_SCENARIOS,
	{.name = NULL},
};
