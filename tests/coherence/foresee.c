/* SPDX-License-Identifier: MIT */
/* What a CPU asks for before its turn, and ways that differ: each alone. */
#include "scene.h"

/* Twice the same two accesses; both lines are taken away in between. */
static const char there[] = "ab"; /* two places in the code */
static bool points;		  /* the first value says where the second line is */

static void take_two_again(void *none)
{
	(void)none;
	turn(2);
	sim_engine->fetch_add(word, 0, RELAXED, NULL);
	sim_engine->fetch_add(word + 2 * LINE, 1, RELAXED, NULL);
}

static void add_and_load_twice(void *none)
{
	uint64_t start;

	(void)none;
	own_end_line();
	if (points)
		*word = (uint64_t)(uintptr_t)(word + 2 * LINE);
	sim_engine->fetch_add(word, 0, RELAXED, there);
	sim_engine->load(word + 2 * LINE, RELAXED, there + 1);
	start = begin(3);
	sim_engine->fetch_add(word, 0, RELAXED, there);
	sim_engine->load(word + 2 * LINE, RELAXED, there + 1);
	end(start);
}

static void a_cpu_fetches_what_follows_a_read_modify_write(void **state)
{
	void (*const bodies[])(void *) = {take_two_again, add_and_load_twice};
	struct machine m = machine;

	(void)state;
	assert_in_range(time_of(&m, 2, bodies), 30 + 5 + 30 + 1, 68);
	m.foresee = 1;
	assert_in_range(time_of(&m, 2, bodies), 30 + 5 + 1, 38);
	assert_int_equal(after.misses - before.misses, 2); /* each line once */
	points = true;
	assert_in_range(time_of(&m, 2, bodies), 30 + 5 + 30 + 1, 68);
	points = false;
}

/* Both lines are away when the second wait begins, and again when it ends. */
static void hand_over_twice(void *none)
{
	unsigned i;

	(void)none;
	for (i = 2; i <= 5; i++) {
		if (i == 4)
			continue;
		turn(i);
		sim_engine->fetch_add(word + 2 * LINE, 1, RELAXED, NULL);
		sim_engine->store(word, i, RELAXED, NULL);
	}
}

static void wait_and_load_twice(void *none)
{
	(void)none;
	own_end_line();
	sim_engine->await(SIM_AWAIT_EQ, word, 2, 0, RELAXED, there);
	sim_engine->load(word + 2 * LINE, RELAXED, there + 1);
	turn(4);
	before = coherence_counts();
	sim_engine->await(SIM_AWAIT_EQ, word, 5, 0, RELAXED, there);
	sim_engine->load(word + 2 * LINE, RELAXED, there + 1);
	after = coherence_counts();
}

static void nothing_is_foreseen_behind_a_wait(void **state)
{
	void (*const bodies[])(void *) = {hand_over_twice, wait_and_load_twice};
	struct machine m = machine;

	(void)state;
	m.foresee = 8;
	play(&m, 2, bodies);
	/* The word, the other one's two writes, the word and the other line; not that
	 * line before, to be lost again. */
	assert_int_equal(after.misses - before.misses, 4);
}

/* The other one has the line. */
static void take_line(void *none)
{
	(void)none;
	turn(1);
	sim_engine->fetch_add(word, 1, RELAXED, NULL);
}

static void read_line(void *none)
{
	(void)none;
	own_end_line();
	measure_load(3);
}

static void ways_differ(void **state)
{
	void (*const bodies[])(void *) = {take_line, read_line};
	struct machine m = machine;
	uint64_t least = UINT64_MAX, most = 0, sum = 0, seed;

	(void)state;
	m.spread = 50;
	for (seed = 1; seed <= 200; seed++) {
		struct coherence_setup setup = {
			.machine = &m, .threads = 2, .seed = seed};

		assert_true(play_as(&setup, bodies));
		least = took < least ? took : least;
		most = took > most ? took : most;
		sum += took;
	}
	assert_in_range(least, 15 * NS, 19 * NS);
	assert_in_range(most, 43 * NS, 47 * NS);
	assert_in_range(sum / 200, 29 * NS, 33 * NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpu_fetches_what_follows_a_read_modify_write),
		cmocka_unit_test(nothing_is_foreseen_behind_a_wait),
		cmocka_unit_test(ways_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
