/* SPDX-License-Identifier: MIT */
/*
 * Locks that know nodes, on machines of two sockets: they keep the lock on a socket,
 * which makes them faster, and yet give each socket its share.
 */
#include <sim/coherence/workload.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct workload_result run(const char *machine, const char *lock, unsigned threads,
				  uint64_t episodes)
{
	struct machine m;
	char error[256];
	struct workload_setup setup = {
		.lock = lock,
		.cs = 1,
		.episodes = episodes,
		.engine = {.machine = &m,
			   .threads = threads,
			   .seed = 1,
			   .placement = PLACE_SPREAD},
	};
	struct workload_result result;

	if (!machine_load(&m, machine, error, sizeof(error)))
		fail_msg("%s", error);
	result = workload_run(&setup);
	print_message("%s, %u threads, %-6s: %.2f M/s, %.2f remote misses, fairness by "
		      "node %.2f, streaks of %.1f, %lu at most\n",
		      machine, threads, lock, result.ops_per_s / 1e6,
		      result.remote_misses, result.node_fairness, result.streak,
		      (unsigned long)result.longest_streak);
	return result;
}

/* How many times as fast as mcs, and what else is asked of both. */
static double gain(const char *machine, const char *lock, unsigned threads)
{
	struct workload_result mcs = run(machine, "mcs", threads, 40000);
	struct workload_result ours = run(machine, lock, threads, 40000);

	assert_true(ours.remote_misses < mcs.remote_misses);
	assert_true(ours.node_fairness >= 0.9);
	assert_true(ours.streak > 4 * mcs.streak);
	/* 128 hand-overs, and those who would have come first anyway. */
	assert_in_range(ours.longest_streak, 0, 128 + threads);
	return ours.ops_per_s / mcs.ops_per_s;
}

static void cohort_pays_on_two_sockets(void **state)
{
	(void)state;
	assert_true(gain("intel-x5-2", "cohort", 72) >= 1.7);
	assert_true(run("intel-x5-2", "cohort", 72, 40000).remote_misses <= 0.2);
	assert_true(gain("intel-8375c", "cohort", 128) >= 1.3);
}

static void cna_pays_on_two_sockets(void **state)
{
	(void)state;
	assert_true(gain("intel-x5-2", "cna", 72) >= 1.4);
	assert_true(run("intel-x5-2", "cna", 72, 40000).remote_misses <= 0.3);
	assert_true(gain("intel-8375c", "cna", 128) >= 1.1);
}

/* Homes are asked there even by neighbours: less is to be had. */
static void both_keep_to_a_node_where_only_clusters_settle(void **state)
{
	(void)state;
	assert_true(gain("epyc-512", "cohort", 512) >= 1.1);
	assert_true(gain("epyc-512", "cna", 512) >= 0.85);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cohort_pays_on_two_sockets),
		cmocka_unit_test(cna_pays_on_two_sockets),
		cmocka_unit_test(both_keep_to_a_node_where_only_clusters_settle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
