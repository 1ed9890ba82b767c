/* SPDX-License-Identifier: MIT */
/* What idalloc, pool and counter promise, on each kind of shards. */
#include "harness/child.h"
#include "harness/harness.h"

#include <pawl/counter.h>
#include <pawl/idalloc.h>
#include <pawl/pool.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const enum pawl_shards_kind kinds[] = {PAWL_SHARDS_LEASED, PAWL_SHARDS_ATOMIC,
					      PAWL_SHARDS_RANDOM};

/* Runs a case on each kind. */
static void each_kind(void (*run)(enum pawl_shards_kind kind))
{
	size_t i;

	for (i = 0; i < COUNT_OF(kinds); i++)
		run(kinds[i]);
}

/* Ids. */

static void all_ids_are_there_once(enum pawl_shards_kind kind)
{
	enum { LIMIT = 1000 };
	struct pawl_idalloc a;
	bool seen[LIMIT] = {false};
	uint32_t ids[LIMIT];
	int i;

	assert_int_equal(pawl_idalloc_create(&a, kind, LIMIT), 0);
	for (i = 0; i < LIMIT; i++) {
		ids[i] = pawl_idalloc_get(&a);
		assert_true(ids[i] < LIMIT);
		assert_false(seen[ids[i]]);
		seen[ids[i]] = true;
	}
	assert_int_equal(pawl_idalloc_get(&a), PAWL_IDALLOC_NONE);
	pawl_idalloc_put(&a, ids[17]);
	assert_int_equal(pawl_idalloc_get(&a), ids[17]);
	for (i = 0; i < LIMIT; i++)
		pawl_idalloc_put(&a, ids[i]);
	memset(seen, 0, sizeof(seen));
	assert_int_equal(pawl_idalloc_get_batch(&a, ids, LIMIT), LIMIT);
	for (i = 0; i < LIMIT; i++) {
		assert_true(ids[i] < LIMIT);
		assert_false(seen[ids[i]]);
		seen[ids[i]] = true;
	}
	assert_int_equal(pawl_idalloc_get_batch(&a, ids, 1), 0);
	pawl_idalloc_destroy(&a);
}

static void every_id_is_given_out_once(void **state)
{
	(void)state;
	each_kind(all_ids_are_there_once);
}

/* One thread: what it holds, a cache for each shard it visited, one refill. */
static void ids_are_dense(enum pawl_shards_kind kind)
{
	enum { HELD = 500, ROUNDS = 200 };
	struct pawl_idalloc a;
	struct pawl_shards_stats stats;
	uint32_t ids[HELD];
	int i, round;

	assert_int_equal(pawl_idalloc_create(&a, kind, 1 << 20), 0);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < HELD; i++)
			ids[i] = pawl_idalloc_get(&a);
		for (i = 0; i < HELD; i++)
			pawl_idalloc_put(&a, ids[(i * 7 + round) % HELD]);
		assert_int_equal(pawl_idalloc_get_batch(&a, ids, HELD), HELD);
		pawl_idalloc_put_batch(&a, ids, HELD);
	}
	pawl_shards_get_stats(&a.slots.shards, &stats);
	assert_true(pawl_idalloc_peak(&a) >= HELD);
	assert_true(pawl_idalloc_peak(&a) <=
		    HELD + 64 + 64 * (a.slots.shards.ids + a.slots.shards.most + 1));
	pawl_idalloc_destroy(&a);
}

static void ids_stay_near_the_number_held(void **state)
{
	(void)state;
	each_kind(ids_are_dense);
}

static void the_lowest_ids_come_first(void **state)
{
	enum { MANY = 4096, FEW = 64 };
	static uint32_t ids[MANY];
	struct pawl_idalloc a;
	int i;

	(void)state;
	assert_int_equal(pawl_idalloc_create(&a, PAWL_SHARDS_LEASED, MANY), 0);
	assert_int_equal(pawl_idalloc_get_batch(&a, ids, MANY), MANY);
	pawl_idalloc_put_batch(&a, ids, MANY);
	assert_int_equal(pawl_shards_reclaim(&a.slots.shards), 0);
	assert_int_equal(pawl_idalloc_get_batch(&a, ids, FEW), FEW);
	for (i = 0; i < FEW; i++)
		assert_true(ids[i] < FEW);
	pawl_idalloc_destroy(&a);
}

static void put_one_twice(void)
{
	struct pawl_idalloc a;
	uint32_t ids[200];

	pawl_idalloc_create(&a, PAWL_SHARDS_LEASED, 1000);
	pawl_idalloc_get_batch(&a, ids, 200);
	pawl_idalloc_put_batch(&a, ids, 200);
	pawl_idalloc_put_batch(&a, ids, 200);
}

static void an_id_put_back_twice_ends_the_process(void **state)
{
	struct child child = child_run(put_one_twice);

	(void)state;
	assert_int_equal(child.signal, SIGABRT);
	assert_string_equal(child.text, "pawl: an id or object was put back twice\n");
}

static void limits_that_cannot_be_are_refused(void **state)
{
	struct pawl_idalloc a;
	struct pawl_pool pool;
	struct pawl_pool_plan plan = {.size = 0, .limit = 1};

	(void)state;
	assert_int_equal(pawl_idalloc_create(&a, PAWL_SHARDS_LEASED, 0), EINVAL);
	assert_int_equal(pawl_idalloc_create(&a, PAWL_SHARDS_LEASED, PAWL_SLOTS_LIMIT),
			 EINVAL);
	assert_int_equal(pawl_pool_create(&pool, &plan), EINVAL);
	assert_int_equal(
		pawl_idalloc_create(&a, PAWL_SHARDS_ATOMIC, PAWL_SLOTS_LIMIT - 1), 0);
	pawl_idalloc_destroy(&a);
}

/* Ids that idle in another CPU's shard are found before NONE is said. */
static void *hold_and_return(void *argument)
{
	struct pawl_idalloc *a = argument;
	uint32_t ids[100];
	size_t i, n = pawl_idalloc_get_batch(a, ids, 100);

	for (i = 0; i < n; i++)
		pawl_idalloc_put(a, ids[i]);
	return (void *)n;
}

static void ids_are_found_wherever_they_are(enum pawl_shards_kind kind)
{
	struct pawl_idalloc a;
	uint32_t ids[100];
	int round;

	assert_int_equal(pawl_idalloc_create(&a, kind, 100), 0);
	for (round = 0; round < 20; round++) {
		pthread_t thread;
		void *n;

		assert_int_equal(pthread_create(&thread, NULL, hold_and_return, &a), 0);
		assert_int_equal(pthread_join(thread, &n), 0);
		assert_int_equal((size_t)n, 100);
		assert_int_equal(pawl_idalloc_get_batch(&a, ids, 100), 100);
		assert_int_equal(pawl_idalloc_get(&a), PAWL_IDALLOC_NONE);
		pawl_idalloc_put_batch(&a, ids, 100);
	}
	pawl_idalloc_destroy(&a);
}

static void no_id_hides_from_a_thread_that_needs_it(void **state)
{
	(void)state;
	each_kind(ids_are_found_wherever_they_are);
}

/* Objects. */

static void objects_do_not_overlap(enum pawl_shards_kind kind)
{
	static const size_t sizes[] = {1, 16, 24, 48, 100, 1000, 4096, 5000};
	enum { OBJECTS = 300 };
	unsigned char *objects[OBJECTS];
	size_t size;
	int i, round;

	for (size = 0; size < COUNT_OF(sizes); size++) {
		struct pawl_pool_plan plan = {
			.kind = kind, .size = sizes[size], .limit = OBJECTS};
		struct pawl_pool pool;

		assert_int_equal(pawl_pool_create(&pool, &plan), 0);
		for (round = 0; round < 3; round++) {
			for (i = 0; i < OBJECTS; i++) {
				objects[i] = pawl_pool_get(&pool);
				assert_non_null(objects[i]);
				assert_int_equal((uintptr_t)objects[i] % 16, 0);
				memset(objects[i], i, sizes[size]);
			}
			assert_null(pawl_pool_get(&pool));
			for (i = 0; i < OBJECTS; i++) {
				assert_int_equal(objects[i][0], i & 0xFF);
				assert_int_equal(objects[i][sizes[size] - 1], i & 0xFF);
				pawl_pool_put(&pool, objects[i]);
			}
		}
		pawl_pool_destroy(&pool);
	}
}

static void objects_of_all_sizes_are_apart(void **state)
{
	(void)state;
	each_kind(objects_do_not_overlap);
}

/* So large that slots are numbers, and sequences are not used. */
static void objects_of_a_large_pool_are_apart(void **state)
{
	const struct pawl_pool_plan plan = {.size = 1 << 20, .limit = 40000};
	struct pawl_pool pool;
	char *objects[200];
	size_t i, round;

	(void)state;
	if (pawl_pool_create(&pool, &plan) != 0)
		skip_because("there is no room for 40 GiB here");
	assert_int_equal(pool.unit, plan.size);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 200; i++) {
			objects[i] = pawl_pool_get(&pool);
			assert_non_null(objects[i]);
			assert_int_equal((objects[i] - pool.objects) % (1 << 20), 0);
			*(char **)(void *)objects[i] = objects[i];
		}
		for (i = 0; i < 200; i++) {
			assert_ptr_equal(*(char **)(void *)objects[i], objects[i]);
			*(char **)(void *)objects[i] = NULL;
			pawl_pool_put(&pool, objects[i]);
		}
	}
	assert_true(pawl_slots_peak(&pool.slots) <= 320);
	pawl_pool_destroy(&pool);
}

static void sleep_ms(long ms)
{
	const struct timespec t = {0, ms * 1000000};

	nanosleep(&t, NULL);
}

/* Takes many, gives them back, and lets the shards grow old. */
static size_t trimmed(struct pawl_pool *pool)
{
	enum { OBJECTS = 2000 };
	static void *objects[OBJECTS];
	size_t bytes = 0;
	int i;

	for (i = 0; i < OBJECTS; i++) {
		objects[i] = pawl_pool_get(pool);
		assert_non_null(objects[i]);
		memset(objects[i], 0x5A, 100);
	}
	for (i = 0; i < OBJECTS; i++)
		pawl_pool_put(pool, objects[i]);
	sleep_ms(PAWL_SHARDS_LIFE_MS + 20);
	for (i = 0; i < 3; i++)
		bytes += pawl_pool_trim(pool);
	return bytes;
}

static void idle_memory_goes_back(void **state)
{
	struct pawl_pool_plan plan = {.size = 112, .limit = 1 << 16};
	struct pawl_shards_stats stats;
	struct pawl_pool pool;
	char *object;

	(void)state;
	assert_int_equal(pawl_pool_create(&pool, &plan), 0);
	assert_true(trimmed(&pool) >= 1984 * 112 - 2 * 4096);
	pawl_shards_get_stats(&pool.slots.shards, &stats);
	assert_int_equal(stats.shards, 0);
	object = pawl_pool_get(&pool);
	assert_int_equal(object[50], 0); /* its page is new */
	pawl_pool_destroy(&pool);
}

static void type_stable_objects_stay_as_they_were(void **state)
{
	struct pawl_pool_plan plan = {.size = 112, .limit = 1 << 16, .type_stable = true};
	struct pawl_pool pool;
	char *object;

	(void)state;
	assert_int_equal(pawl_pool_create(&pool, &plan), 0);
	assert_int_equal(trimmed(&pool), 0);
	object = pawl_pool_get(&pool);
	assert_int_equal(object[50], 0x5A);
	pawl_pool_destroy(&pool);
}

/* Counters. */

enum { ADDERS = 6, ADDS = 50000 };

static void *add(void *argument)
{
	int i;

	for (i = 0; i < ADDS; i++) {
		pawl_counter_add(argument, 3);
		pawl_counter_add(argument, -2);
	}
	return NULL;
}

static void counter_counts(enum pawl_shards_kind kind)
{
	struct crew crew = {.size = 0};
	struct pawl_counter c;
	int64_t sum, last = 0;
	int i;

	assert_int_equal(pawl_counter_create(&c, kind), 0);
	for (i = 0; i < ADDERS; i++)
		crew_start(&crew, add, &c);
	/* At any one instant each thread is ahead by 3, once at most. */
	for (i = 0; kind == PAWL_SHARDS_LEASED && i < 20; i++) {
		if (!pawl_counter_exact(&c, 1000000000, &sum))
			continue;
		assert_true(sum >= last - 2 * ADDERS);
		assert_true(sum <= (int64_t)ADDERS * (ADDS + 2));
		last = sum;
	}
	crew_join(&crew);
	assert_int_equal(pawl_counter_sum(&c), (int64_t)ADDERS * ADDS);
	assert_true(pawl_counter_exact(&c, 1000000000, &sum));
	assert_int_equal(sum, (int64_t)ADDERS * ADDS);
	/* Leases are to be had again. */
	pawl_counter_add(&c, -5);
	assert_int_equal(pawl_counter_sum(&c), (int64_t)ADDERS * ADDS - 5);
	pawl_counter_destroy(&c);
}

static void no_addition_is_lost(void **state)
{
	(void)state;
	each_kind(counter_counts);
}

static void an_exact_sum_does_not_wait_for_ever(void **state)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_counter c;
	struct pawl_shard *s;
	int64_t sum = -1;

	(void)state;
	assert_int_equal(pawl_counter_create(&c, PAWL_SHARDS_LEASED), 0);
	pawl_counter_add(&c, 1);
	s = pawl_shards_enter(&c.shards, h);
	assert_non_null(s);
	assert_false(pawl_counter_exact(&c, 1000000, &sum)); /* we are inside */
	assert_int_equal(sum, -1);
	assert_int_equal(pawl_counter_sum(&c), 1);
	pawl_shards_exit(&c.shards, s, h);
	assert_true(pawl_counter_exact(&c, 1000000000, &sum));
	assert_int_equal(sum, 1);
	pawl_counter_destroy(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_id_is_given_out_once),
		cmocka_unit_test(ids_stay_near_the_number_held),
		cmocka_unit_test(the_lowest_ids_come_first),
		cmocka_unit_test(an_id_put_back_twice_ends_the_process),
		cmocka_unit_test(limits_that_cannot_be_are_refused),
		cmocka_unit_test(no_id_hides_from_a_thread_that_needs_it),
		cmocka_unit_test(objects_of_all_sizes_are_apart),
		cmocka_unit_test(objects_of_a_large_pool_are_apart),
		cmocka_unit_test(idle_memory_goes_back),
		cmocka_unit_test(type_stable_objects_stay_as_they_were),
		cmocka_unit_test(no_addition_is_lost),
		cmocka_unit_test(an_exact_sum_does_not_wait_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
