/* SPDX-License-Identifier: MIT */
/* What a read of pawl_rwlock costs in misses, once warm. */
#include <sim/coherence/workload.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const unsigned sizes[] = {1, 8, 64, 256};

/* A count for each read, but for the edges of the measurement: a thread's very first
 * read, or one that is under way. 20,000 reads are measured. */
static bool is_about(double count, double wanted)
{
	return count > wanted - 0.02 && count < wanted + 0.02;
}

static struct workload_result reads(const char *lock, unsigned threads)
{
	struct machine m;
	char error[256];
	struct workload_setup setup = {
		.workload = WORKLOAD_READERS,
		.lock = lock,
		.episodes = 20000,
		.engine = {.machine = &m, .threads = threads, .seed = 1},
	};

	if (!machine_load(&m, "epyc-512", error, sizeof(error)))
		fail_msg("%s", error);
	return workload_run(&setup);
}

static void a_biased_read_has_no_miss_and_no_rmw(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct workload_result r = reads("rwlock", sizes[i]);

		assert_true(is_about(r.misses, 0));
		assert_true(is_about(r.invalidations, 0));
		assert_true(r.rmws == 0);
	}
}

static void a_fenced_read_has_no_miss(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_true(is_about(reads("rwlock-fenced", sizes[i]).misses, 0));
}

/* One read-modify-write in, none out; alone it hits. With others the line comes and goes.
 * (With very many, they give the lock a form in the end, as they should.) */
static void a_gated_read_has_one_rmw_and_misses_among_others(void **state)
{
	struct workload_result alone = reads("rwlock-gated", 1),
			       among = reads("rwlock-gated", 8);

	(void)state;
	assert_true(is_about(alone.rmws, 1));
	assert_true(is_about(alone.misses, 0));
	assert_true(among.rmws >= 1);
	assert_true(among.misses > 0.2);
}

int main(void)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_biased_read_has_no_miss_and_no_rmw),
		cmocka_unit_test(a_fenced_read_has_no_miss),
		cmocka_unit_test(a_gated_read_has_one_rmw_and_misses_among_others),
	};

	return cmocka_run_group_tests_name("readers", cases, NULL, NULL);
}
