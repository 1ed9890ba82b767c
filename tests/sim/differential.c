/* SPDX-License-Identifier: MIT */
/*
 * The model checker against the reference: on each of thousands of random
 * programs both find the same executions, and the same kinds of failure.
 */
#include "reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 1 << 20 };

static uint64_t expected[ROOM], found[ROOM];
static size_t found_count;

static void collect(void *context, struct graph *g)
{
	(void)context;
	assert_true(found_count < ROOM);
	found[found_count++] = graph_hash(g);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t programs, executions;

static void judge(uint64_t seed, int threads, enum model model, bool hazards)
{
	static struct result result;
	struct reference reference = {.hashes = expected, .room = ROOM};
	struct small_program program;
	int early = (int)(seed & 1);
	struct options options = {
		.model = model,
		.early = early,
		.stuck_is_complete = true,
		.each = collect,
	};
	bool right;

	make_program(&program, seed, threads, hazards);
	found_count = 0;
	explore_program(&program, &options, &result);
	reference_explore(&program, model, early, &reference);
	programs++;
	executions += found_count;
	switch (result.verdict) {
	case VERDICT_RACE:
		right = reference.races;
		break;
	case VERDICT_FREED:
		right = reference.uses_after_free;
		break;
	default:
		qsort(expected, reference.count, sizeof(*expected), compare);
		qsort(found, found_count, sizeof(*found), compare);
		right = result.verdict == VERDICT_PASSED && !reference.races &&
			!reference.uses_after_free && found_count == reference.count &&
			memcmp(found, expected, found_count * sizeof(*found)) == 0;
	}
	if (!right)
		fail_msg("program %llu of %d threads, model %d, %s: %s, %zu executions; "
			 "expected%s%s, %zu",
			 (unsigned long long)seed, threads, (int)model,
			 hazards ? "hazards" : "no hazards", verdict_name(result.verdict),
			 found_count, reference.races ? " a race" : "",
			 reference.uses_after_free ? " a use after free" : "",
			 reference.count);
}

static void judge_all(enum model model, bool hazards, uint64_t n)
{
	uint64_t seed;

	programs = executions = 0;
	for (seed = 0; seed < scale(n); seed++) {
		judge(seed, 2, model, hazards);
		if (seed % 3 == 0)
			judge(seed, 3, model, hazards);
	}
	print_message("%llu programs, %llu executions, 0 differences\n",
		      (unsigned long long)programs, (unsigned long long)executions);
}

static void weak_executions_are_those_of_the_definition(void **state)
{
	(void)state;
	judge_all(MODEL_WEAK, false, 4000);
}

static void tso_executions_are_those_of_the_definition(void **state)
{
	(void)state;
	judge_all(MODEL_TSO, false, 1000);
}

static void sc_executions_are_those_of_the_definition(void **state)
{
	(void)state;
	judge_all(MODEL_SC, false, 1000);
}

static void hazards_are_those_of_the_definition(void **state)
{
	(void)state;
	judge_all(MODEL_WEAK, true, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weak_executions_are_those_of_the_definition),
		cmocka_unit_test(tso_executions_are_those_of_the_definition),
		cmocka_unit_test(sc_executions_are_those_of_the_definition),
		cmocka_unit_test(hazards_are_those_of_the_definition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
