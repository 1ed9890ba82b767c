/* SPDX-License-Identifier: MIT */
/* Coins, queue nodes, waiting arrays, and the end of a process. */
#include "harness/child.h"
#include "harness/harness.h"

#include <pawl/runtime.h>

#include <stdlib.h>
#include <string.h>

/* Coins. */

static void coin_is_fair(unsigned n)
{
	const int tosses = 200000;
	double expected = (double)tosses / n;
	int i, hits = 0;

	pawl_self()->coin = 88172645463325252u; /* the same coins each time */
	for (i = 0; i < tosses; i++)
		hits += pawl_one_in(n);
	/* five standard deviations of the largest, n = 2 */
	assert_true(hits > expected - 1120 && hits < expected + 1120);
}

static void one_in_n_is_about_one_in_n(void **state)
{
	(void)state;
	coin_is_fair(2);
	coin_is_fair(3);
	coin_is_fair(8);
	coin_is_fair(1000);
}

static void one_in_one_is_always(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 1000; i++)
		assert_true(pawl_one_in(1));
}

/* No run of heads or tails that chance would not bring. */
static void coins_do_not_depend_on_the_last(void **state)
{
	int counts[2][2] = {{0}};
	int i, last = 0;

	(void)state;
	pawl_self()->coin = 2463534242u;
	for (i = 0; i < 100000; i++) {
		int now = pawl_one_in(2);

		counts[last][now]++;
		last = now;
	}
	for (i = 0; i < 4; i++)
		assert_in_range(counts[i / 2][i % 2], 24300, 25700);
}

static void *first_coins(void *argument)
{
	uint64_t *coins = argument;
	int i;

	for (i = 0; i < 64; i++)
		*coins = *coins << 1 | pawl_one_in(2);
	return NULL;
}

static void threads_toss_different_coins(void **state)
{
	struct crew crew = {.size = 0};
	uint64_t coins[4] = {0};
	int i, j;

	(void)state;
	for (i = 0; i < 4; i++)
		crew_start(&crew, first_coins, &coins[i]);
	crew_join(&crew);
	for (i = 0; i < 4; i++)
		for (j = 0; j < i; j++)
			assert_true(coins[i] != coins[j]);
}

/* Queue nodes. */

static void node_comes_back_from_the_list(void **state)
{
	struct pawl_node *first = pawl_node_get_(), *second = pawl_node_get_();

	(void)state;
	assert_ptr_not_equal(first, second);
	pawl_node_put_(first);
	pawl_node_put_(second);
	assert_ptr_equal(pawl_node_get_(), second);
	assert_ptr_equal(pawl_node_get_(), first);
	pawl_node_put_(first);
	pawl_node_put_(second);
}

static void node_is_sequestered(void **state)
{
	struct pawl_node *node = pawl_node_get_();

	(void)state;
	assert_int_equal(sizeof(*node), 128);
	assert_int_equal(pawl_address(node) % 128, 0);
	pawl_node_put_(node);
}

static void *put_all(void *argument)
{
	struct pawl_node **nodes = argument;
	int i;

	for (i = 0; i < 8; i++)
		pawl_node_put_(nodes[i]);
	return NULL;
}

static void *get_and_put_all(void *argument)
{
	pawl_node_put_(pawl_node_get_());
	return put_all(argument);
}

static void leave_nodes_with(void *(*run)(void *))
{
	struct crew crew = {.size = 0};
	struct pawl_node *nodes[8];
	int64_t before;
	int i;

	before = nodes_abroad();
	for (i = 0; i < 8; i++)
		nodes[i] = pawl_node_get_();
	crew_start(&crew, run, nodes);
	crew_join(&crew);
	assert_int_equal(nodes_abroad(), before);
}

static void exit_frees_nodes_of_others(void **state)
{
	(void)state;
	leave_nodes_with(get_and_put_all);
}

static void exit_frees_nodes_of_a_thread_that_never_took_one(void **state)
{
	(void)state;
	leave_nodes_with(put_all);
}

/* A thread that releases what others have locked ends up with their nodes. */
static void a_thread_keeps_no_more_nodes_than_a_few(void **state)
{
	enum { MANY = 1000 };
	static struct pawl_node *nodes[MANY];
	int64_t before = nodes_abroad();
	int i;

	(void)state;
	for (i = 0; i < MANY; i++)
		nodes[i] = pawl_node_get_();
	for (i = 0; i < MANY; i++)
		pawl_node_put_(nodes[i]);
	assert_true(nodes_abroad() <= before + PAWL_NODES_KEPT);
}

static int by_address(const void *a, const void *b)
{
	uintptr_t left = (uintptr_t) * (struct pawl_node *const *)a,
		  right = (uintptr_t) * (struct pawl_node *const *)b;

	return (left > right) - (left < right);
}

enum { STORED = 500 };

static void take_from_the_store(struct pawl_node *nodes[STORED])
{
	int i;

	for (i = 0; i < STORED; i++)
		nodes[i] = pawl_node_new_();
	qsort(nodes, STORED, sizeof(*nodes), by_address);
	for (i = 1; i < STORED; i++)
		assert_true(pawl_address(nodes[i]) - pawl_address(nodes[i - 1]) >=
			    sizeof(struct pawl_node));
}

static void *free_all(void *argument)
{
	struct pawl_node **nodes = argument;
	int i;

	for (i = 0; i < STORED; i++)
		pawl_node_free_(nodes[i]);
	return NULL;
}

/* The store gives each node to one thread, and asks the system for no more while it has
 * some, whichever thread freed them. */
static void nodes_in_the_store_are_used_again(void **state)
{
	struct pawl_node *first[STORED], *second[STORED];
	struct crew crew = {.size = 0};

	(void)state;
	take_from_the_store(first);
	crew_start(&crew, free_all, first);
	crew_join(&crew);
	take_from_the_store(second);
	assert_memory_equal(first, second, sizeof(first));
	free_all(second);
}

/* What a thread's storage looks like. */

static void mailboxes_are_sequestered(void **state)
{
	struct pawl_thread *self = pawl_self();

	(void)state;
	/* Two are never in a pair of lines: 128 bytes from the first of one to the first
	 * of the next, each within what the storage is aligned to; the last in a line's
	 * bytes, and followed by what makes up for that. */
	assert_int_equal(pawl_address(self) % PAWL_THREAD_ALIGN, 0);
	assert_true(sizeof(struct pawl_element) <= PAWL_THREAD_ALIGN);
	assert_true(offsetof(struct pawl_thread, chain) + sizeof(pawl_atomic64) -
			    offsetof(struct pawl_thread, grant) <=
		    PAWL_THREAD_ALIGN);
	assert_true(offsetof(struct pawl_thread, exited) -
			    offsetof(struct pawl_thread, next_hapax) <
		    64);
	assert_int_equal(
		sizeof(struct pawl_thread) - offsetof(struct pawl_thread, behind),
		128 - PAWL_THREAD_ALIGN);
	assert_int_equal(offsetof(struct pawl_thread, element) % 128, 0);
	assert_int_equal(offsetof(struct pawl_thread, grant) % 128, 0);
	assert_int_equal(offsetof(struct pawl_thread, next_hapax) % 128, 0);
}

static void *storage_is_zero(void *argument)
{
	static const struct pawl_thread zero;

	*(bool *)argument = memcmp(pawl_self(), &zero, sizeof(zero)) == 0;
	return NULL;
}

static void new_thread_starts_from_zero(void **state)
{
	struct crew crew = {.size = 0};
	bool zero = false;

	(void)state;
	crew_start(&crew, storage_is_zero, &zero);
	crew_join(&crew);
	assert_true(zero);
}

static void waiting_arrays_lie_apart(void **state)
{
	(void)state;
	assert_int_equal(pawl_address(pawl_twa_slots_) % 4096, 0);
	assert_int_equal(pawl_address(pawl_hapax_slots_) % 4096, 0);
	assert_int_equal(pawl_address(pawl_hapax_vw_slots_) % 4096, 0);
	assert_int_equal(PAWL_WAITING_SLOTS, 4096);
}

/* The end of a process. */

static void die(void)
{
	pawl_die_("a test broke the rule that it should not be broken");
}

static void die_says_one_sentence_and_aborts(void **state)
{
	struct child child = child_run(die);

	(void)state;
	assert_int_equal(child.signal, SIGABRT);
	assert_string_equal(child.text,
			    "pawl: a test broke the rule that it should not be broken\n");
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(one_in_n_is_about_one_in_n),
		cmocka_unit_test(one_in_one_is_always),
		cmocka_unit_test(coins_do_not_depend_on_the_last),
		cmocka_unit_test(threads_toss_different_coins),
		cmocka_unit_test(node_comes_back_from_the_list),
		cmocka_unit_test(node_is_sequestered),
		cmocka_unit_test(exit_frees_nodes_of_others),
		cmocka_unit_test(a_thread_keeps_no_more_nodes_than_a_few),
		cmocka_unit_test(exit_frees_nodes_of_a_thread_that_never_took_one),
		cmocka_unit_test(nodes_in_the_store_are_used_again),
		cmocka_unit_test(mailboxes_are_sequestered),
		cmocka_unit_test(new_thread_starts_from_zero),
		cmocka_unit_test(waiting_arrays_lie_apart),
		cmocka_unit_test(die_says_one_sentence_and_aborts),
	};

	return cmocka_run_group_tests_name("runtime", cases, NULL, NULL);
}
