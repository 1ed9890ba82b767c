/* SPDX-License-Identifier: MIT */
/* How many runs there will be is foreseen, and looking ahead changes nothing. */
#include <sim/check/scenario.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { OFTEN = 128, MOST = 4000, FACTOR = 3 };

static struct expected expected;
static int reports, estimates;

static void note(void *context, uint64_t runs, double seconds, struct expected now)
{
	(void)context, (void)runs, (void)seconds;
	reports++;
	estimates += now.runs > 0;
	expected = now;
}

static const struct lock_type *find_lock(const char *name)
{
	const struct lock_type *type = sim_lock_types;

	while (strcmp(type->name, name) != 0)
		type++;
	return type;
}

static const struct scenario *find_scenario(const struct lock_type *type,
					    const char *name)
{
	size_t n = 0;

	while (strcmp(scenario_of(type, n)->name, name) != 0)
		n++;
	return scenario_of(type, n);
}

/* Looking ahead as often as can be, with what every process sees before it goes on. */
static void explore_twice(const struct scenario *scenario, const struct lock_type *type,
			  int threads, int episodes, enum model model)
{
	static struct result alone, told;
	struct options options = {.model = model, .early = 1, .limit = MOST};

	scenario_check(scenario, type, threads, episodes, &options, &alone);
	options.progress = note;
	options.reported = OFTEN;
	options.await_estimate = true;
	scenario_check(scenario, type, threads, episodes, &options, &told);
	assert_int_equal(told.verdict, alone.verdict);
	assert_int_equal(told.executions, alone.executions);
	assert_int_equal(told.blocked, alone.blocked);
	assert_string_equal(told.choices, alone.choices);
}

static void looking_ahead_changes_nothing(void **state)
{
	const struct lock_type *type;
	const struct scenario *scenario;
	size_t n;
	int cases = 0, model;

	(void)state;
	for (type = sim_lock_types; type->name != NULL; type++) {
		for (n = 0; (scenario = scenario_of(NULL, n)) != NULL; n++) {
			if (scenario->only_threads > 2 || scenario->takes_minutes ||
			    scenario->cores != NULL || scenario->least_threads > 2 ||
			    strstr(type->name, "+park") != NULL ||
			    !scenario->applies(type))
				continue;
			for (model = MODEL_WEAK; model <= MODEL_SC; model++)
				explore_twice(scenario, type, 2, 1, (enum model)model);
			cases += 3;
		}
	}
	print_message("%d cases, %d reports, %d with an estimate\n", cases, reports,
		      estimates);
	assert_true(cases >= 50 && estimates >= 50);
}

static void foresees_the_number_of_runs(void **state)
{
	static const struct {
		const char *lock;
		int threads, episodes;
	} known[] = {{"ttas", 2, 4},
		     {"mcs", 3, 2},
		     {"hemlock", 3, 2},
		     {"reciprocating", 3, 2}};
	static struct result result;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct options options = {
			.progress = note, .reported = 4096, .await_estimate = true};
		const struct lock_type *type = find_lock(known[i].lock);
		double runs;

		expected.runs = 0;
		scenario_check(find_scenario(NULL, "sections"), type, known[i].threads,
			       known[i].episodes, &options, &result);
		runs = (double)(result.executions + result.blocked);
		print_message("%s: %.0f runs, foreseen %.0f, give or take %.0f %%\n",
			      known[i].lock, runs, expected.runs, 100 * expected.error);
		assert_int_equal(result.verdict, VERDICT_PASSED);
		assert_true(expected.runs > runs / FACTOR &&
			    expected.runs < runs * FACTOR);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looking_ahead_changes_nothing),
		cmocka_unit_test(foresees_the_number_of_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
