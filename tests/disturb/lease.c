/* SPDX-License-Identifier: MIT */
/*
 * Leases, and what is made of them. Whoever uses these waits for nobody, so the
 * service must get through while the victim stands still, wherever that is.
 */
#define _GNU_SOURCE
#include "stage.h"

#include <pawl/counter.h>
#include <pawl/pool.h>

enum { OBJECTS = 512, FEW = 3, MANY = 2 * PAWL_SLOTS_CACHE, MS = 1000000 };

static struct pawl_lease lease;
static struct pawl_counter counter;
static struct pawl_pool pool;
static _Atomic int64_t added; /* to the counter, by whoever had not to be quick */
static void *objects[MANY];   /* the victim's */
static int taken;
static bool trims; /* the victim: it has all objects that it can get, for a while */

static void begin(void)
{
	const struct pawl_pool_plan plan = {.size = 64, .limit = OBJECTS};

	stage_demand(pawl_pool_create(&pool, &plan) == 0 &&
			     pawl_counter_create(&counter, PAWL_SHARDS_LEASED) == 0,
		     "objects cannot be made");
}

static void add(void)
{
	pawl_counter_add(&counter, 1);
	atomic_fetch_add(&added, 1);
}

static void enter_lease(void)
{
	struct pawl_lease_handle *h = pawl_lease_self();

	if (pawl_lease_acquire(&lease, h) == PAWL_LEASE_OK) {
		stage_section();
		pawl_lease_release(&lease, h);
	}
}

static void seize_lease(void)
{
	struct pawl_lease_handle *h = pawl_lease_self();

	if (pawl_lease_seize(&lease, h) == PAWL_LEASE_OK) {
		stage_section();
		pawl_lease_release(&lease, h);
	}
}

static void use_object(void)
{
	void *object = pawl_pool_get(&pool);

	if (object != NULL)
		pawl_pool_put(&pool, object);
}

/* Everything has been used on another CPU, by another thread, just before. */
static void prepare(void)
{
	stage_sit_on(1);
	pawl_lease_open(&lease);
	seize_lease();
	add();
	use_object();
}

static void before(void)
{
	stage_sit_on(0);
}

/* What may be used in a handler. */
static void handle(void)
{
	enter_lease();
	add();
	use_object();
}

/* The service: on the victim's CPU, or on the other one. */
static void use(void)
{
	void *object;

	stage_sit_on(stage_round() / 2 % 2 == 0);
	handle();
	seize_lease();
	pawl_shards_reclaim(&pool.slots.shards); /* as who finds the depot empty does */
	object = pawl_pool_get(&pool);
	stage_demand(object != NULL || trims,
		     "there is no object, while the victim stands still");
	if (object != NULL)
		pawl_pool_put(&pool, object);
}

/* In the child all is to be had, but for what the victim may have had in its hands; the
 * additions of others are of any moment. */
static void child(void)
{
	int64_t before_sum = 0, sum = 0;

	pawl_lease_open(&lease);
	stage_demand(pawl_counter_exact(&counter, (uint64_t)1000 * MS, &before_sum),
		     "no exact sum in the child");
	use();
	stage_demand(pawl_counter_exact(&counter, (uint64_t)1000 * MS, &sum) &&
			     sum == before_sum + 1,
		     "the child's sum is wrong");
}

static void check(void)
{
	static char *seen[OBJECTS];
	int64_t sum = 0;
	int n = 0;

	stage_demand(pawl_counter_exact(&counter, (uint64_t)10000 * MS, &sum) &&
			     sum == atomic_load(&added),
		     "the sum is wrong");
	while (n < OBJECTS && (seen[n] = pawl_pool_get(&pool)) != NULL)
		n++;
	stage_demand(n == OBJECTS && pawl_pool_get(&pool) == NULL,
		     "objects are lost, or there are too many");
	while (n-- > 0)
		pawl_pool_put(&pool, seen[n]);
	pawl_lease_open(&lease);
	seize_lease();
}

/* The victims. */

static void get_few(void)
{
	for (taken = 0; taken < FEW; taken++)
		objects[taken] = pawl_pool_get(&pool);
}

static void put_few(void)
{
	int last = taken - FEW;

	while (taken > last)
		pawl_pool_put(&pool, objects[--taken]);
}

/* The victim's shard is empty: it must get from the depot. */
static void empty_the_shard(void)
{
	before();
	pawl_shards_reclaim(&pool.slots.shards);
}

/* It is full: it must put into the depot. */
static void fill_the_shard(void)
{
	const struct pawl_slots_shard *s;

	before();
	for (taken = 0; taken < MANY; taken++)
		objects[taken] = pawl_pool_get(&pool);
	s = (struct pawl_slots_shard *)pawl_shards_own(&pool.slots.shards,
						       pawl_lease_id());
	/* Relaxed: this thread's own shard, while nobody else is about. */
	while (taken > FEW && pawl_load_relaxed(&s->state) < PAWL_SLOTS_CACHE)
		pawl_pool_put(&pool, objects[--taken]);
}

static void put_rest(void)
{
	while (taken > 0)
		pawl_pool_put(&pool, objects[--taken]);
}

static void break_lease(void)
{
	pawl_lease_break(&lease);
	pawl_lease_poll();
}

static void drain_lease(void)
{
	if (pawl_lease_drain(&lease, MS))
		pawl_lease_open(&lease);
}

static void sum_up(void)
{
	int64_t sum;

	pawl_counter_exact(&counter, MS, &sum);
}

static void trim(void)
{
	trims = true;
	pawl_shards_reclaim(&pool.slots.shards);
	pawl_pool_trim(&pool);
}

#define PLAY                                                                          \
	.kinds = 1 << SIGNAL | 1 << FORK | 1 << FREEZE, .free = true, .begin = begin, \
	.prepare = prepare, .handler = handle, .use = use, .child = child,            \
	.check = check

const struct scenario scenarios[] = {
	{.name = "lease.acquire", PLAY, .before = before, .victim = enter_lease},
	{.name = "lease.seize", PLAY, .before = before, .victim = seize_lease},
	{.name = "lease.break", PLAY, .before = before, .victim = break_lease},
	{.name = "lease.drain", PLAY, .before = before, .victim = drain_lease},
	{.name = "counter.add", PLAY, .before = before, .victim = add},
	{.name = "counter.exact", PLAY, .before = before, .victim = sum_up},
	{.name = "pool.get",
	 PLAY,
	 .before = empty_the_shard,
	 .victim = get_few,
	 .after = put_rest},
	{.name = "pool.put",
	 PLAY,
	 .before = fill_the_shard,
	 .victim = put_few,
	 .after = put_rest},
	{.name = "pool.trim", PLAY, .before = before, .victim = trim},
	{.name = NULL},
};
