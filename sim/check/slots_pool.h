/* SPDX-License-Identifier: MIT */
/*
 * What is made of slots: pools (src/lease/pool.c) and ids, from creation to destruction, on
 * the leases of slots_world.h. A thread writes to its object
 * with plain stores, so that two threads with one object race, and so do a thread and a trim:
 * memory that goes back to the system is written to. The last thread to come through counts
 * what there is and destroys it; whatever touches it afterwards is a use after free.
 */
#ifndef CHECK_SLOTS_POOL_H
#define CHECK_SLOTS_POOL_H

#include <pawl/counter.h>
#include <pawl/idalloc.h>
#include <pawl/pool.h>

#include <limits.h>
#include <string.h>

static size_t discard_pages(void *start, size_t bytes)
{
	see(SAW_IDLE);
	memset(start, 0, bytes);
	return bytes;
}

#define pawl_os_discard discard_pages
#include <lease/pool.c>

enum { OBJECT = 16 }; /* bytes */

static struct things {
	struct pawl_pool pool;
	struct pawl_counter counter; /* slots_counter.h */
	struct pawl_idalloc ids;
	struct pawl_shards shards;
	pawl_atomic64 done; /* threads that came through */
} * things;

static void make_things(void)
{
	set_up_with(PAWL_SHARDS_LEASED, 1);
	things = explore_allocate(sizeof(*things), 128);
	explore_label(things, "things");
	sim_reserves = UINT_MAX;
}

static void show_sights(void *argument)
{
	(void)argument;
	scenario_saw(seen);
}

/* Whether all others have come through. */
static bool is_last(void)
{
	return pawl_fetch_add_seq_cst(&things->done, 1) == 1;
}

/* No round of maintenance is due. Relaxed: before the release of all of it. */
static void never_due(struct pawl_shards *shards)
{
	pawl_store_relaxed(&shards->due, NEVER);
}

/* Pools. */

static void create_pool(enum pawl_shards_kind kind, uint64_t limit, bool type_stable)
{
	const struct pawl_pool_plan plan = {kind, OBJECT - 1, limit, type_stable};

	make_things();
	expect("pool_create", pawl_pool_create(&things->pool, &plan), 0);
}

static void quiet_pool(void)
{
	never_due(&things->pool.slots.shards);
}

static uint64_t *must_get_object(void)
{
	uint64_t *object = pawl_pool_get(&things->pool);

	if (object == NULL)
		explore_fail(VERDICT_ASSERTION, "thread %d misses an object that is free",
			     explore_thread());
	return object;
}

/* Writes to an object, and finds it as it was written. */
static void use_object(uint64_t *object, uint64_t value)
{
	object[0] = object[1] = value;
	if (object[0] != value || object[1] != value)
		explore_fail(VERDICT_ASSERTION,
			     "an object changes in its holder's hands");
}

/* All objects are there, each once; then the pool goes. */
static void destroy_pool(void)
{
	struct pawl_pool *pool = &things->pool;
	uint64_t limit = pool->slots.limit, found = 0, i;

	for (i = 0; i < limit; i++) {
		size_t offset = (size_t)((char *)must_get_object() - pool->objects);

		if (offset % OBJECT != 0 || offset / OBJECT >= limit)
			explore_fail(VERDICT_ASSERTION, "%zu is no object", offset);
		if ((found >> offset / OBJECT & 1) != 0)
			explore_fail(VERDICT_ASSERTION, "an object comes twice");
		found |= (uint64_t)1 << offset / OBJECT;
	}
	pawl_pool_destroy(pool);
}

/* pool: two threads come first to a pool of two objects; pool-atomic: with lists. */
static void set_up_pool(void *argument)
{
	(void)argument;
	create_pool(PAWL_SHARDS_LEASED, 2, false);
	world->homes[1] = 0;
}

static void set_up_pool_of_lists(void *argument)
{
	(void)argument;
	create_pool(PAWL_SHARDS_ATOMIC, 2, false);
}

static void pool_thread(void *argument, int thread)
{
	uint64_t *object;

	(void)argument;
	begin_after(thread, quiet_pool);
	object = must_get_object();
	use_object(object, (uint64_t)thread + 1);
	pawl_pool_put(&things->pool, object);
	if (is_last())
		destroy_pool();
}

/* pool-due: the same, and a round of maintenance is due, as in a new pool. */
static void pool_due_thread(void *argument, int thread)
{
	uint64_t *object;

	(void)argument;
	begin_after(thread, NULL);
	object = must_get_object();
	use_object(object, (uint64_t)thread + 1);
	if (is_last() && pawl_load_acquire(&things->pool.slots.shards.due) <= now)
		explore_fail(VERDICT_ASSERTION, "no thread has done the round");
}

/* pool-trim: one gives memory back while the other comes for an object. */
static void set_up_pool_of_word(void *argument)
{
	(void)argument;
	create_pool(PAWL_SHARDS_LEASED, 64, false);
}

/* As after many gets and puts. Relaxed: before the release of all of it. */
static void fill_pool(void)
{
	struct pawl_slots *a = &things->pool.slots;

	quiet_pool();
	pawl_store_relaxed(&a->words[0], ~(uint64_t)0);
	pawl_store_relaxed(&a->summary[0], 1);
	pawl_store_relaxed(&a->fresh, 1);
	pawl_store_relaxed(&a->made, 1);
}

static void pool_trim_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, fill_pool);
	if (thread == 0) {
		size_t bytes = pawl_pool_trim(&things->pool);

		if (bytes != 0 && bytes != (size_t)64 * OBJECT)
			explore_fail(VERDICT_ASSERTION, "%zu bytes went back", bytes);
	} else {
		use_object(must_get_object(), 7);
	}
}

/* pool-idle: an idle shard is drained by a round, which gives the memory back, as the
 * other thread comes to the objects. */
static void leave_pool_long_ago(void)
{
	fill_pool();
	pawl_pool_put(&things->pool, must_get_object());
	now = (uint64_t)1 << 40;
	pawl_shards_maintain(&things->pool.slots.shards);
	pawl_shards_maintain(&things->pool.slots.shards);
}

static void pool_idle_thread(void *argument, int thread)
{
	(void)argument;
	begin_after(thread, leave_pool_long_ago);
	if (thread == 0)
		pawl_shards_maintain(&things->pool.slots.shards);
	else
		use_object(must_get_object(), 7);
}

/* pool-stable: no memory goes back, so a freed object stays as it was put. */
static void set_up_stable_pool(void *argument)
{
	(void)argument;
	create_pool(PAWL_SHARDS_LEASED, 64, true);
}

static void pool_stable_thread(void *argument, int thread)
{
	uint64_t *object;

	(void)argument;
	begin_after(thread, fill_pool);
	if (thread == 0) {
		expect("pool_trim", (int)pawl_pool_trim(&things->pool), 0);
		return;
	}
	object = must_get_object();
	use_object(object, 7);
	pawl_pool_put(&things->pool, object);
	pawl_pool_trim(&things->pool);
	if (object[0] != 7)
		explore_fail(VERDICT_ASSERTION, "a freed object has changed");
}

/* pool-none: there is one object, which one thread puts; the other comes in time, or gets none. */
static void set_up_pool_of_one(void *argument)
{
	(void)argument;
	create_pool(PAWL_SHARDS_LEASED, 1, false);
}

static void get_object_first(void)
{
	quiet_pool();
	must_get_object();
}

static void pool_none_thread(void *argument, int thread)
{
	uint64_t *object;

	(void)argument;
	begin_after(thread, get_object_first);
	if (thread == 0) {
		use_object((uint64_t *)things->pool.objects, 1);
		pawl_pool_put(&things->pool, things->pool.objects);
		return;
	}
	object = pawl_pool_get(&things->pool);
	if (object != NULL)
		use_object(object, 2);
	else
		see(SAW_NONE);
}

/* refused: what cannot be made, for want of memory at each place, or by its limits, is
 * refused, and nothing is left behind; then it can. */
static void set_up_nothing(void *argument)
{
	(void)argument;
	make_things();
}

static void refused_thread(void *argument, int thread)
{
	const struct pawl_pool_plan none = {PAWL_SHARDS_LEASED, 0, 1, false};
	const struct pawl_pool_plan one = {PAWL_SHARDS_LEASED, OBJECT, 1, false};
	size_t before;

	(void)argument;
	begin_after(thread, NULL);
	if (thread != 0)
		return;
	before = explore_allocated().left;
	expect("pool of nothing", pawl_pool_create(&things->pool, &none), EINVAL);
	expect("no ids", pawl_idalloc_create(&things->ids, PAWL_SHARDS_LEASED, 0),
	       EINVAL);
	expect("too many ids",
	       pawl_idalloc_create(&things->ids, PAWL_SHARDS_LEASED, PAWL_SLOTS_LIMIT),
	       EINVAL);
	for (sim_reserves = 0; sim_reserves < 3; sim_reserves++) {
		unsigned granted = sim_reserves;

		expect("pool without memory", pawl_pool_create(&things->pool, &one),
		       ENOMEM);
		if (explore_allocated().left != before)
			explore_fail(VERDICT_ASSERTION, "a refused pool leaves memory");
		sim_reserves = granted;
	}
	sim_reserves = 0;
	expect("counter without memory",
	       pawl_counter_create(&things->counter, PAWL_SHARDS_LEASED), ENOMEM);
	sim_reserves = UINT_MAX;
	expect("pool", pawl_pool_create(&things->pool, &one), 0);
	pawl_pool_destroy(&things->pool);
	if (explore_allocated().left != before)
		explore_fail(VERDICT_ASSERTION, "a destroyed pool leaves memory");
}

/* ids: one thread takes ids in a batch while the other puts the id that it has. */
static void make_ids(enum pawl_shards_kind kind)
{
	make_things();
	expect("ids", pawl_idalloc_create(&things->ids, kind, 3), 0);
	world->homes[1] = 0;
}

static void set_up_ids(void *argument)
{
	(void)argument;
	make_ids(PAWL_SHARDS_LEASED);
}

static void set_up_ids_of_lists(void *argument)
{
	(void)argument;
	make_ids(PAWL_SHARDS_ATOMIC);
}

static void get_id_first(void)
{
	never_due(&things->ids.slots.shards);
	world->mine = pawl_idalloc_get(&things->ids);
}

static void ids_thread(void *argument, int thread)
{
	uint32_t ids[3];

	(void)argument;
	begin_after(thread, get_id_first);
	if (thread == 0) {
		size_t n = pawl_idalloc_get_batch(&things->ids, ids, 2);

		expect("get_batch", (int)n, 2);
		world->uses[ids[0]]++;
		world->uses[ids[1]]++;
		pawl_idalloc_put_batch(&things->ids, ids, n);
	} else {
		world->uses[world->mine]++;
		pawl_idalloc_put(&things->ids, world->mine);
	}
	if (pawl_idalloc_peak(&things->ids) != 64)
		explore_fail(VERDICT_ASSERTION, "the peak is wrong");
	if (!is_last())
		return;
	expect("get_batch", (int)pawl_idalloc_get_batch(&things->ids, ids, 3), 3);
	if (((1u << ids[0]) | (1u << ids[1]) | (1u << ids[2])) != 7)
		explore_fail(VERDICT_ASSERTION, "an id comes twice");
	pawl_idalloc_destroy(&things->ids);
}

/* Shards that are full, and code without sequences. */

/* leased: as compiled where there are no restartable sequences. */
static void leased_thread(void *argument, int thread)
{
	uint32_t slot;

	(void)argument;
	begin_after(thread, NULL);
	slot = pawl_slots_get_leased_(&world->slots);
	if (slot == PAWL_SLOTS_NONE)
		explore_fail(VERDICT_ASSERTION, "thread %d misses a slot", thread);
	use(slot);
	if (thread == 0) {
		world->hands[0] = 0;
		pawl_slots_put_leased_(&world->slots, slot);
	}
}

/* full: a shard, or a list, has all the slots that it may have, and another is put; the
 * other thread wants one. */
enum { FULL = PAWL_SLOTS_CACHE + 1 };

static void set_up_full(void *argument)
{
	uint32_t i;

	(void)argument;
	set_up_with(PAWL_SHARDS_LEASED, FULL);
	world->homes[1] = 0;
	for (i = 0; i < PAWL_SLOTS_CACHE; i++)
		own_shard(0)->slot[i] = i;
}

static void set_up_full_list(void *argument)
{
	(void)argument;
	set_up_with(PAWL_SHARDS_ATOMIC, FULL);
	world->homes[1] = 0;
}

/* Relaxed, all: before the release of all of it. */
static void fill_up(void)
{
	const struct pawl_slots *a = &world->slots;
	uint64_t i;

	pawl_store_relaxed(&world->slots.fresh, 2);
	pawl_store_relaxed(&world->slots.made, 2);
	if (a->shards.leased) {
		pawl_store_relaxed(&own_shard(0)->state, PAWL_SLOTS_CACHE);
		pawl_store_relaxed(&own_shard(0)->base.used, 1);
		pawl_store_relaxed(&world->slots.shards.top, 1);
		return;
	}
	for (i = 0; i < PAWL_SLOTS_CACHE; i++)
		pawl_store_relaxed(&a->links[i], i);
	pawl_store_relaxed(&shared_shard(0)->state,
			   PAWL_SLOTS_CACHE * PAWL_SLOTS_ONE + PAWL_SLOTS_CACHE);
}

static void full_thread(void *argument, int thread)
{
	uint32_t slot;

	(void)argument;
	begin_after(thread, fill_up);
	if (thread == 0) {
		pawl_slots_put(&world->slots, FULL - 1);
		return;
	}
	slot = pawl_slots_get(&world->slots);
	if (slot >= FULL)
		explore_fail(VERDICT_ASSERTION, "no slot of %d", (int)FULL);
	world->uses[slot % MOST_SLOTS]++;
	if (world->slots.shards.leased)
		pawl_slots_put_leased_(&world->slots, slot);
	else
		pawl_slots_put(&world->slots, slot);
}

static void full_finished(void *argument)
{
	const struct pawl_slots *a = &world->slots;
	uint64_t state = explore_final(a->shards.leased ? &own_shard(0)->state.raw
							: &shared_shard(0)->state.raw);
	int count = (int)(a->shards.leased ? state
					   : state % PAWL_SLOTS_TAG / PAWL_SLOTS_ONE);

	if (count > PAWL_SLOTS_CACHE)
		explore_fail(VERDICT_ASSERTION, "a shard has %d slots", count);
	count += __builtin_popcountll(explore_final(&a->words[0].raw)) +
		 __builtin_popcountll(explore_final(&a->words[1].raw));
	expect("slots in the end", count, FULL);
	show_sights(argument);
}

#define POOL_SCENARIOS                                                                   \
	TWO("pool", "two threads come first to a pool of two objects", set_up_pool,      \
	    pool_thread, show_sights, 0),                                                \
		TWO("pool-atomic", "the same, with lists", set_up_pool_of_lists,         \
		    pool_thread, show_sights, 0),                                        \
		TWO("pool-due", "the same, and the first round of maintenance is due",   \
		    set_up_pool, pool_due_thread, show_sights, 0),                       \
		TWO("pool-trim", "memory goes back as an object is taken",               \
		    set_up_pool_of_word, pool_trim_thread, show_sights, SIGHT(IDLE)),    \
		TWO("pool-idle", "the same, by a round that drains a shard",             \
		    set_up_pool_of_word, pool_idle_thread, show_sights, SIGHT(IDLE)),    \
		TWO("pool-stable", "no memory goes back", set_up_stable_pool,            \
		    pool_stable_thread, show_sights, 0),                                 \
		TWO("pool-none", "one object for two threads", set_up_pool_of_one,       \
		    pool_none_thread, show_sights, SIGHT(NONE)),                         \
		TWO("refused", "memory is refused at each place, then there is some",    \
		    set_up_nothing, refused_thread, show_sights, 0),                     \
		TWO("ids", "ids in a batch, until destruction", set_up_ids, ids_thread,  \
		    show_sights, 0),                                                     \
		TWO("ids-atomic", "the same, with lists", set_up_ids_of_lists,           \
		    ids_thread, show_sights, 0),                                         \
		TWO("leased", "slots without sequences", set_up_home, leased_thread,     \
		    all_are_there, 0),                                                   \
		TWO("full", "a slot is put where there is no room", set_up_full,         \
		    full_thread, full_finished, 0),                                      \
		TWO("full-list", "the same, with a list", set_up_full_list, full_thread, \
		    full_finished, 0)

#endif /* CHECK_SLOTS_POOL_H */
