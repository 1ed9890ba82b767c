/* SPDX-License-Identifier: MIT */
/* Each effect that a machine file can switch, alone, on a program of a few lines. */
#include "scene.h"

#include <string.h>

static void idle(void *none)
{
	(void)none;
}

/* Four lines are another core's. */
static void take_four(void *none)
{
	unsigned i;

	(void)none;
	turn(1);
	for (i = 0; i < 4; i++)
		sim_engine->fetch_add(word + i * 2 * LINE, 1, RELAXED, NULL);
}

/* Stores to them, and goes on. */
static void store_four(void *none)
{
	uint64_t start;
	unsigned i;

	(void)none;
	own_end_line();
	start = begin(3);
	for (i = 0; i < 4; i++)
		sim_engine->store(word + i * 2 * LINE, 1, RELAXED, NULL);
	end(start);
}

static void store_four_and_drain(void *none)
{
	uint64_t start;
	unsigned i;

	(void)none;
	own_end_line();
	start = begin(3);
	for (i = 0; i < 4; i++)
		sim_engine->store(word + i * 2 * LINE, 1, RELAXED, NULL);
	sim_engine->fence(SIM_FENCE_FULL, NULL);
	end(start);
}

static void a_buffered_store_does_not_wait_for_its_line(void **state)
{
	void (*const bodies[])(void *) = {take_four, store_four};
	struct machine m = machine;

	(void)state;
	assert_int_equal(time_of(&m, 2, bodies), 4);
	m.buffer = 2; /* the third waits until both are done */
	assert_in_range(time_of(&m, 2, bodies), 30, 45);
	m.buffer = 0;
	assert_in_range(time_of(&m, 2, bodies), 4 * 30, 4 * 33);
}

static void stores_fetch_several_lines_at_once(void **state)
{
	void (*const bodies[])(void *) = {take_four, store_four_and_drain};
	struct machine m = machine;

	(void)state;
	assert_in_range(time_of(&m, 2, bodies), 30, 36);
	m.fetches = 2;
	assert_in_range(time_of(&m, 2, bodies), 60, 66);
	m.fetches = 0;
	assert_in_range(time_of(&m, 2, bodies), 120, 126);
}

static void store_then_rmw(void *none)
{
	uint64_t start;

	(void)none;
	own_end_line();
	sim_engine->fetch_add(word + 100 * LINE, 1, RELAXED, NULL); /* is there */
	start = begin(3);
	sim_engine->store(word, 1, RELAXED, NULL);
	sim_engine->fetch_add(word + 100 * LINE, 1, RELAXED, NULL);
	end(start);
}

static void a_read_modify_write_waits_for_older_stores(void **state)
{
	void (*const bodies[])(void *) = {take_four, store_then_rmw};
	struct machine m = machine;

	(void)state;
	assert_in_range(time_of(&m, 2, bodies), 30 + 5, 30 + 7);
}

static void read_four(void *none)
{
	uint64_t start;
	unsigned i;

	(void)none;
	own_end_line();
	start = begin(3);
	for (i = 0; i < 4; i++)
		coherence_read(word + i * 2 * LINE);
	sim_engine->fence(SIM_FENCE_FULL, NULL);
	end(start);
}

static void plain_loads_may_overlap(void **state)
{
	void (*const bodies[])(void *) = {take_four, read_four};
	struct machine m = machine;

	(void)state;
	assert_in_range(time_of(&m, 2, bodies), 120, 126);
	m.loads = 4;
	assert_in_range(time_of(&m, 2, bodies), 30, 36);
	m.loads = 2;
	assert_in_range(time_of(&m, 2, bodies), 60, 66);
}

static void read_work_and_load(void *none)
{
	uint64_t start;

	(void)none;
	own_end_line();
	start = begin(3);
	coherence_read(word);
	coherence_delay(20 * NS);
	sim_engine->load(word + 2 * LINE, RELAXED, NULL);
	sim_engine->fence(SIM_FENCE_FULL, NULL);
	end(start);
}

static void a_load_behind_work_is_satisfied_early(void **state)
{
	void (*const bodies[])(void *) = {take_four, read_work_and_load};
	struct machine m = machine;

	(void)state;
	assert_in_range(time_of(&m, 2, bodies), 30 + 20 + 30, 84);
	m.loads = 4; /* but the work waits for them, and the next load for the work */
	assert_in_range(time_of(&m, 2, bodies), 30 + 20 + 30, 84);
	m.window = 20 * NS;
	assert_in_range(time_of(&m, 2, bodies), 30 + 20, 56);
}

static void read_and_store(void *none)
{
	(void)none;
	own_end_line();
	turn(3);
	coherence_read(word);
	sim_engine->store(word + 2 * LINE, 7, RELAXED, NULL);
}

static void see_store(void *none)
{
	(void)none;
	turn(2);
	sim_engine->await(SIM_AWAIT_EQ, word + 2 * LINE, 7, 0, RELAXED, NULL);
	took = coherence_now() - 3000 * NS;
}

static void a_store_does_not_pass_a_load(void **state)
{
	void (*const bodies[])(void *) = {take_four, read_and_store, see_store};
	struct machine m = machine;
	uint64_t blocking;

	(void)state;
	blocking = time_of(&m, 3, bodies);
	m.loads = 4;
	assert_in_range(time_of(&m, 3, bodies), blocking - 2, blocking + 2);
}

static void read_one(void *none)
{
	uint64_t start;

	(void)none;
	own_end_line();
	start = begin(3);
	sim_engine->load(word, RELAXED, NULL);
	end(start);
}

static void read_one_first(void *none)
{
	(void)none;
	turn(2);
	sim_engine->load(word, RELAXED, NULL);
}

static void read_at_once(void *none)
{
	(void)none;
	sim_engine->load(word, RELAXED, NULL);
}

static void a_socket_may_settle_among_its_own(void **state)
{
	/* Home is node 0; two cores of node 1 pass it on. */
	void (*const bodies[])(void *) = {read_at_once, idle, idle,    idle,
					  take_four,	idle, read_one};
	struct machine m = machine;

	(void)state;
	m.settle = 0;
	assert_in_range(time_of(&m, 7, bodies), 40 + 40 + 10, 92);
	assert_int_equal(after.remote_misses - before.remote_misses, 1);
	m.settle = 1;
	assert_in_range(time_of(&m, 7, bodies), 30, 32);
	assert_int_equal(after.remote_misses - before.remote_misses, 0);
}

static void a_forwarder_answers_instead_of_the_home(void **state)
{
	/* Read by a core of node 1, then by one of node 0. */
	void (*const bodies[])(void *) = {take_four, idle, idle, read_one,
					  read_one_first};
	struct machine m = machine;

	(void)state;
	assert_in_range(time_of(&m, 5, bodies), 20, 22);
	m.protocol = PROTOCOL_MESIF;
	assert_in_range(time_of(&m, 5, bodies), 10 + 40 + 40, 92);
	m.protocol = PROTOCOL_MOESI; /* the one who wrote */
	assert_in_range(time_of(&m, 5, bodies), 30, 32);
}

static void read_another(void *none)
{
	(void)none;
	turn(3);
	sim_engine->load(word + 2 * LINE, RELAXED, NULL);
}

static void a_busy_home_queues_requests_for_other_lines(void **state)
{
	void (*const bodies[])(void *) = {take_four, read_another, read_one};
	struct machine m = machine;
	uint64_t idle_home;

	(void)state;
	idle_home = time_of(&m, 3, bodies);
	m.home = 25 * NS;
	assert_in_range(time_of(&m, 3, bodies), idle_home + 20, idle_home + 25);
}

static void add_one(void *none)
{
	(void)none;
	own_end_line();
	turn(3);
	sim_engine->fetch_add(word, 1, RELAXED, NULL);
}

static void read_one_after(void *none)
{
	uint64_t start;

	(void)none;
	own_end_line();
	start = begin(3);
	coherence_delay(5 * NS);
	sim_engine->load(word, RELAXED, NULL);
	end(start);
}

static void a_home_may_wait_until_the_requester_has_the_line(void **state)
{
	void (*const bodies[])(void *) = {take_four, add_one, read_one_after};
	struct machine m = machine;
	uint64_t with;

	(void)state;
	with = time_of(&m, 3, bodies);
	m.acknowledge = 0;
	assert_int_equal(time_of(&m, 3, bodies), with - 10); /* a leg */
}

static void write_word(void *none)
{
	(void)none;
	turn(1);
	sim_engine->fetch_add(word, 1, RELAXED, NULL);
	turn(3);
	before = coherence_counts();
	sim_engine->load(word, RELAXED, NULL); /* unless the line has moved, a hit */
	after = coherence_counts();
}

static void read_then_write(void *none)
{
	(void)none;
	turn(2);
	sim_engine->load(word, RELAXED, NULL);
	took = coherence_counts().misses;
	sim_engine->fetch_add(word, 1, RELAXED, NULL);
	took = coherence_counts().misses - took;
}

static void read_only(void *none)
{
	(void)none;
	turn(2);
	sim_engine->load(word, RELAXED, NULL);
}

static void a_read_takes_over_what_its_owner_wrote(void **state)
{
	void (*const writes[])(void *) = {write_word, read_then_write};
	void (*const reads[])(void *) = {write_word, read_only};
	struct machine m = machine;
	int migrate;

	(void)state;
	for (migrate = 0; migrate < 2; migrate++) {
		m.migrate = (unsigned)migrate;
		play(&m, 2, writes);
		assert_int_equal(took, !migrate); /* whoever read it has it alone */
		play(&m, 2, reads);
		assert_int_equal(after.misses - before.misses, migrate);
	}
}

static void write_two(void *none)
{
	(void)none;
	turn(1);
	sim_engine->fetch_add(word, 1, RELAXED, NULL);
	sim_engine->fetch_add(word + LINE, 1, RELAXED, NULL);
}

static void load_and_add(void *none)
{
	(void)none;
	turn(3);
	took = coherence_now();
	coherence_read(word);
	sim_engine->fetch_add(word + LINE, 1, RELAXED, NULL);
	sim_engine->load(word, RELAXED, NULL);
	took = (coherence_now() - took) / NS;
}

static void load_and_store(void *none)
{
	(void)none;
	turn(3);
	took = coherence_now();
	coherence_read(word);
	coherence_write(word + LINE);
	sim_engine->fence(SIM_FENCE_FULL, NULL);
	sim_engine->load(word, RELAXED, NULL);
	took = (coherence_now() - took) / NS;
}

static void a_write_fetches_its_line_behind_a_load(void **state)
{
	void (*const adds[])(void *) = {write_two, load_and_add};
	void (*const stores[])(void *) = {write_two, load_and_store};
	struct machine m = machine;
	uint64_t add, store;

	(void)state;
	m.loads = 1;
	play(&m, 2, adds);
	add = took;
	play(&m, 2, stores);
	store = took;
	m.ahead = 1;
	play(&m, 2, adds);
	assert_int_equal(add - took, 29); /* a way, but for the hit of the load */
	play(&m, 2, stores);
	assert_int_equal(store - took, 29);
}

static void count_beside(void *none)
{
	(void)none;
	turn(3);
	sim_engine->load(word, RELAXED, NULL);
	turn(4);
	before = coherence_counts();
	sim_engine->load(word + LINE, RELAXED, NULL);
	after = coherence_counts();
}

static void write_pair(void *none)
{
	(void)none;
	turn(1);
	sim_engine->fetch_add(word, 1, RELAXED, NULL);
	sim_engine->fetch_add(word + LINE, 1, RELAXED, NULL);
	turn(5);
	took = coherence_counts().misses;
	sim_engine->fetch_add(word + LINE, 1, RELAXED, NULL);
	took = coherence_counts().misses - took;
}

static void a_miss_brings_the_line_beside_it(void **state)
{
	void (*const bodies[])(void *) = {write_pair, count_beside};
	struct machine m = machine;
	int adjacent;

	(void)state;
	for (adjacent = 0; adjacent < 2; adjacent++) {
		m.adjacent = (unsigned)adjacent;
		play(&m, 2, bodies);
		assert_int_equal(after.misses - before.misses, !adjacent);
		/* Its writer has to get it back, either way. */
		assert_int_equal(took, 1);
	}
}

static void store_one(void *none)
{
	(void)none;
	turn(3);
	sim_engine->store(word, 1, RELAXED, NULL);
}

static void await_one(void *none)
{
	(void)none;
	sim_engine->await(SIM_AWAIT_EQ, word, 1, 0, RELAXED, NULL);
	sim_engine->load(word, RELAXED, NULL);
	took = coherence_now() - 3000 * NS;
}

static void take_one(void *none)
{
	(void)none;
	sim_engine->await(SIM_AWAIT_CAS, word, 1, 0, RELAXED, NULL);
	sim_engine->load(word, RELAXED, NULL);
	took = coherence_now() - 3000 * NS;
}

static void a_hint_delays_the_next_look(void **state)
{
	void (*const bodies[])(void *) = {store_one, await_one};
	struct machine m = machine;
	uint64_t least = UINT64_MAX, most = 0, seed;

	(void)state;
	m.pause = 500 * NS;
	for (seed = 1; seed <= 20; seed++) {
		struct coherence_setup setup = {
			.machine = &m, .threads = 2, .seed = seed};

		assert_true(play_as(&setup, bodies));
		least = took < least ? took : least;
		most = took > most ? took : most;
	}
	assert_in_range(most - least, 250 * NS, 500 * NS);
}

static void who_leaves_a_loop_of_loads_pays_for_it(void **state)
{
	void (*const loads[])(void *) = {store_one, await_one};
	void (*const swaps[])(void *) = {store_one, take_one};
	struct machine m = machine, flushes = machine;

	(void)state;
	flushes.flush = 17 * NS;
	assert_int_equal(time_of(&flushes, 2, loads), time_of(&m, 2, loads) + 17);
	assert_int_equal(time_of(&flushes, 2, swaps), time_of(&m, 2, swaps));
}

static unsigned moves; /* of the line, from socket to socket */
static unsigned last_node;

static void fight(void *none)
{
	unsigned i, node = coherence_self() / machine.cores;

	(void)none;
	turn(2);
	for (i = 0; i < 200; i++) {
		sim_engine->fetch_add(word, 1, RELAXED, NULL);
		moves += node != last_node;
		last_node = node;
	}
}

static void a_socket_may_favour_its_own(void **state)
{
	void (*const bodies[])(void *) = {fight, fight, fight, fight,
					  fight, fight, fight, fight};
	struct machine m = machine;
	unsigned in_turn;

	(void)state;
	m.batch = 0;
	play(&m, 8, bodies);
	in_turn = moves;
	m.batch = 16;
	moves = 0;
	play(&m, 8, bodies);
	assert_true(moves * 2 < in_turn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffered_store_does_not_wait_for_its_line),
		cmocka_unit_test(stores_fetch_several_lines_at_once),
		cmocka_unit_test(a_read_modify_write_waits_for_older_stores),
		cmocka_unit_test(plain_loads_may_overlap),
		cmocka_unit_test(a_load_behind_work_is_satisfied_early),
		cmocka_unit_test(a_store_does_not_pass_a_load),
		cmocka_unit_test(a_socket_may_settle_among_its_own),
		cmocka_unit_test(a_forwarder_answers_instead_of_the_home),
		cmocka_unit_test(a_busy_home_queues_requests_for_other_lines),
		cmocka_unit_test(a_home_may_wait_until_the_requester_has_the_line),
		cmocka_unit_test(a_read_takes_over_what_its_owner_wrote),
		cmocka_unit_test(a_write_fetches_its_line_behind_a_load),
		cmocka_unit_test(a_miss_brings_the_line_beside_it),
		cmocka_unit_test(a_hint_delays_the_next_look),
		cmocka_unit_test(who_leaves_a_loop_of_loads_pays_for_it),
		cmocka_unit_test(a_socket_may_favour_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
