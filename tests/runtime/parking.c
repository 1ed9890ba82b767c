/* SPDX-License-Identifier: MIT */
/*
 * The parking table with thousands of sleepers: how many addresses a thread has to walk
 * past to find its own, counted. Sleepers are queued without threads: a queue does not
 * care.
 */
#include "harness/child.h"
#include "harness/harness.h"
#include "sleep/parking.h"

#include <unistd.h>

enum { SLEEPERS = 8000, MANY = 100000 };

static struct pawl_sleeper sleepers[SLEEPERS];
static pawl_atomic64 words[MANY];

static void change(void (*how)(struct pawl_bucket *, struct pawl_sleeper *),
		   struct pawl_sleeper *sleeper)
{
	struct pawl_bucket *bucket = pawl_bucket_lock(sleeper->address);

	how(bucket, sleeper);
	pawl_bucket_unlock(bucket);
}

/* Queues all, each on a word of its own or all on one, or takes them away again. */
static void queue_all(size_t stride)
{
	size_t i;

	for (i = 0; i < SLEEPERS; i++) {
		sleepers[i].address = &words[i * stride];
		change(pawl_bucket_enqueue, &sleepers[i]);
	}
}

static void remove_all(void)
{
	size_t i;

	for (i = 0; i < SLEEPERS; i++)
		change(pawl_bucket_remove, &sleepers[i]);
}

/* How many addresses share the bucket of this one. */
static size_t addresses_beside(const void *address)
{
	struct pawl_bucket *bucket = pawl_bucket_lock(address);
	const struct pawl_sleeper *queue;
	size_t count = 0;

	for (queue = bucket->first; queue != NULL; queue = queue->next_queue)
		count++;
	pawl_bucket_unlock(bucket);
	return count;
}

static size_t most_addresses(void)
{
	size_t i, count, most = 0;

	for (i = 0; i < MANY; i++) {
		count = addresses_beside(&words[i]);
		if (count > most)
			most = count;
	}
	return most;
}

static size_t buckets(void)
{
	const struct pawl_parking_table *table = pawl_pointer(
		pawl_load_acquire(&pawl_process_parking->table));

	return (size_t)1 << table->bits;
}

static void many_sleepers_on_one_address_are_one_step(void **state)
{
	size_t before;

	(void)state;
	assert_int_equal(addresses_beside(&words[0]), 0); /* the first use */
	before = buckets();
	queue_all(0);
	assert_int_equal(most_addresses(), 1);
	assert_int_equal(buckets(), before);
	remove_all();
	assert_int_equal(most_addresses(), 0);
}

static void the_table_grows_with_the_addresses(void **state)
{
	size_t i, found = 0;

	(void)state;
	queue_all(1);
	/* The last that came to a bucket may have found it crowded, and moved on. */
	assert_in_range(most_addresses(), 1, 2 * PAWL_PARK_CROWD);
	assert_in_range(buckets(), SLEEPERS / PAWL_PARK_CROWD, 16 * SLEEPERS);
	/* Of the words that no thread sleeps on hardly one seems to be slept on. */
	for (i = SLEEPERS; i < MANY; i++)
		found += pawl_may_be_parked(&words[i]);
	assert_in_range(found, 0, (MANY - SLEEPERS) / 10);
	for (i = 0; i < SLEEPERS; i++) {
		struct pawl_bucket *bucket = pawl_bucket_lock(&words[i]);

		assert_ptr_equal(pawl_bucket_find(bucket, &words[i]), &sleepers[i]);
		pawl_bucket_unlock(bucket);
	}
}

/* After the above. */
static void use_as_a_child(void)
{
	size_t i;

	for (i = 0; i < MANY; i++)
		if (pawl_may_be_parked(&words[i]) || addresses_beside(&words[i]) != 0)
			_exit(1);
	_exit(0);
}

static void a_child_finds_a_grown_table_empty(void **state)
{
	(void)state;
	assert_int_equal(child_run(use_as_a_child).status, 0);
	remove_all();
	assert_int_equal(most_addresses(), 0);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(many_sleepers_on_one_address_are_one_step),
		cmocka_unit_test(the_table_grows_with_the_addresses),
		cmocka_unit_test(a_child_finds_a_grown_table_empty),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
