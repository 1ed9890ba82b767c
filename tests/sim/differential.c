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

/* Whether what was found is among what is expected; both are sorted. */
static bool all_expected(size_t expected_count)
{
	size_t i, j = 0;

	for (i = 0; i < found_count; i++) {
		while (j < expected_count && expected[j] < found[i])
			j++;
		if (j == expected_count || expected[j] != found[i])
			return false;
	}
	return true;
}

/* Of small programs all of them come up, if rarely; of larger ones nothing else does. */
static void judge_chance(uint64_t seed, int threads, enum model model)
{
	enum { SMALL = 12, RUNS = 1500, RAREST = 100 * RUNS };
	static struct result result;
	struct reference reference = {.hashes = expected, .room = ROOM};
	struct small_program program;
	int early = (int)(seed & 1);
	struct options options = {
		.model = model,
		.early = early,
		.stuck_is_complete = true,
		.each = collect,
		.random = RUNS,
		.seed = seed,
	};

	make_program(&program, seed, threads, false);
	reference_explore(&program, model, early, &reference);
	do {
		found_count = 0;
		explore_program(&program, &options, &result);
		options.random *= 10;
	} while (found_count < reference.count && reference.count <= SMALL &&
		 options.random <= RAREST);
	qsort(expected, reference.count, sizeof(*expected), compare);
	qsort(found, found_count, sizeof(*found), compare);
	if (result.verdict != VERDICT_NONE_SEEN || !all_expected(reference.count) ||
	    (reference.count <= SMALL && found_count != reference.count))
		fail_msg("program %llu of %d threads, model %d, at random: %s, %zu "
			 "executions of %zu",
			 (unsigned long long)seed, threads, (int)model,
			 verdict_name(result.verdict), found_count, reference.count);
	executions += found_count;
}

static void random_executions_are_those_of_the_definition(void **state)
{
	uint64_t seed;

	(void)state;
	executions = 0;
	for (seed = 0; seed < scale(100); seed++) {
		judge_chance(seed, 2, MODEL_WEAK);
		judge_chance(seed, 2, MODEL_TSO);
		judge_chance(seed, 3, MODEL_WEAK);
	}
	print_message("%llu executions, 0 differences\n", (unsigned long long)executions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weak_executions_are_those_of_the_definition),
		cmocka_unit_test(tso_executions_are_those_of_the_definition),
		cmocka_unit_test(sc_executions_are_those_of_the_definition),
		cmocka_unit_test(hazards_are_those_of_the_definition),
		cmocka_unit_test(random_executions_are_those_of_the_definition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
