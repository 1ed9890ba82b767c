/* SPDX-License-Identifier: MIT */
/* How many runs there will be is foreseen, and looking ahead changes nothing. */
#include <sim/check/scenario.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct expected expected;
static int reports;

static void note(void *context, uint64_t runs, double seconds, struct expected now)
{
	(void)context, (void)runs, (void)seconds;
	expected = now;
	reports++;
}

static void explore_ttas(bool tells, struct result *result)
{
	const struct lock_type *type = sim_lock_types;
	size_t n = 0;
	struct options options = {.progress = tells ? note : NULL};

	while (strcmp(type->name, "ttas") != 0)
		type++;
	while (strcmp(scenario_of(NULL, n)->name, "sections") != 0)
		n++;
	scenario_check(scenario_of(NULL, n), type, 2, 4, &options, result);
	assert_int_equal(result->verdict, VERDICT_PASSED);
}

static void foresees_the_number_of_runs(void **state)
{
	static struct result alone, told;
	double runs;

	(void)state;
	explore_ttas(false, &alone);
	explore_ttas(true, &told);
	assert_true(reports >= 2);
	assert_int_equal(told.executions, alone.executions);
	assert_int_equal(told.blocked, alone.blocked);
	runs = (double)(told.executions + told.blocked);
	assert_true(expected.runs > runs / 3 && expected.runs < runs * 3);
	assert_true(expected.error > 0 && expected.error < 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foresees_the_number_of_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
