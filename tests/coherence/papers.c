/* SPDX-License-Identifier: MIT */
/*
 * What the papers publish, and the simulator must show: the table of claims.def. One
 * set of latencies for each machine; nothing here knows how a lock works.
 */
#include <sim/coherence/claims.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <time.h>

enum { RUNS = 3, EPISODES = 2000, JOBS = 2 }; /* as pawl sim --preset papers */

static struct machine load(const char *name)
{
	struct machine m;
	char error[256];

	if (!machine_load(&m, name, error, sizeof(error)))
		fail_msg("%s", error);
	return m;
}

static void load_claimed(const char *name, struct machine *m, void *none)
{
	(void)none;
	*m = load(name);
}

/* All of them do, but those whose row says why they do not; and these are few. */
static void claims_hold(void **state)
{
	struct claim_result *results = calloc(claims_count, sizeof(*results));
	size_t i, held = 0, wrong = 0;

	(void)state;
	assert_non_null(results);
	claims_run(results, load_claimed, NULL, RUNS, EPISODES, JOBS);
	for (i = 0; i < claims_count; i++) {
		held += results[i].holds;
		if (results[i].holds || claims[i].reason != NULL)
			continue;
		print_message("%s, %s: %s: published %.2f, simulated %.2f\n",
			      claims[i].paper, claims[i].where, claims[i].text,
			      claims[i].expected, results[i].simulated);
		wrong++;
	}
	free(results);
	assert_int_equal(wrong, 0);
	assert_true(held * 100 >= claims_count * 85);
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
		cmocka_unit_test(claims_hold),
		cmocka_unit_test(a_seed_gives_one_result),
		cmocka_unit_test(a_million_episodes_on_512_cpus_take_less_than_a_minute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
