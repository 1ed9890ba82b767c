/* SPDX-License-Identifier: MIT */
/*
 * The memory models against the classical litmus tests. Each row asks: with
 * these orders, which outcomes are there? README.md has the question of each
 * family in words. The number of executions is recorded as well: a change in
 * it is a change in the model or in the search, and wants an explanation.
 * Then what was published of real architectures: the weak model must have every
 * outcome that one of them allows, but for load buffering.
 */
#include <sim/explore/explore.h>
#include <sim/seam.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_OPERATIONS = 4, MAX_OUTCOMES = 64, WORDS = 3 };

/*
 * A thread is a list of W[.order] word value, R[.order] word, A[.order] word n
 * (fetch and add) and F.kind; the order is relaxed unless given.
 */
struct litmus {
	const char *name;
	enum model model;
	const char *threads[4];
	const char *final; /* words whose last value belongs to the outcome */
	const char *outcomes;
	int executions;
};

static const struct litmus tests[] = {
#include "table.h"
};

static const struct published {
	const char *name;
	const char *threads[4];
	const char *final;
	const char *outcome; /* the one in question */
	struct {
		const char *name; /* of the test there; NULL if none was found */
		bool allowed;
		const char *source; /* its letter in docs/verification.md */
	} arm, riscv;
} published[] = {
#include "published.h"
};

struct operation_of_thread {
	char what;
	int order, word;
	uint64_t value;
};

static struct operation_of_thread code[4][MAX_OPERATIONS];
static int lengths[4], thread_count;
static uint64_t *words[WORDS];
static uint64_t taken[4][MAX_OPERATIONS];
static const struct litmus *test;

static char outcomes[MAX_OUTCOMES][16];
static int outcome_count;

static int parse_order(const char *name)
{
	static const struct {
		const char *name;
		int order;
	} orders[] =
		{
			{"rlx", SIM_RELAXED}, {"acq", SIM_ACQUIRE}, {"rel", SIM_RELEASE},
			{"ar", SIM_ACQ_REL},  {"sc", SIM_SEQ_CST},
		},
	  fences[] = {
		  {"light", SIM_FENCE_LIGHT}, {"heavy", SIM_FENCE_HEAVY},
		  {"acq", SIM_FENCE_ACQUIRE}, {"rel", SIM_FENCE_RELEASE},
		  {"ar", SIM_FENCE_ACQ_REL},  {"sc", SIM_FENCE_FULL},
	  };
	size_t i;

	if (name[0] == 'F') {
		for (i = 0; i < 6; i++)
			if (strcmp(fences[i].name, name + 2) == 0)
				return fences[i].order;
	} else if (name[1] == 0) {
		return SIM_RELAXED;
	} else {
		for (i = 0; i < 5; i++)
			if (strcmp(orders[i].name, name + 2) == 0)
				return orders[i].order;
	}
	fail_msg("no order in '%s'", name);
	return 0;
}

static void parse(const struct litmus *from)
{
	int t;

	test = from;
	for (t = 0; t < 4 && from->threads[t] != NULL; t++) {
		char text[128], *next, *rest = text;

		snprintf(text, sizeof(text), "%s", from->threads[t]);
		lengths[t] = 0;
		while ((next = strsep(&rest, ";")) != NULL) {
			struct operation_of_thread *o = &code[t][lengths[t]++];
			char name[16], word = 'x';
			unsigned long value = 0;

			assert_true(lengths[t] <= MAX_OPERATIONS);
			assert_true(sscanf(next, " %15s %c %lu", name, &word, &value) >=
				    1);
			o->what = name[0];
			o->order = parse_order(name);
			o->word = word - 'x';
			o->value = value;
		}
	}
	thread_count = t;
}

static void set_up(void *context)
{
	int i;

	(void)context;
	for (i = 0; i < WORDS; i++)
		words[i] = explore_allocate(8, 8);
}

static void run_thread(void *context, int t)
{
	int i;

	(void)context;
	for (i = 0; i < lengths[t]; i++) {
		struct operation_of_thread *o = &code[t][i];
		uint64_t *w = words[o->word];

		if (o->what == 'W')
			sim_store(w, o->value, o->order);
		else if (o->what == 'R')
			taken[t][i] = sim_load(w, o->order);
		else if (o->what == 'A')
			taken[t][i] = sim_fetch_add(w, o->value, o->order);
		else
			sim_fence((enum sim_fence)o->order);
	}
}

static void collect(void *context, struct graph *g)
{
	char outcome[16];
	int n = 0, t, i;

	(void)context, (void)g;
	for (t = 0; t < thread_count; t++)
		for (i = 0; i < lengths[t]; i++)
			if (code[t][i].what == 'R' || code[t][i].what == 'A')
				outcome[n++] = (char)('0' + taken[t][i]);
	for (i = 0; test->final[i] != 0; i++)
		outcome[n++] = (char)('0' + explore_final(words[test->final[i] - 'x']));
	outcome[n] = 0;
	for (i = 0; i < outcome_count; i++)
		if (strcmp(outcomes[i], outcome) == 0)
			return;
	assert_true(outcome_count < MAX_OUTCOMES);
	memcpy(outcomes[outcome_count++], outcome, sizeof(outcome));
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Leaves the outcomes, in order, in one text; the number of executions is returned. */
static uint64_t run(const struct litmus *row, char *found)
{
	static struct result result;
	struct program program = {.set_up = set_up, .thread = run_thread};
	struct options options = {.model = row->model, .each = collect};
	int i;

	parse(row);
	program.threads = thread_count;
	outcome_count = 0;
	explore(&program, &options, &result);
	assert_int_equal(result.verdict, VERDICT_PASSED);
	qsort(outcomes, (size_t)outcome_count, sizeof(outcomes[0]), compare);
	found[0] = '\0';
	for (i = 0; i < outcome_count; i++) {
		strcat(found, i == 0 ? "" : " ");
		strcat(found, outcomes[i]);
	}
	return result.executions;
}

static void check(const struct litmus *row)
{
	char found[MAX_OUTCOMES * 16];
	uint64_t executions = run(row, found);

	if (getenv("PAWL_LITMUS_PRINT") != NULL)
		print_message("%s | %s | %llu\n", row->name, found,
			      (unsigned long long)executions);
	if (strcmp(found, row->outcomes) != 0)
		fail_msg("%s: outcomes %s, expected %s", row->name, found, row->outcomes);
	if (executions != (uint64_t)row->executions)
		fail_msg("%s: %llu executions, recorded %d", row->name,
			 (unsigned long long)executions, row->executions);
}

/* A cell of the table: the verdict, and where it is from. */
static void tell(char *cell, const char *name, bool allowed, const char *source)
{
	if (name == NULL)
		strcpy(cell, "");
	else
		sprintf(cell, "%s, `%s` (%s)", allowed ? "allowed" : "forbidden", name,
			source);
}

/* Whether docs/verification.md has the line. */
static bool documented(const char *line)
{
	FILE *file = fopen(DOCUMENT, "r");
	char text[1024];
	bool found = false;

	assert_non_null(file);
	while (!found && fgets(text, sizeof(text), file) != NULL)
		found = strcmp(text, line) == 0;
	fclose(file);
	return found;
}

static void as_published(void **state)
{
	const struct published *row = *state;
	struct litmus program = {.name = row->name, .final = row->final};
	char found[MAX_OUTCOMES * 16], arm[128], riscv[128], code[160] = "", line[640];
	bool allowed = row->arm.allowed || row->riscv.allowed, has;
	/* What the model is known to leave out. */
	bool gap = strncmp(row->name, "LB", 2) == 0 && allowed;
	int t;

	memcpy(program.threads, row->threads, sizeof(program.threads));
	for (t = 0; t < 4 && row->threads[t] != NULL; t++) {
		strcat(code, t == 0 ? "" : " / ");
		strcat(code, row->threads[t]);
	}
	run(&program, found);
	has = strstr(found, row->outcome) != NULL;
	tell(arm, row->arm.name, row->arm.allowed, row->arm.source);
	tell(riscv, row->riscv.name, row->riscv.allowed, row->riscv.source);
	snprintf(line, sizeof(line), "| %s | `%s` | %s | %s | %s | %s |\n", row->name,
		 code, row->outcome, arm, riscv,
		 has   ? "allowed"
		 : gap ? "**missing**"
		       : "forbidden");
	if (getenv("PAWL_LITMUS_PRINT") != NULL)
		print_message("%s", line);
	if (allowed && !gap && !has)
		fail_msg("%s: %s is allowed, and not among %s", row->name, row->outcome,
			 found);
	if (!documented(line))
		fail_msg("docs/verification.md has no line %s", line);
}

static void one(void **state)
{
	check(*state);
}

int main(void)
{
	enum {
		COUNT = sizeof(tests) / sizeof(tests[0]),
		PUBLISHED = sizeof(published) / sizeof(published[0]),
	};
	static struct CMUnitTest all[COUNT + PUBLISHED];
	int i;

	for (i = 0; i < COUNT; i++)
		all[i] = (struct CMUnitTest){
			.name = tests[i].name,
			.test_func = one,
			.initial_state = (void *)&tests[i],
		};
	for (i = 0; i < PUBLISHED; i++)
		all[COUNT + i] = (struct CMUnitTest){
			.name = published[i].name,
			.test_func = as_published,
			.initial_state = (void *)&published[i],
		};
	return _cmocka_run_group_tests("litmus", all, COUNT + PUBLISHED, NULL, NULL);
}
