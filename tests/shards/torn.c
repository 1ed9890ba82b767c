/* SPDX-License-Identifier: MIT */
/*
 * The child of a fork during which another thread was inside for too long, whose memory
 * may be of several moments. Such a memory is made here before the fork: what is in a
 * shard, or on its way from there, is in the depot as well.
 */
#define _GNU_SOURCE
#include "harness/child.h"
#include "harness/harness.h"

#include <pawl/idalloc.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT = 200 };

static struct pawl_idalloc ids;
static pawl_atomic64 inside, go;

static void wait_until(pawl_atomic64 *event)
{
	while (pawl_load_acquire(event) == 0)
		breathe();
}

static void *stay_inside_a_shard(void *argument)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_shard *s;

	(void)argument;
	sit_on(1); /* so that the child comes to it last */
	pawl_idalloc_put(&ids, pawl_idalloc_get(&ids)); /* fills the shard */
	s = pawl_shards_enter(&ids.slots.shards, h);
	pawl_store_release(&inside, 1);
	wait_until(&go);
	if (s != NULL)
		pawl_shards_exit(&ids.slots.shards, s, h);
	return NULL;
}

static void *stay_at_lists(void *argument)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	bool begun;

	(void)argument;
	pawl_idalloc_put(&ids, pawl_idalloc_get(&ids)); /* fills a list */
	begun = pawl_shards_begin(&ids.slots.shards, h);
	pawl_store_release(&inside, 1);
	wait_until(&go);
	if (begun)
		pawl_shards_end(h);
	return NULL;
}

static void stay_at_a_word(uint64_t first, uint64_t slots, void *argument)
{
	(void)first, (void)slots, (void)argument;
	pawl_store_release(&inside, 1);
	wait_until(&go);
}

static void *stay_trimming(void *argument)
{
	(void)argument;
	pawl_slots_each_idle(&ids.slots, stay_at_a_word, NULL);
	return NULL;
}

/* The exit status of a child: 7 if no id can be had twice, nor one that is held. */
static int look(uint32_t held)
{
	bool seen[LIMIT] = {false};
	uint32_t id;

	sit_on(0);
	seen[held] = true;
	while ((id = pawl_idalloc_get(&ids)) != PAWL_IDALLOC_NONE) {
		if (id >= LIMIT || seen[id])
			return 8;
		seen[id] = true;
	}
	return 7;
}

static void fork_beside(enum pawl_shards_kind kind, void *(*stay)(void *))
{
	struct pawl_slots *a = &ids.slots;
	uint64_t words[4], summary;
	pthread_t thread;
	uint32_t held, all[LIMIT];
	int status;
	size_t i;
	pid_t child;

	assert_int_equal(pawl_idalloc_create(&ids, kind, LIMIT), 0);
	/* All have been used, and are in the depot, but one. */
	assert_int_equal(pawl_idalloc_get_batch(&ids, all, LIMIT), LIMIT);
	pawl_idalloc_put_batch(&ids, all, LIMIT);
	assert_int_equal(pawl_shards_reclaim(&a->shards), 0);
	assert_int_equal(pawl_idalloc_get_batch(&ids, &held, 1), 1);
	/* Relaxed, throughout: the other thread is at rest. */
	pawl_store_relaxed(&inside, 0);
	pawl_store_relaxed(&go, 0);
	assert_int_equal(pthread_create(&thread, NULL, stay, NULL), 0);
	wait_until(&inside);
	for (i = 0; i < COUNT_OF(words); i++) {
		uint64_t every = i * 64 + 64 <= LIMIT ? ~(uint64_t)0
						      : ((uint64_t)1 << LIMIT % 64) - 1;

		words[i] = pawl_load_relaxed(&a->words[i]);
		if (held / 64 == i)
			every &= ~((uint64_t)1 << held % 64);
		pawl_store_relaxed(&a->words[i], every);
	}
	summary = pawl_load_relaxed(&a->summary[0]);
	pawl_store_relaxed(&a->summary[0], 15);
	child = fork();
	if (child == 0)
		_exit(look(held));
	for (i = 0; i < COUNT_OF(words); i++)
		pawl_store_relaxed(&a->words[i], words[i]);
	pawl_store_relaxed(&a->summary[0], summary);
	pawl_store_release(&go, 1);
	pthread_join(thread, NULL);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	/* Nothing has happened to the parent. */
	assert_int_equal(pawl_idalloc_get_batch(&ids, all, LIMIT), LIMIT - 1);
	pawl_idalloc_destroy(&ids);
}

static void what_was_in_a_shard_is_given_out_once(void **state)
{
	(void)state;
	fork_beside(PAWL_SHARDS_LEASED, stay_inside_a_shard);
}

static void what_was_in_lists_is_given_out_once(void **state)
{
	(void)state;
	fork_beside(PAWL_SHARDS_ATOMIC, stay_at_lists);
	fork_beside(PAWL_SHARDS_RANDOM, stay_at_lists);
}

static void what_was_trimmed_is_given_out_once(void **state)
{
	(void)state;
	fork_beside(PAWL_SHARDS_LEASED, stay_trimming);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_in_a_shard_is_given_out_once),
		cmocka_unit_test(what_was_in_lists_is_given_out_once),
		cmocka_unit_test(what_was_trimmed_is_given_out_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
