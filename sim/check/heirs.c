/* SPDX-License-Identifier: MIT */
/*
 * Slots and a process that forks: src/lease/slots.c, shards.c, depot.c, heirs.c, handle.c
 * and lease.c as they are. Thread 0 forks wherever the others are; then we follow the
 * parent, or the child. What the child's memory has of a slot that nobody holds can be
 * had there, once.
 */
#include "heirs_world.h"

/* The child. */

/* All that can be had. Returns how many; the set is `got`. */
static size_t take_all(uint8_t *got)
{
	struct pawl_slots *a = &world->slots;
	uint32_t slots[MOST_SLOTS];
	size_t n = 0, i;

	memset(got, 0, MOST_SLOTS);
	if (a->limit > FEW_SLOTS)
		n = pawl_slots_get_batch(a, slots, MOST_SLOTS);
	else
		while (n < MOST_SLOTS &&
		       (slots[n] = pawl_slots_get(a)) != PAWL_SLOTS_NONE)
			n++;
	for (i = 0; i < n; i++) {
		if (slots[i] >= a->limit)
			cores_fail(VERDICT_ASSERTION, "slot %u is none", slots[i]);
		if (got[slots[i]]++ != 0)
			cores_fail(VERDICT_EXCLUSION, "slot %u is given out twice",
				   slots[i]);
	}
	return n;
}

static void put_all(const uint8_t *got)
{
	uint32_t slot, slots[MOST_SLOTS];
	size_t n = 0;

	for (slot = 0; slot < world->slots.limit; slot++)
		if (got[slot] != 0)
			slots[n++] = slot;
	pawl_slots_put_batch(&world->slots, slots, n);
}

/* Compares with what was there. */
static void judge(const uint8_t *got)
{
	int missing = 0;
	uint32_t slot;

	for (slot = 0; slot < world->slots.limit; slot++) {
		int now = world->holder[slot], then = world->earlier[slot];

		if (now != 0 && now == then && now != BEING_PUT) {
			if (got[slot] != 0)
				cores_fail(VERDICT_EXCLUSION,
					   "slot %u is given out, which thread %d has",
					   slot, now - 1);
		} else if (got[slot] == 0) {
			if (world->places[slot] != 0)
				cores_fail(VERDICT_ASSERTION,
					   "slot %u is there, and cannot be had", slot);
			missing += world->touched[slot] == 0;
		}
	}
	missing -= __builtin_popcount(world->getting);
	if (!world->late && missing > 0)
		cores_fail(VERDICT_ASSERTION, "nobody was inside, and %d slots are lost",
			   missing);
}

static void be_the_child(void)
{
	uint8_t got[MOST_SLOTS];
	bool stuck = pawl_lease_stuck_in((char *)1, (char *)UINTPTR_MAX);
	size_t n;

	world->is_child = true;
	world->forks = false;
	for_early_parts(copy_back);
	world->early = 0;
	find_all(!stuck);
	pawl_lease_forked();
	pawl_heirs_forked();
	if (scene->heir_does != NULL && sim_one_in(2))
		scene->heir_does(FORKER);
	n = take_all(got);
	judge(got);
	put_all(got);
	if (take_all(got) != n)
		cores_fail(VERDICT_ASSERTION, "what was put back cannot be had");
}

static void fork_once(void)
{
	world->late = sim_one_in(2);
	world->forks = true;
	memcpy(world->earlier, world->holder, sizeof(world->holder));
	memcpy(world->touched, world->holder, sizeof(world->holder));
	pawl_lease_before_fork();
	pawl_heirs_before_fork();
	/* Relaxed: a step, that others may come in between. */
	pawl_fetch_add_relaxed(&world->copied, 1);
	copy_early();
	if (cores_fork()) {
		be_the_child();
		return;
	}
	for_early_parts(clear);
	world->early = 0;
	pawl_heirs_after_fork();
	pawl_lease_after_fork();
	world->forks = false;
}

/* What others are at meanwhile; and before. */

static void get_one(int thread)
{
	get(thread);
}

static void get_and_put(int thread)
{
	put(thread, get(thread));
}

static void put_mine(int thread)
{
	put(thread, world->mine[thread]);
}

static void drain_all(int thread)
{
	(void)thread;
	pawl_shards_reclaim(&world->slots.shards);
}

static void keep_house(int thread)
{
	(void)thread;
	pawl_shards_maintain(&world->slots.shards);
}

static void look(void *argument)
{
	(void)argument;
}

static void freeze(int thread)
{
	(void)thread;
	pawl_shards_frozen(&world->slots.shards, 1, look, NULL);
}

/* Relaxed: a step, that a fork may come. */
static void linger(uint64_t first, uint64_t slots, void *argument)
{
	(void)first, (void)slots, (void)argument;
	pawl_fetch_add_relaxed(&world->copied, 1);
}

static void trim(int thread)
{
	(void)thread;
	pawl_slots_each_idle(&world->slots, linger, NULL);
}

/* Another object goes, or comes and goes. */
static void destroy_other(int thread)
{
	(void)thread;
	pawl_slots_destroy(&world->other);
	memset(&world->other, 0, sizeof(world->other)); /* a fork that finds it crashes */
}

static void replace_other(int thread)
{
	destroy_other(thread);
	if (pawl_slots_create(&world->other, PAWL_SHARDS_LEASED, 1) != 0)
		pawl_die_("no slots");
}

/* The child makes an object of its own, whatever the others were at. */
static void make_third(int thread)
{
	(void)thread;
	if (pawl_slots_create(&world->third, PAWL_SHARDS_LEASED, 1) != 0)
		pawl_die_("no slots");
	pawl_slots_destroy(&world->third);
}

/* As after many gets and puts: all are in the depot. */
static void be_old(int thread)
{
	struct pawl_slots *a = &world->slots;

	if (thread != 0)
		return;
	a->words[0].raw = ~(uint64_t)0 >> (64 - a->limit);
	a->summary[0].raw = a->fresh.raw = a->made.raw = 1;
}

/* All are in the shard of thread 1; or of thread 0; or that one has one. */
static void fill_shard(int thread)
{
	if (thread == 1)
		get_and_put(1);
}

static void fill_far_shard(int thread)
{
	if (thread == 0)
		get_and_put(0);
}

static void have_one(int thread)
{
	if (thread == 1)
		world->mine[1] = get(1);
}

static void have_one_each(int thread)
{
	if (thread > 0)
		world->mine[thread] = get(thread);
}

/* The shard of thread 1 is full, and it has one more. */
static void fill_to_the_brim(int thread)
{
	uint32_t slots[PAWL_SLOTS_CACHE + 1];

	if (thread != 1)
		return;
	pawl_slots_get_batch(&world->slots, slots, PAWL_SLOTS_CACHE + 1);
	pawl_slots_put_batch(&world->slots, slots, PAWL_SLOTS_CACHE);
	world->mine[1] = slots[PAWL_SLOTS_CACHE];
	hold(1, world->mine[1]);
}

static void fill_long_ago(int thread)
{
	fill_shard(thread);
	if (thread != 1)
		return;
	world->now = (uint64_t)1 << 40;
	keep_house(1);
	keep_house(1);
}

/* The next failure makes a second list. */
static void be_contended(int thread)
{
	fill_far_shard(thread);
	world->slots.shards.failures.raw = 63;
}

/* Setting up. */

static void set_up(void *check)
{
	int t;

	scene = check;
	world = cores_allocate(sizeof(*world), 128);
	world->now = 1;
	if (pawl_slots_create(&world->slots, scene->kind, scene->limit) != 0 ||
	    pawl_slots_create(&world->other, scene->kind, 1) != 0)
		pawl_die_("no slots");
	world->slots.shards.due.raw = world->other.shards.due.raw = NEVER;
	for (t = 0; t < THREADS; t++)
		world->homes[t] = t > 0;
	cores_label(&world->slots, sizeof(world->slots), "slots", NULL);
	cores_label(own_shard(0), 384, "shard 0", NULL);
	cores_label(own_shard(1), 384, "shard 1", NULL);
	cores_label(shared_shard(0), 384, "shared shard", NULL);
	cores_label(world->slots.words, 8, "depot", NULL);
	cores_label(world->slots.summary, 8, "summary", NULL);
}

static void prepare(void *check, int thread)
{
	static const char *const names[] = {"handle 0", "handle 1", "handle 2"};
	struct pawl_lease_handle *h = pawl_lease_self();

	(void)check;
	h->home = &world->homes[thread];
	cores_label(h, sizeof(*h), names[thread], NULL);
	if (scene->before != NULL)
		scene->before(thread);
}

static void live(void *check, int thread)
{
	(void)check;
	if (scene->does[thread] != NULL)
		scene->does[thread](thread);
	else
		fork_once();
}

/* Nothing has happened to the parent. */
static void finished(void *check)
{
	const uint8_t *places = world->places;
	uint32_t slot;

	(void)check;
	if (world->is_child)
		return;
	find_all(true);
	for (slot = 0; slot < world->slots.limit; slot++)
		if (places[slot] + (world->holder[slot] != 0) != 1)
			cores_fail(VERDICT_ASSERTION, "slot %u is in %d places", slot,
				   places[slot] + (world->holder[slot] != 0));
}

OUTSIDE static void check(const struct scenario *scenario, int threads, int episodes,
			  const struct options *options, struct result *result)
{
	struct cores_program program = {
		.threads = threads,
		.cpus = threads,
		.pinned = true,
		.set_up = scenario->set_up,
		.prepare = prepare,
		.thread = scenario->thread,
		.finished = scenario->finished,
		.context = (void *)(uintptr_t)scenario->cores,
	};

	(void)episodes;
	sim_leases_by_thread = true;
	sim_sequences = ((const struct scene *)scenario->cores)->sequences;
	sim_clock = tell_time;
	sim_yield = wait_for_others;
	cores_explore(&program, options, result);
	sim_leases_by_thread = false;
	sim_sequences = false;
	sim_clock = NULL;
	sim_yield = NULL;
}

const struct lock_type heirs_types[] = {
	{.name = "heirs", .base = "heirs", .header = "pawl/slots.h"},
	{.name = NULL},
};

#define CORE(threads)                                                               \
	{                                                                           \
		threads, 1, threads, 1, true, check, .ends = true, .in_order = true \
	}
/* What it is of, the child's first deed, and what others do. */
#define SCENE(threads, of, most, had, first, ...)                               \
	{                                                                       \
		.core = CORE(threads), .kind = PAWL_SHARDS_##of, .limit = most, \
		.before = had, .does = {NULL, __VA_ARGS__}, .heir_does = first, \
		.at_once = threads == THREADS                                   \
	}

static const struct scene
	getting = SCENE(2, LEASED, 4, NULL, NULL, get_one),
	getting_old = SCENE(2, LEASED, 4, be_old, NULL, get_one),
	getting_own = SCENE(2, LEASED, 4, fill_shard, NULL, get_one),
	getting_far = SCENE(2, LEASED, 4, fill_far_shard, NULL, get_one),
	putting = SCENE(2, LEASED, 4, have_one, trim, put_mine),
	relieving = SCENE(2, LEASED, 65, fill_to_the_brim, trim, put_mine),
	draining = SCENE(2, LEASED, 4, fill_shard, keep_house, drain_all),
	keeping = SCENE(2, LEASED, 4, fill_long_ago, keep_house, keep_house),
	freezing = SCENE(2, LEASED, 4, fill_shard, keep_house, freeze),
	trimming = SCENE(2, LEASED, 64, be_old, trim, trim),
	destroying = SCENE(2, LEASED, 4, fill_shard, NULL, destroy_other),
	replacing = SCENE(2, LEASED, 4, fill_shard, make_third, replace_other),
	sequences_end = {.core = CORE(2),
			 .limit = 4,
			 .before = fill_shard,
			 .does = {NULL, get_one},
			 .sequences = true},
	list_getting = SCENE(2, ATOMIC, 4, NULL, NULL, get_one),
	list_own = SCENE(2, ATOMIC, 4, fill_shard, NULL, get_and_put),
	list_putting = SCENE(2, ATOMIC, 4, have_one, keep_house, put_mine),
	list_draining = SCENE(2, ATOMIC, 4, fill_shard, keep_house, drain_all),
	three_getting = SCENE(3, LEASED, 4, NULL, NULL, get_one, get_one),
	three_moving = SCENE(3, LEASED, 4, have_one_each, NULL, put_mine, drain_all),
	three_lists = SCENE(3, ATOMIC, 4, have_one_each, NULL, put_mine, get_one),
	sharing = {.core = CORE(3), .limit = 3, .does = {get_one, get_one, get_one}},
	growing = {.core = CORE(3),
		   .kind = PAWL_SHARDS_ATOMIC,
		   .limit = 3,
		   .before = be_contended,
		   .does = {get_and_put, get_and_put, get_and_put}};

#define HEIRS(called, is, count, in, time)                                               \
	{                                                                                \
		.name = called, .what = is, .least_threads = count,                      \
		.only_threads = count, .only_episodes = 1, .waiting_slots = 1,           \
		.applies = always, .expected = passes, .set_up = set_up, .thread = live, \
		.finished = finished, .cores = &in.core, .takes_##time = true            \
	}

const struct scenario heirs_scenarios[] = {
	HEIRS("get", "a fork while another gets a new slot", 2, getting, seconds),
	HEIRS("get-old", "one from the depot", 2, getting_old, seconds),
	HEIRS("get-own", "one from its shard", 2, getting_own, minutes),
	HEIRS("get-far", "one from another shard", 2, getting_far, minutes),
	HEIRS("put", "puts a slot back", 2, putting, seconds),
	HEIRS("relieve", "the same, and its shard is full", 2, relieving, seconds),
	HEIRS("drain", "empties all shards", 2, draining, seconds),
	HEIRS("round", "keeps house", 2, keeping, minutes),
	HEIRS("frozen", "looks while nobody is inside", 2, freezing, minutes),
	HEIRS("trim", "has a word to itself", 2, trimming, seconds),
	HEIRS("destroy", "destroys another object", 2, destroying, seconds),
	HEIRS("replace", "destroys another object, and makes one", 2, replacing, seconds),
	HEIRS("sequences", "gets a slot, and there are sequences", 2, sequences_end,
	      seconds),
	HEIRS("list-get", "gets a new slot and more for a list", 2, list_getting,
	      seconds),
	HEIRS("list", "gets a slot from a list, and puts it back", 2, list_own, minutes),
	HEIRS("list-put", "puts a slot into a list", 2, list_putting, seconds),
	HEIRS("list-drain", "empties lists", 2, list_draining, seconds),
	HEIRS("get-three", "a fork while two others get slots", 3, three_getting,
	      minutes),
	HEIRS("move-three", "one puts a slot, another empties shards", 3, three_moving,
	      minutes),
	HEIRS("list-three", "one puts a slot into a list, another gets one", 3,
	      three_lists, minutes),
	HEIRS("share", "no fork: three slots for three threads", 3, sharing, hours),
	HEIRS("grow", "no fork: three threads, and one more list", 3, growing, hours),
	{.name = NULL},
};
