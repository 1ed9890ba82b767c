/* SPDX-License-Identifier: MIT */
/* The supply of hapax values. The counters are the runtime's own, reached by
 * including its source: 2^48 blocks cannot be drawn in the time we have. */
#define _GNU_SOURCE
#include "harness/harness.h"
#include "harness/child.h"

#include <pawl/hapax_vw.h>

#include "../../src/sync/hapax.c"

#include <sched.h>
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
	uint64_t block = pawl_hapax_block_(), next;

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
	uint64_t used = pawl_load_relaxed(&find_lanes()[0].used);

	(void)state;
	pawl_store_relaxed(&find_lanes()[0].used, 0);
	assert_int_equal(pawl_hapax_block_(), BLOCK);
	pawl_store_relaxed(&find_lanes()[0].used, used + 1);
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

static void draw_in_threads(void)
{
	uint64_t *values = calloc((size_t)THREADS * DRAWS, sizeof(*values));
	struct crew crew = {.size = 0};
	size_t i;

	assert_non_null(values);
	for (i = 0; i < THREADS; i++)
		crew_start(&crew, draw_many, &values[i * DRAWS]);
	crew_join(&crew);
	qsort(values, (size_t)THREADS * DRAWS, sizeof(*values), compare);
	for (i = 1; i < (size_t)THREADS * DRAWS; i++)
		assert_true(values[i - 1] != values[i]);
	free(values);
}

static void values_are_unique_over_threads(void **state)
{
	(void)state;
	draw_in_threads();
}

static const enum pawl_lanes all_lanes[] = {PAWL_LANES_ONE, PAWL_LANES_CPU,
					    PAWL_LANES_NODE, PAWL_LANES_RANDOM};

/* Small blocks, so that all threads come for new ones all the time. */
static void values_are_unique_over_lanes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all_lanes) / sizeof(*all_lanes); i++) {
		assert_int_equal(pawl_hapax_supply(all_lanes[i], 8), 0);
		draw_in_threads();
	}
	pawl_hapax_supply(PAWL_LANES_ONE, BLOCK);
}

static void each_lane_and_count_has_a_number_of_its_own(void **state)
{
	enum { ROWS = 2 * LANES };
	static bool seen[LANES * ROWS];
	unsigned lane, count;

	(void)state;
	for (lane = 0; lane < LANES; lane++)
		for (count = 0; count < ROWS; count++) {
			uint64_t n = number(lane, count);

			assert_in_range(n, 0, LANES * ROWS - 1);
			assert_false(seen[n]);
			seen[n] = true;
		}
}

static void one_lane_fills_the_waiting_array(void **state)
{
	static bool seen[PAWL_WAITING_SLOTS];
	static struct pawl_hapax_core l;
	unsigned count;

	(void)state;
	for (count = 0; count < PAWL_WAITING_SLOTS; count++) {
		size_t slot = pawl_hapax_index_(&l, number(0, count)
							    << PAWL_HAPAX_BLOCK_BITS);

		assert_false(seen[slot]);
		seen[slot] = true;
	}
}

/* Pinned to each CPU in turn, this thread knows where it is. */
static void thread_knows_its_place(void **state)
{
	cpu_set_t before, one;
	size_t cpu;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		unsigned node;

		if (!CPU_ISSET(cpu, &before))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		assert_int_equal(pawl_current_cpu(), cpu);
		assert_int_equal(getcpu(NULL, &node), 0);
		assert_int_equal(pawl_current_node(), node);
		pawl_hapax_supply(PAWL_LANES_CPU, BLOCK);
		assert_int_equal(choose(), cpu);
		pawl_hapax_supply(PAWL_LANES_NODE, BLOCK);
		assert_int_equal(choose(), node);
	}
	sched_setaffinity(0, sizeof(before), &before);
	pawl_hapax_supply(PAWL_LANES_ONE, BLOCK);
}

/* The model checker cannot tell: such a waiter looks at depart in any case. */
static void unlock_tells_unseen_waiters(void **state)
{
	struct pawl_hapax_vw_core l = PAWL_ZERO;
	struct pawl_hapax_vw_context context;
	size_t slot;

	(void)state;
	pawl_hapax_vw_acquire_(&l, &context, PAWL_SPIN);
	slot = pawl_hapax_index_(&l.body, context.episode.hapax);
	pawl_hapax_vw_release_(&l, &context, PAWL_SPIN);
	assert_int_equal(pawl_load_relaxed(&pawl_hapax_slots_[slot]),
			 context.episode.hapax);
	assert_int_equal(pawl_load_relaxed(&pawl_hapax_vw_slots_[slot]), 0);
}

static void lanes_are_chosen_as_told(void **state)
{
	uint64_t before[LANES], total = 0;
	int used = 0, i;

	(void)state;
	for (i = 0; i < LANES; i++)
		before[i] = pawl_load_relaxed(&find_lanes()[i].used);
	pawl_hapax_supply(PAWL_LANES_RANDOM, BLOCK);
	for (i = 0; i < 64 * LANES; i++)
		pawl_hapax_block_();
	for (i = 0; i < LANES; i++) {
		uint64_t more = pawl_load_relaxed(&find_lanes()[i].used) - before[i];

		total += more;
		used += more > 0;
	}
	assert_int_equal(total, 64 * LANES);
	assert_in_range(used, LANES / 2, LANES); /* fewer: once in 10^500 times */
	pawl_hapax_supply(PAWL_LANES_ONE, BLOCK);
	before[0] = pawl_load_relaxed(&find_lanes()[0].used);
	pawl_hapax_block_();
	assert_int_equal(pawl_load_relaxed(&find_lanes()[0].used), before[0] + 1);
}

static void block_has_the_size_asked_for(void **state)
{
	static const unsigned sizes[] = {1, 3, 64, BLOCK};
	size_t k;

	(void)state;
	for (k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		uint64_t used, first;
		unsigned i;

		assert_int_equal(pawl_hapax_supply(PAWL_LANES_ONE, sizes[k]), 0);
		pawl_self()->next_hapax = 0;
		first = pawl_hapax_draw();
		used = pawl_load_relaxed(&find_lanes()[0].used);
		for (i = 1; i < sizes[k]; i++)
			assert_int_equal(pawl_hapax_draw(), first + i);
		assert_int_equal(pawl_load_relaxed(&find_lanes()[0].used), used);
		pawl_hapax_draw();
		assert_int_equal(pawl_load_relaxed(&find_lanes()[0].used), used + 1);
	}
}

static void nonsense_is_refused(void **state)
{
	(void)state;
	assert_int_equal(pawl_hapax_supply(PAWL_LANES_ONE, 0), EINVAL);
	assert_int_equal(pawl_hapax_supply(PAWL_LANES_ONE, BLOCK + 1), EINVAL);
	assert_int_equal(pawl_hapax_supply((enum pawl_lanes)4, BLOCK), EINVAL);
}

enum { LANE_BITS = 6 }; /* log2 of LANES */

/* As if this many blocks were left in this lane. */
static void leave(int lane, uint64_t blocks)
{
	uint64_t rows = (UINT64_MAX >> PAWL_HAPAX_BLOCK_BITS) >> LANE_BITS;

	pawl_store_relaxed(&find_lanes()[lane].used, rows - blocks);
}

static void use_up_all_but(int lane, uint64_t blocks)
{
	int i;

	for (i = 0; i < LANES; i++)
		leave(i, i == lane ? blocks : 0);
	pawl_self()->next_hapax = 0;
}

static void draw_beyond_the_end(void)
{
	use_up_all_but(0, 0);
	pawl_hapax_draw();
}

/* The last block there is: of the last lane, which the first one passes us to. */
static void draw_up_to_the_end(void)
{
	int i;

	use_up_all_but(LANES - 1, 1);
	for (i = 0; i < BLOCK; i++)
		if (pawl_hapax_draw() <= UINT64_MAX - 2 * LANES * BLOCK)
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
		cmocka_unit_test(values_are_unique_over_lanes),
		cmocka_unit_test(each_lane_and_count_has_a_number_of_its_own),
		cmocka_unit_test(one_lane_fills_the_waiting_array),
		cmocka_unit_test(thread_knows_its_place),
		cmocka_unit_test(unlock_tells_unseen_waiters),
		cmocka_unit_test(lanes_are_chosen_as_told),
		cmocka_unit_test(block_has_the_size_asked_for),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(exhaustion_is_fatal_with_a_sentence),
		cmocka_unit_test(last_block_before_the_end_is_usable),
	};

	return cmocka_run_group_tests_name("hapax values", cases, NULL, NULL);
}
