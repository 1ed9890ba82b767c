/* SPDX-License-Identifier: MIT */
/* The model itself, on scenes of a few accesses. */
#include "scene.h"

static void write_first(void *none)
{
	(void)none;
	turn(1);
	sim_engine->fetch_add(word, 1, RELAXED, NULL);
}

static void read_first(void *none)
{
	(void)none;
	turn(1);
	sim_engine->load(word, RELAXED, NULL);
}

static void read_second(void *none)
{
	(void)none;
	turn(2);
	sim_engine->load(word, RELAXED, NULL);
}

static void idle(void *none)
{
	(void)none;
}

static void load_third(void *none)
{
	(void)none;
	measure_load(3);
}

static void rmw_third(void *none)
{
	(void)none;
	measure_rmw(3);
}

static void load_again(void *none)
{
	(void)none;
	turn(1);
	sim_engine->load(word, RELAXED, NULL);
	measure_load(3);
}

static void a_line_that_is_there_costs_a_hit(void **state)
{
	void (*const bodies[])(void *) = {load_again};

	(void)state;
	play(&machine, 1, bodies);
	assert_int_equal(after.misses - before.misses, 0);
	assert_int_equal(took, 1 * NS);
}

static void a_modified_line_takes_three_legs(void **state)
{
	void (*const bodies[])(void *) = {write_first, load_third};

	(void)state;
	play(&machine, 2, bodies);
	assert_int_equal(after.misses - before.misses, 1);
	assert_int_equal(after.remote_misses - before.remote_misses, 0);
	assert_int_equal(took, (30 + 1) * NS);
}

static void a_line_of_another_socket_takes_the_remote_latency(void **state)
{
	void (*const bodies[])(void *) = {write_first, idle, idle, idle, load_third};

	(void)state;
	play(&machine, 5, bodies);
	assert_int_equal(after.remote_misses - before.remote_misses, 1);
	assert_int_equal(took, (90 + 1) * NS);
}

static void a_shared_line_is_read_from_its_home(void **state)
{
	void (*const bodies[])(void *) = {write_first, read_second, load_third};

	(void)state;
	play(&machine, 3, bodies);
	assert_int_equal(took, (20 + 1) * NS);
}

static void with_moesi_the_owner_answers(void **state)
{
	void (*const bodies[])(void *) = {write_first, read_second, load_third};
	struct machine moesi = machine;

	(void)state;
	moesi.protocol = PROTOCOL_MOESI;
	play(&moesi, 3, bodies);
	assert_int_equal(took, (30 + 1) * NS);
}

static void a_write_waits_for_all_copies_to_go(void **state)
{
	void (*const bodies[])(void *) = {read_first, read_second, rmw_third};

	(void)state;
	play(&machine, 3, bodies);
	assert_int_equal(after.misses - before.misses, 1);
	assert_int_equal(after.invalidations - before.invalidations, 2);
	/* To the home, to the copies and back, to the requester, and two copies. */
	assert_int_equal(took, (40 + 2) * NS);
}

static void exclusive_then_write(void *none)
{
	(void)none;
	turn(1);
	sim_engine->load(word, RELAXED, NULL);
	measure_rmw(3);
}

static void an_exclusive_line_is_written_without_a_word(void **state)
{
	void (*const bodies[])(void *) = {exclusive_then_write};

	(void)state;
	play(&machine, 1, bodies);
	assert_int_equal(after.misses - before.misses, 0);
}

static void load_neighbour(void *none)
{
	(void)none;
	turn(1);
	sim_engine->load(word, RELAXED, NULL);
	turn(3);
	before = coherence_counts();
	sim_engine->load(word + 8, RELAXED, NULL); /* the next 64 bytes */
	after = coherence_counts();
}

static void lines_may_move_in_pairs(void **state)
{
	struct coherence_setup setup = {.machine = &machine, .threads = 1, .seed = 1};
	void (*const bodies[])(void *) = {load_neighbour};
	int pairs;

	(void)state;
	for (pairs = 0; pairs < 2; pairs++) {
		setup.pairs = pairs;
		assert_true(play_as(&setup, bodies));
		assert_int_equal(after.misses - before.misses, !pairs);
	}
}

static void await_one(void *none)
{
	(void)none;
	sim_engine->await(SIM_AWAIT_EQ, word, 1, 0, RELAXED, NULL);
	after = coherence_counts();
	took = coherence_now();
}

static void store_one_late(void *none)
{
	(void)none;
	turn(500);
	before = coherence_counts();
	sim_engine->store(word, 1, RELAXED, NULL);
}

static void a_waiter_costs_nothing_until_it_is_invalidated(void **state)
{
	void (*const bodies[])(void *) = {await_one, store_one_late};

	(void)state;
	play(&machine, 2, bodies);
	/* The store, and the waiter's read of it: no more in half a millisecond. */
	assert_int_equal(after.misses - before.misses, 2);
	assert_in_range(took, 500 * 1000 * NS, 500 * 1000 * NS + 200 * NS);
}

static void take_token(void *none)
{
	(void)none;
	sim_engine->await(SIM_AWAIT_CAS, word, 1, 0, RELAXED, NULL);
}

static void count_and_stop(void *none)
{
	(void)none;
	turn(2);
	before = coherence_counts();
	turn(12);
	after = coherence_counts();
	coherence_stop();
}

static void waiters_that_swap_tear_the_line_from_each_other(void **state)
{
	void (*const one[])(void *) = {count_and_stop, take_token};
	void (*const two[])(void *) = {count_and_stop, take_token, take_token};

	(void)state;
	play(&machine, 2, one);
	assert_in_range(after.misses - before.misses, 0, 1);
	play(&machine, 3, two);
	/* In ten microseconds; a hand-over takes three legs. */
	assert_in_range(after.misses - before.misses, 300, 340);
}

static void wait_for_ever(void *none)
{
	(void)none;
	sim_engine->await(SIM_AWAIT_EQ, word, 1, 0, RELAXED, NULL);
}

static void threads_that_wait_for_ever_are_noticed(void **state)
{
	struct coherence_setup setup = {.machine = &machine, .threads = 1, .seed = 1};
	void (*const bodies[])(void *) = {wait_for_ever};

	(void)state;
	assert_false(play_as(&setup, bodies));
}

static void look_at_own_store(void *none)
{
	(void)none;
	turn(3);
	sim_engine->store(word, 7, RELAXED, NULL);
	took = sim_engine->load(word, RELAXED, NULL);
	after.misses = *word; /* still in the buffer: nobody else sees it */
}

static void a_store_is_seen_by_its_own_cpu_first(void **state)
{
	void (*const bodies[])(void *) = {read_first, look_at_own_store};

	(void)state;
	play(&machine, 2, bodies);
	assert_int_equal(left, 7);
	assert_int_equal(took, 7);
	assert_int_equal(after.misses, 0);
}

static void siblings_share_a_cache(void **state)
{
	void (*const bodies[])(void *) = {write_first, load_third};
	struct machine smt = machine;

	(void)state;
	smt.sockets = smt.cores = 1;
	smt.smt = 2;
	play(&smt, 2, bodies);
	assert_int_equal(after.misses - before.misses, 0);
}

static void a_cluster_settles_among_its_own(void **state)
{
	void (*const inside[])(void *) = {write_first, load_third};
	void (*const across[])(void *) = {write_first, idle, load_third};
	struct machine clusters = machine;

	(void)state;
	clusters.clusters = clusters.cores = 2;
	clusters.cluster = 9 * NS;
	clusters.settle = 1;
	play(&clusters, 2, inside);
	assert_int_equal(took, (9 + 1) * NS);
	play(&clusters, 3, across);
	assert_int_equal(took, (30 + 1) * NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_that_is_there_costs_a_hit),
		cmocka_unit_test(a_modified_line_takes_three_legs),
		cmocka_unit_test(a_line_of_another_socket_takes_the_remote_latency),
		cmocka_unit_test(a_shared_line_is_read_from_its_home),
		cmocka_unit_test(with_moesi_the_owner_answers),
		cmocka_unit_test(a_write_waits_for_all_copies_to_go),
		cmocka_unit_test(an_exclusive_line_is_written_without_a_word),
		cmocka_unit_test(lines_may_move_in_pairs),
		cmocka_unit_test(a_waiter_costs_nothing_until_it_is_invalidated),
		cmocka_unit_test(waiters_that_swap_tear_the_line_from_each_other),
		cmocka_unit_test(threads_that_wait_for_ever_are_noticed),
		cmocka_unit_test(a_store_is_seen_by_its_own_cpu_first),
		cmocka_unit_test(siblings_share_a_cache),
		cmocka_unit_test(a_cluster_settles_among_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
