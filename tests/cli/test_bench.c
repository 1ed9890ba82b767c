/* SPDX-License-Identifier: MIT */
/* The parts that pawl bench is made of. */
#include "lcg.h"
#include "options.h"
#include "stats.h"
#include "subject.h"
#include "workload.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void jumping_ahead_equals_walking(void **state)
{
	static const uint32_t steps[] = {0, 1, 2, 3, 64, 1000, 65537};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		assert_true(lcg_jump(42, steps[i]) == lcg_walk(42, steps[i]));
}

static void random_numbers_stay_below_their_bound_and_reach_all_of_it(void **state)
{
	unsigned seen[10] = {0};
	uint64_t random = 7;
	size_t i;

	(void)state;
	for (i = 0; i < 10000; i++) {
		uint32_t n;

		random = lcg_next(random);
		n = lcg_below(random, 10);
		assert_in_range(n, 0, 9);
		seen[n]++;
	}
	for (i = 0; i < 10; i++)
		assert_in_range(seen[i], 800, 1200);
}

static bool close_to(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static void median_and_spread_ignore_an_outlier(void **state)
{
	static const double samples[] = {10, 1000, 11, 9, 10};
	struct estimate estimate = estimate_median(samples, 5);

	(void)state;
	assert_true(close_to(estimate.value, 10));
	assert_true(close_to(estimate.error, 0.5));
}

static void median_of_two_is_their_middle(void **state)
{
	static const double samples[] = {4, 2};

	(void)state;
	assert_true(close_to(estimate_median(samples, 2).value, 3));
}

static void single_sample_has_no_error(void **state)
{
	static const double sample = 5;

	(void)state;
	assert_true(close_to(estimate_median(&sample, 1).value, 5));
	assert_true(close_to(estimate_median(&sample, 1).error, 0));
}

static void ratio_adds_relative_errors_in_quadrature(void **state)
{
	struct estimate ratio = estimate_ratio((struct estimate){10, 0.3},
					       (struct estimate){5, 0.2});

	(void)state;
	assert_true(close_to(ratio.value, 2));
	assert_true(close_to(ratio.error, 2 * 0.05));
}

static const char *nth_fruit(size_t i)
{
	static const char *const fruits[] = {"apple", "pear", "cherry", NULL};

	return fruits[i];
}

static void nearest_name_mends_a_slip_and_no_more(void **state)
{
	(void)state;
	assert_string_equal(nearest_name("aple", nth_fruit), "apple");
	assert_string_equal(nearest_name("chery", nth_fruit), "cherry");
	assert_null(nearest_name("xyzzy", nth_fruit));
}

/* One short run on every subject, whichever there are. */
static void every_subject_runs_and_excludes(void **state)
{
	const struct bench_shape shape = {
		.threads = 2, .cs = 3, .ncs = 10, .seconds = 0.02, .seed = 1};
	size_t i;

	(void)state;
	for (i = 0; bench_subjects[i] != NULL; i++) {
		struct bench_outcome outcome;

		assert_true(mutex_run(bench_subjects[i], &shape, &outcome));
		assert_true(outcome.exclusive);
		assert_true(outcome.ops_per_s > 0);
		assert_true(outcome.fairness > 0 && outcome.fairness <= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jumping_ahead_equals_walking),
		cmocka_unit_test(
			random_numbers_stay_below_their_bound_and_reach_all_of_it),
		cmocka_unit_test(median_and_spread_ignore_an_outlier),
		cmocka_unit_test(median_of_two_is_their_middle),
		cmocka_unit_test(single_sample_has_no_error),
		cmocka_unit_test(ratio_adds_relative_errors_in_quadrature),
		cmocka_unit_test(nearest_name_mends_a_slip_and_no_more),
		cmocka_unit_test(every_subject_runs_and_excludes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
