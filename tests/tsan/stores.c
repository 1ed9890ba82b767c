/* SPDX-License-Identifier: MIT */
/* Objects, ids and counts: what one holder of a slot did, the next one sees. */
#include "cases.h"

#include <pawl/counter.h>
#include <pawl/idalloc.h>
#include <pawl/pool.h>

#include <sched.h>

enum { OBJECTS = 256, ROUNDS = 200 };

static struct pawl_pool pool;
static struct pawl_idalloc ids;
static struct pawl_counter counter;
static long of_id[OBJECTS];
static enum pawl_shards_kind kind;

/* More than fit a shard, so that they go by way of the depot. */
static void use_objects(void)
{
	long *mine[OBJECTS / 4];
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < OBJECTS / 4; i++) {
			while ((mine[i] = (long *)pawl_pool_get(&pool)) == NULL)
				sched_yield();
			++*mine[i];
		}
		for (i = 0; i < OBJECTS / 4; i++)
			pawl_pool_put(&pool, mine[i]);
		if (round % 50 == 0)
			pawl_pool_trim(&pool);
	}
}

static void create_pool(void)
{
	const struct pawl_pool_plan plan = {.kind = kind,
					    .size = sizeof(long),
					    .limit = OBJECTS,
					    .type_stable = true};

	demand(pawl_pool_create(&pool, &plan) == 0, "a pool");
}

static void objects(void)
{
	create_pool();
	together(use_objects, use_objects);
	pawl_pool_destroy(&pool);
}

static void use_ids(void)
{
	uint32_t mine[OBJECTS / 4], one;
	size_t n, i;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		one = pawl_idalloc_get(&ids);
		if (one != PAWL_IDALLOC_NONE)
			of_id[one]++;
		n = pawl_idalloc_get_batch(&ids, mine, OBJECTS / 4);
		for (i = 0; i < n; i++)
			of_id[mine[i]]++;
		if (round % 2 == 0)
			pawl_idalloc_put_batch(&ids, mine, n);
		else
			for (i = 0; i < n; i++)
				pawl_idalloc_put(&ids, mine[i]);
		if (one != PAWL_IDALLOC_NONE)
			pawl_idalloc_put(&ids, one);
	}
}

static void numbers(void)
{
	demand(pawl_idalloc_create(&ids, kind, OBJECTS) == 0, "ids");
	together(use_ids, use_ids);
	pawl_idalloc_destroy(&ids);
}

/* One by one, and at once: some of them are the other's. */
static void use_ids_first(void)
{
	uint32_t mine[8];
	int i;

	for (i = 0; i < 8; i++)
		of_id[mine[i] = pawl_idalloc_get(&ids)]++;
	for (i = 0; i < 8; i++)
		pawl_idalloc_put(&ids, mine[i]);
	reach(1);
	await_step(2);
}

static void use_batch_then(void)
{
	uint32_t mine[OBJECTS];
	size_t n, i;

	await_step(1);
	n = pawl_idalloc_get_batch(&ids, mine, OBJECTS);
	demand(n == OBJECTS, "all are to be had");
	for (i = 0; i < n; i++)
		of_id[mine[i]]++;
	reach(2);
}

static void batch(void)
{
	demand(pawl_idalloc_create(&ids, kind, OBJECTS) == 0, "ids");
	together(use_ids_first, use_batch_then);
	pawl_idalloc_destroy(&ids);
}

static void count(void)
{
	int i;

	for (i = 0; i < 1000; i++)
		pawl_counter_add(&counter, 1);
	pawl_counter_sum(&counter);
}

static void counts(void)
{
	int64_t sum;

	demand(pawl_counter_create(&counter, kind) == 0, "a counter");
	together(count, count);
	demand(pawl_counter_sum(&counter) == 2000, "all is counted");
	while (!pawl_counter_exact(&counter, 1000000000, &sum))
		sched_yield();
	demand(sum == 2000, "all is counted exactly");
	pawl_counter_destroy(&counter);
}

/* All objects, one by one, by one thread and then by another. */
static void use_up(int *touched)
{
	long *mine[OBJECTS];
	int n, i;

	for (n = 0; n < OBJECTS && (mine[n] = (long *)pawl_pool_get(&pool)) != NULL; n++)
		++*mine[n];
	for (i = 0; i < n; i++)
		pawl_pool_put(&pool, mine[i]);
	*touched = n;
}

static void use_up_first(void)
{
	int n;

	use_up(&n);
	reach(1);
	await_step(2);
}

static void use_up_then(void)
{
	int n;

	await_step(1);
	use_up(&n);
	demand(n == OBJECTS, "what one thread put back another can have");
	reach(2);
}

static void exhausted(void)
{
	create_pool();
	together(use_up_first, use_up_then);
	pawl_pool_destroy(&pool);
}

/*
 * Three threads: one puts back more objects than a shard holds, each right after it
 * has touched it; one gets what is in the shard, and one more, for which a slow path
 * fills the shard from the depot; and one gets an object from there.
 */
enum { SHARD = PAWL_SLOTS_CACHE };

static void touch_and_put(void)
{
	long *mine[2 * SHARD];
	int i;

	for (i = 0; i < 2 * SHARD; i++)
		mine[i] = (long *)pawl_pool_get(&pool);
	for (i = 0; i < 2 * SHARD; i++) {
		++*mine[i];
		pawl_pool_put(&pool, mine[i]);
	}
	reach(1);
}

static void empty_shard(void)
{
	int i;

	await_step(1);
	for (i = 0; i < SHARD + 1; i++)
		demand(pawl_pool_get(&pool) != NULL, "an object");
	reach(2);
}

static void get_one(void)
{
	await_step(2);
	++*(long *)pawl_pool_get(&pool);
}

static void filled_anew(void)
{
	create_pool();
	detached(touch_and_put);
	together(empty_shard, get_one);
	pawl_pool_destroy(&pool);
}

/* The race: an object is touched after it was put back. */
static void put_and_touch(void)
{
	long *object = (long *)pawl_pool_get(&pool);

	pawl_pool_put(&pool, object);
	++*object;
	reach(1);
	await_step(2);
}

static void get_and_touch(void)
{
	long *mine[OBJECTS];
	int i;

	await_step(1);
	for (i = 0; i < OBJECTS; i++)
		if ((mine[i] = (long *)pawl_pool_get(&pool)) != NULL)
			++*mine[i];
	reach(2);
}

static void used_after_put(void)
{
	create_pool();
	together(put_and_touch, get_and_touch);
	pawl_pool_destroy(&pool);
}

void test_stores(void)
{
	static const char *const kinds[] = {"leased", "atomic", "random"};

	for (kind = PAWL_SHARDS_LEASED; kind <= PAWL_SHARDS_RANDOM;
	     kind = (enum pawl_shards_kind)(kind + 1)) {
		clean("pool", kinds[kind], objects);
		clean("exhausted pool", kinds[kind], exhausted);
		clean("shard filled anew of", kinds[kind], filled_anew);
		clean("ids", kinds[kind], numbers);
		clean("batch of ids", kinds[kind], batch);
		clean("counter", kinds[kind], counts);
		racy("pool", kinds[kind], used_after_put);
	}
}
