/* SPDX-License-Identifier: MIT */
/*
 * What the papers publish, and the simulator must show. One set of latencies for
 * each machine; nothing here knows how a lock works.
 */
#include <sim/coherence/workload.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 5 };

static struct machine load(const char *name)
{
	struct machine m;
	char error[256];

	if (!machine_load(&m, name, error, sizeof(error)))
		fail_msg("%s", error);
	return m;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median of several seeds: a queue lock keeps the order in which threads came,
 * and orders differ in how often they cross sockets. */
static double rate(struct workload_setup setup, const char *lock, unsigned threads)
{
	double rates[RUNS];
	unsigned i;

	setup.lock = lock;
	setup.engine.threads = threads;
	for (i = 0; i < RUNS; i++) {
		setup.engine.seed = i + 1;
		rates[i] = workload_run(&setup).ops_per_s;
	}
	qsort(rates, RUNS, sizeof(rates[0]), compare);
	return rates[RUNS / 2];
}

/* Hapax paper, Table 2, "Invalidations per episode". */

static double misses(const char *lock, unsigned threads)
{
	struct machine m = load("altra-128");
	/* Contention is sustained, but a thread that leaves does not come back
	 * at once, while it still has the lock's line. */
	struct workload_setup setup = {
		.engine = {.machine = &m, .threads = threads, .seed = 1},
		.lock = lock,
		.cs = 60,
		.ncs = 2100,
		.private_data = true,
		.explicit_face = true,
		.episodes = 10000,
	};

	return workload_run(&setup).misses;
}

static const struct table2 {
	const char *lock;
	double published;
	bool grows;
} table2[] = {
	{"mcs", 6, false},    {"clh", 5, false},   {"hemlock-ctr", 5, false},
	{"ticket", 10, true}, {"twa", 8.5, false}, {"reciprocating", 4, false},
	{"tidex", 10, true},  {"hapax", 5, false}, {"hapax-vw", 4, false},
};

enum { TABLE2 = sizeof(table2) / sizeof(table2[0]) };

static void misses_are_those_of_table_2(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TABLE2; i++) {
		double measured = misses(table2[i].lock, 10);

		print_message("%-14s published %4.1f, simulated %5.2f\n", table2[i].lock,
			      table2[i].published, measured);
		assert_true(fabs(measured - table2[i].published) <= 1);
	}
}

static void misses_grow_only_where_all_wait_on_one_word(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TABLE2; i++) {
		double few = misses(table2[i].lock, 10);
		double many = misses(table2[i].lock, 40);

		print_message("%-14s 10 threads %5.2f, 40 threads %5.2f\n",
			      table2[i].lock, few, many);
		if (table2[i].grows)
			assert_true(many > 3 * few);
		else
			assert_true(fabs(many - few) < 0.75);
	}
}

/* Reciprocating paper, Figure 1. */

static const char *const ranked[] = {"ticket", "twa",	      "mcs",
				     "clh",    "hemlock-ctr", "reciprocating"};

enum { RANKED = sizeof(ranked) / sizeof(ranked[0]) };

static void check_ranks(const char *name, uint64_t ncs)
{
	struct machine m = load(name);
	struct workload_setup setup = {
		.engine = {.machine = &m}, .cs = 1, .ncs = ncs, .episodes = 5000};
	unsigned top = machine_cpus(&m);
	unsigned threads[] = {16, top / 3, top / 2, top};
	double ticket = rate(setup, "ticket", 1);
	size_t i;

	/* Best at one thread, worst at the top. */
	for (i = 1; i < RANKED; i++)
		assert_true(ticket > rate(setup, ranked[i], 1));
	ticket = rate(setup, "ticket", top);
	for (i = 1; i < RANKED; i++)
		assert_true(ticket < rate(setup, ranked[i], top));

	for (i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		double reciprocating = rate(setup, "reciprocating", threads[i]);
		double mcs = rate(setup, "mcs", threads[i]);
		double clh = rate(setup, "clh", threads[i]);

		print_message("%s, ncs %lu, %u threads: reciprocating %.3f, mcs %.3f, "
			      "clh %.3f M/s\n",
			      name, (unsigned long)ncs, threads[i], reciprocating / 1e6,
			      mcs / 1e6, clh / 1e6);
		assert_true(reciprocating >= mcs);
		assert_true(reciprocating >= clh);
	}
}

static void ranks_hold_on_x5_2_at_maximum_contention(void **state)
{
	(void)state;
	check_ranks("intel-x5-2", 0);
}

static void ranks_hold_on_x5_2_at_moderate_contention(void **state)
{
	(void)state;
	check_ranks("intel-x5-2", 250);
}

static void ranks_hold_on_altra_at_maximum_contention(void **state)
{
	(void)state;
	check_ranks("altra-128", 0);
}

static void ranks_hold_on_altra_at_moderate_contention(void **state)
{
	(void)state;
	check_ranks("altra-128", 250);
}

/* Hemlock paper, Figures 2 and 9. */

static void ctr_helps_under_simple_contention(void **state)
{
	static const char *const machines[] = {"intel-x5-2", "altra-128"};
	static const unsigned threads[] = {8, 16, 32, 64};
	size_t i, j;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct machine m = load(machines[i]);
		struct workload_setup setup = {
			.engine = {.machine = &m}, .cs = 1, .episodes = 5000};

		for (j = 0; j < 4; j++) {
			double with = rate(setup, "hemlock-ctr", threads[j]);
			double without = rate(setup, "hemlock", threads[j]);

			print_message("%s, %u threads: with CTR %.3f, without %.3f M/s\n",
				      machines[i], threads[j], with / 1e6, without / 1e6);
			assert_true(with > without);
		}
	}
}

/* Published for X5-2 alone; the swapping waiters must be of two sockets. */
static void ctr_hurts_under_multi_waiting(void **state)
{
	static const unsigned threads[] = {24, 32, 48, 64};
	struct machine m = load("intel-x5-2");
	struct workload_setup setup = {.engine = {.machine = &m},
				       .workload = WORKLOAD_MULTIWAIT,
				       .episodes = 200};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		double with = rate(setup, "hemlock-ctr", threads[i]);
		double without = rate(setup, "hemlock", threads[i]);

		print_message("%u threads: with CTR %.4f, without %.4f M/s\n", threads[i],
			      with / 1e6, without / 1e6);
		assert_true(with < without);
	}
}

/* Hemlock paper, section 5.5. */
static void a_token_goes_round_faster_by_rmw(void **state)
{
	struct machine m = load("intel-x5-2");
	struct workload_setup setup = {
		.engine = {.machine = &m}, .workload = WORKLOAD_RING, .episodes = 5000};
	double by_load = rate(setup, "load", 32);

	(void)state;
	assert_true(rate(setup, "cas", 32) > by_load);
	assert_true(rate(setup, "fetch-add", 32) > by_load);
}

/* TWA paper, Figure 1. */
static void readers_slow_a_writer_down(void **state)
{
	static const unsigned threads[] = {1, 4, 8, 16, 32};
	struct machine m = load("intel-x5-2");
	struct workload_setup setup = {.engine = {.machine = &m},
				       .workload = WORKLOAD_DIAMETER,
				       .episodes = 5000};
	double last = rate(setup, "fetch-add", threads[0]);
	size_t i;

	(void)state;
	for (i = 1; i < sizeof(threads) / sizeof(threads[0]); i++) {
		double now = rate(setup, "fetch-add", threads[i]);

		assert_true(now < last);
		last = now;
	}
}

/* Reciprocating paper, section 8 (A): elements at home, nodes that circulate. */
static void wait_elements_are_best_at_home(void **state)
{
	struct machine m = load("intel-x5-2");
	struct workload_setup home = {
		.engine = {.machine = &m}, .cs = 1, .episodes = 5000};
	struct workload_setup away = home;

	(void)state;
	away.engine.thread_homes = THREADS_AWAY;
	assert_true(rate(home, "reciprocating", 36) > rate(away, "reciprocating", 36));
}

static void a_seed_gives_one_result(void **state)
{
	struct machine m = load("epyc-512");
	struct workload_setup setup = {
		.engine = {.machine = &m, .threads = 100, .seed = 7},
		.lock = "twa",
		.cs = 1,
		.ncs = 100,
		.episodes = 2000};
	struct workload_result one = workload_run(&setup), two = workload_run(&setup);

	(void)state;
	assert_memory_equal(&one, &two, sizeof(one));
	setup.engine.seed = 8;
	two = workload_run(&setup);
	assert_memory_not_equal(&one, &two, sizeof(one));
}

static void a_million_episodes_on_512_cpus_take_less_than_a_minute(void **state)
{
	struct machine m = load("epyc-512");
	struct workload_setup setup = {
		.engine = {.machine = &m, .threads = 512, .seed = 1},
		.lock = "reciprocating",
		.cs = 1,
		.episodes = 1000 * 1000};
	clock_t start = clock();

	(void)state;
	workload_run(&setup);
	assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(misses_are_those_of_table_2),
		cmocka_unit_test(misses_grow_only_where_all_wait_on_one_word),
		cmocka_unit_test(ranks_hold_on_x5_2_at_maximum_contention),
		cmocka_unit_test(ranks_hold_on_x5_2_at_moderate_contention),
		cmocka_unit_test(ranks_hold_on_altra_at_maximum_contention),
		cmocka_unit_test(ranks_hold_on_altra_at_moderate_contention),
		cmocka_unit_test(ctr_helps_under_simple_contention),
		cmocka_unit_test(ctr_hurts_under_multi_waiting),
		cmocka_unit_test(a_token_goes_round_faster_by_rmw),
		cmocka_unit_test(readers_slow_a_writer_down),
		cmocka_unit_test(wait_elements_are_best_at_home),
		cmocka_unit_test(a_seed_gives_one_result),
		cmocka_unit_test(a_million_episodes_on_512_cpus_take_less_than_a_minute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
