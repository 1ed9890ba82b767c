/* SPDX-License-Identifier: MIT */
/* The supply of hapax values. The counter is the runtime's own, reached by
 * including its source: 2^48 blocks cannot be drawn in the time we have. */
#include "harness/harness.h"
#include "harness/child.h"

#include <pawl/hapax_value.h>

#include "../../src/runtime/hapax.c"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << PAWL_HAPAX_BLOCK_BITS };

static void values_are_never_zero(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 3 * BLOCK; i++)
		assert_true(pawl_hapax_draw() != 0);
}

static void values_follow_each_other_within_a_block(void **state)
{
	uint64_t last = pawl_hapax_draw();
	int i, jumps = 0;

	(void)state;
	for (i = 0; i < 2 * BLOCK; i++) {
		uint64_t now = pawl_hapax_draw();

		if (now != last + 1) {
			jumps++;
			assert_int_equal(now % BLOCK, 0);
		}
		last = now;
	}
	assert_in_range(jumps, 0, 2);
}

/* The last value of a block is used; the next comes from a new one. */
static void block_edge_draws_a_new_block(void **state)
{
	uint64_t block = pawl_hapax_block(), next;

	(void)state;
	pawl_self()->next_hapax = block + BLOCK - 1;
	assert_int_equal(pawl_hapax_draw(), block + BLOCK - 1);
	next = pawl_hapax_draw();
	assert_true(next >> PAWL_HAPAX_BLOCK_BITS != block >> PAWL_HAPAX_BLOCK_BITS);
	assert_int_equal(next % BLOCK, 0);
	assert_int_equal(pawl_hapax_draw(), next + 1);
}

static void first_block_is_not_block_zero(void **state)
{
	uint64_t used = pawl_load_relaxed(&blocks.used);

	(void)state;
	pawl_store_relaxed(&blocks.used, 0);
	assert_int_equal(pawl_hapax_block(), BLOCK);
	pawl_store_relaxed(&blocks.used, used + 1);
}

enum { THREADS = 8, DRAWS = BLOCK + 1000 };

static void *draw_many(void *argument)
{
	uint64_t *values = argument;
	int i;

	for (i = 0; i < DRAWS; i++)
		values[i] = pawl_hapax_draw();
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void values_are_unique_over_threads(void **state)
{
	uint64_t *values = calloc((size_t)THREADS * DRAWS, sizeof(*values));
	struct crew crew = {.size = 0};
	size_t i;

	(void)state;
	assert_non_null(values);
	for (i = 0; i < THREADS; i++)
		crew_start(&crew, draw_many, &values[i * DRAWS]);
	crew_join(&crew);
	qsort(values, (size_t)THREADS * DRAWS, sizeof(*values), compare);
	for (i = 1; i < (size_t)THREADS * DRAWS; i++)
		assert_true(values[i - 1] != values[i]);
	free(values);
}

static void draw_beyond_the_end(void)
{
	pawl_store_relaxed(&blocks.used, (UINT64_MAX >> PAWL_HAPAX_BLOCK_BITS) - 1);
	pawl_self()->next_hapax = 0;
	pawl_hapax_draw();
}

static void draw_up_to_the_end(void)
{
	int i;

	pawl_store_relaxed(&blocks.used, (UINT64_MAX >> PAWL_HAPAX_BLOCK_BITS) - 2);
	pawl_self()->next_hapax = 0;
	for (i = 0; i < BLOCK; i++)
		if (pawl_hapax_draw() == 0)
			exit(1);
}

static void exhaustion_is_fatal_with_a_sentence(void **state)
{
	struct child child = child_run(draw_beyond_the_end);

	(void)state;
	assert_int_equal(child.signal, SIGABRT);
	assert_string_equal(child.text,
			    "pawl: the supply of hapax values is exhausted: more than "
			    "2^64 were drawn in the life of this process\n");
}

static void last_block_before_the_end_is_usable(void **state)
{
	struct child child = child_run(draw_up_to_the_end);

	(void)state;
	assert_int_equal(child.signal, 0);
	assert_int_equal(child.status, 0);
	assert_string_equal(child.text, "");
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(values_are_never_zero),
		cmocka_unit_test(values_follow_each_other_within_a_block),
		cmocka_unit_test(block_edge_draws_a_new_block),
		cmocka_unit_test(first_block_is_not_block_zero),
		cmocka_unit_test(values_are_unique_over_threads),
		cmocka_unit_test(exhaustion_is_fatal_with_a_sentence),
		cmocka_unit_test(last_block_before_the_end_is_usable),
	};

	return cmocka_run_group_tests_name("hapax values", cases, NULL, NULL);
}
