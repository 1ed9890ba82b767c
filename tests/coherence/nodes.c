/* SPDX-License-Identifier: MIT */
/*
 * Locks that know homes, on machines of two sockets: they keep the lock where a cache is
 * shared, which makes them faster, and yet give each socket its share.
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

/* How many times as fast as mcs, and what is asked of both. */
static double gain(const char *machine, const char *lock, unsigned threads)
{
	struct workload_result mcs = run(machine, "mcs", threads, 20000);
	struct workload_result ours = run(machine, lock, threads, 60000);

	assert_true(ours.remote_misses <= 0.2);
	assert_true(ours.node_fairness >= 0.9);
	assert_true(ours.streak > 4 * mcs.streak);
	/* 256 hand-overs, and those who would have come first anyway. */
	assert_in_range(ours.longest_streak, 0, 256 + threads);
	return ours.ops_per_s / mcs.ops_per_s;
}

static void both_pay_with_72_cpus(void **state)
{
	(void)state;
	assert_true(gain("intel-x5-2", "cohort", 72) >= 1.7);
	assert_true(gain("intel-x5-2", "cna", 72) >= 1.7);
}

/* Clusters that share a cache are homes there. */
static void both_pay_with_512_cpus(void **state)
{
	(void)state;
	assert_true(gain("epyc-512", "cohort", 512) >= 1.7);
	assert_true(gain("epyc-512", "cna", 512) >= 1.7);
}

/* A line comes from the other socket in twice the time only, so that less is to be had. */
static void both_pay_where_sockets_are_near(void **state)
{
	(void)state;
	assert_true(gain("intel-8375c", "cohort", 128) >= 1.4);
	assert_true(run("intel-8375c", "cna", 128, 20000).ops_per_s >=
		    1.25 * run("intel-8375c", "mcs", 128, 20000).ops_per_s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_pay_with_72_cpus),
		cmocka_unit_test(both_pay_with_512_cpus),
		cmocka_unit_test(both_pay_where_sockets_are_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
