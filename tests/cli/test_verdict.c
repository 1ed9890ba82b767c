/* SPDX-License-Identifier: MIT */
/* The last sentence of pawl bench, for samples that are known. */
#include "cli/bench/bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RUNS_MAX = 8, LOCKS_MAX = 4 };

struct measured {
	const char *lock;
	size_t runs;
	double samples[RUNS_MAX];
};

/* Prints the report into a file; returns its last line, without the heading. */
static const char *verdict(const struct workload *workload,
			   const struct measured *measured, size_t count)
{
	static char text[8192];
	struct bench_subject subjects[LOCKS_MAX] = {{.name = NULL}};
	struct bench_sample samples[LOCKS_MAX][RUNS_MAX] = {{{.value = 0}}};
	struct bench_cell cells[LOCKS_MAX] = {{.subject = NULL}};
	struct bench_part part = {.workload = workload, .count = count, .cells = cells};
	struct bench_plan plan = {.count = 1, .parts = &part, .runs = RUNS_MAX};
	FILE *file = tmpfile();
	int saved = dup(STDOUT_FILENO);
	size_t i, run;

	for (i = 0; i < count; i++) {
		subjects[i].name = measured[i].lock;
		cells[i] = (struct bench_cell){.subject = &subjects[i],
					       .threads = 2,
					       .runs = measured[i].runs,
					       .samples = samples[i]};
		for (run = 0; run < measured[i].runs; run++)
			samples[i][run].value = measured[i].samples[run];
	}
	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	report_bench(&plan, 2);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	text[pread(fileno(file), text, sizeof(text) - 1, 0)] = '\0';
	fclose(file);
	text[strlen(text) - 1] = '\0';
	return strchr(strrchr(text, '\n') + 1, ':') + 2;
}

#define VERDICT(...)                                                  \
	verdict(workloads[0], (const struct measured[]){__VA_ARGS__}, \
		sizeof((const struct measured[]){__VA_ARGS__}) /      \
			sizeof(struct measured))

static void first_is_who_differs_from_all(void **state)
{
	(void)state;
	assert_string_equal(VERDICT({"tas", 5, {40, 40, 40, 40, 40}},
				    {"pthread", 5, {20, 20, 20, 20, 20}}),
			    "tas first, 2.00 (2.00 to 2.00) times pthread (93 % "
			    "confidence)");
}

static void who_is_alike_others_only_leads(void **state)
{
	(void)state;
	assert_string_equal(VERDICT({"tas", 5, {40, 41, 42, 43, 44}},
				    {"mcs", 5, {39, 40, 41, 42, 43}},
				    {"pthread", 5, {21, 21, 21, 21, 21}}),
			    "tas leads, 2.00 (1.90 to 2.10) times pthread; no "
			    "difference from mcs (93 % confidence)");
}

static void nothing_is_times_what_it_does_not_differ_from(void **state)
{
	(void)state;
	assert_string_equal(VERDICT({"tas", 5, {40, 41, 42, 43, 44}},
				    {"ticket", 5, {39, 40, 41, 42, 43}}),
			    "tas leads; no difference from ticket (93 % confidence)");
	assert_string_equal(VERDICT({"tas", 5, {40, 41, 42, 43, 44}},
				    {"mcs", 5, {39, 40, 41, 42, 43}},
				    {"pthread", 5, {39, 40, 41, 42, 43}}),
			    "tas leads; no difference from any other (93 % confidence)");
}

static void one_run_of_any_ranks_nothing(void **state)
{
	(void)state;
	assert_string_equal(VERDICT({"tas", 1, {26}}, {"ticket", 1, {25}}),
			    "too few runs to rank; 6 of each are enough");
	assert_string_equal(VERDICT({"tas", 2, {26, 27}}, {"ticket", 1, {25}}),
			    "too few runs to rank; 6 of each are enough");
}

static void one_lock_is_first_of_nothing(void **state)
{
	(void)state;
	assert_string_equal(VERDICT({"ticket", 1, {25}}, {"tas", 0, {0}}),
			    "nothing to compare ticket with");
	assert_string_equal(VERDICT({"ticket", 5, {1, 2, 3, 4, 5}}),
			    "nothing to compare ticket with");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_is_who_differs_from_all),
		cmocka_unit_test(who_is_alike_others_only_leads),
		cmocka_unit_test(nothing_is_times_what_it_does_not_differ_from),
		cmocka_unit_test(one_run_of_any_ranks_nothing),
		cmocka_unit_test(one_lock_is_first_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
