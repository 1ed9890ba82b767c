/* SPDX-License-Identifier: MIT */
/* pawl try: its options and the sequence of steps. */
#define _GNU_SOURCE
#include "cli/try/try.h"

#include "cli/commands.h"
#include "cli/common/context.h"
#include "cli/common/interpose.h"
#include "cli/common/interrupt.h"
#include "cli/common/options.h"
#include "cli/common/output.h"

#include <stdlib.h>
#include <string.h>

/* One lock of each kind that parks, because a program may have more threads than CPUs,
 * and that any thread may unlock, because some programs do: bounded barging, unbounded
 * barging, a queue, a queue without nodes. */
static const char default_locks[] = "mutex,ttas+park,mcs+park,hapax+park";

static const double default_budget = 60; /* seconds */
enum { RUNS_LIMIT = 10000 };

static void add_lock(const char *option, const char *name, void *into)
{
	struct request *request = into;
	size_t i;

	require_offered(lock_of(name));
	for (i = 0; i < request->count; i++)
		if (strcmp(request->locks[i], name) == 0)
			return;
	if (request->count == LOCKS_MAX)
		refuse("--%s: more than %d locks", option, LOCKS_MAX);
	request->locks[request->count] = strdup(name);
	if (request->locks[request->count++] == NULL)
		give_up("out of memory");
}

static void forget_locks(struct request *request)
{
	while (request->count > 0)
		free((void *)(uintptr_t)request->locks[--request->count]);
}

static void parse_locks(const char *option, const char *text, void *into)
{
	forget_locks(into); /* the last of several options counts */
	each_item(option, text, add_lock, into);
}

static void parse_runs(const char *option, const char *text, void *into)
{
	parse_positive(option, text, into);
	if (*(int *)into > RUNS_LIMIT)
		refuse("--%s: more than %d; ask for fewer", option, RUNS_LIMIT);
}

static void parse_metric(const char *option, const char *text, void *into)
{
	struct request *request = into;
	char why[128];
	int error;

	if (request->metric != NULL)
		regfree(&request->regex);
	error = regcomp(&request->regex, text, REG_EXTENDED | REG_NEWLINE);
	if (error != 0) {
		regerror(error, &request->regex, why, sizeof(why));
		refuse("--%s: '%s' is not an extended regular expression: %s", option,
		       text, why);
	}
	request->metric = text;
}

/* Seconds, or with a unit: 90s, 2m. */
static void parse_budget(const char *option, const char *text, void *into)
{
	const double longest = 86400;
	char *end;
	double value = strtod(text, &end);

	if (strcmp(end, "m") == 0)
		value *= 60;
	/* Negated, so that it refuses NaN, too. */
	if (end == text ||
	    (*end != '\0' && strcmp(end, "s") != 0 && strcmp(end, "m") != 0) ||
	    !(value > 0 && value <= longest))
		refuse("--%s: '%s' is not a time above 0 and up to a day, such as 90s or "
		       "2m",
		       option, text);
	*(double *)into = value;
}

/* With room for one more candidate, which may be added later. */
static struct trial make_trial(const struct request *request)
{
	struct trial trial = {
		.request = request,
		.deciding = request->metric != NULL ? METRIC : WALL,
		.more_is_better = request->metric != NULL && !request->less,
		.confidence = 0.95,
		.count = request->count + 1,
	};
	size_t i, runs = request->runs > RACE_ROUNDS_MOST ? (size_t)request->runs
							  : RACE_ROUNDS_MOST;
	int f;

	trial.candidates = calloc(trial.count + 1, sizeof(*trial.candidates));
	if (trial.candidates == NULL)
		give_up("out of memory");
	trial.candidates[0].name = "glibc";
	for (i = 0; i < request->count; i++)
		trial.candidates[i + 1].name = request->locks[i];
	for (i = 0; i <= trial.count; i++)
		for (f = 0; f < FIGURES; f++) {
			trial.candidates[i].samples[f] = calloc(runs, sizeof(double));
			if (trial.candidates[i].samples[f] == NULL)
				give_up("out of memory; lower --runs");
		}
	return trial;
}

static void free_trial(struct trial *trial)
{
	size_t i;
	int f;

	for (i = 0; i < trial->request->count + 2; i++) {
		free_environment(trial->candidates[i].environment);
		for (f = 0; f < FIGURES; f++)
			free(trial->candidates[i].samples[f]);
	}
	free(trial->candidates);
}

/* 0, or 1 if the program failed under some lock. */
static int status_of(const struct trial *trial)
{
	size_t i;

	for (i = 0; i < trial->count; i++)
		if (*trial->candidates[i].trouble != '\0')
			return 1;
	return 0;
}

static int run(const struct request *request, json_t *context)
{
	struct trial trial = make_trial(request);
	double began = now();
	int status;

	begin_runs(request);
	print_context(context);
	take_look(&trial);
	if (!runs_interrupted() && !trial.look.ends_it)
		run_race(&trial, began + request->budget);
	trial.spent_s = now() - began;
	status = status_of(&trial);
	if (runs_interrupted()) {
		warn("interrupted; these are partial results");
		status = EXIT_INTERRUPTED;
	}
	if (trial.candidates[0].runs > 0 || trial.wanted_s > 0 || !runs_interrupted()) {
		report_trial(&trial);
		if (request->json != NULL)
			write_result_file(describe_trial(&trial, context));
	}
	free_trial(&trial);
	end_runs();
	return status;
}

/* The runs under glibc must not have an interposer. */
static void refuse_an_interposer(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	if (preloaded != NULL && strstr(preloaded, "libpawl-pthread") != NULL)
		refuse("LD_PRELOAD already has pawl's interposer, so nothing would run "
		       "under glibc; unset it");
}

/* Checks combinations of options. */
static void check_request(struct request *request, char **words, bool has_program)
{
	if (request->server != NULL && has_program)
		refuse("--server replaces the program; remove '%s'", words[0]);
	if (request->server == NULL && (request->load != NULL || request->ready != NULL))
		refuse("--%s needs a server; add --server",
		       request->load != NULL ? "load" : "ready");
	if (request->server != NULL && request->load == NULL)
		refuse("--server needs a load to measure; add --load");
	if (request->server == NULL && !has_program)
		refuse("no program given: pawl try [OPTION...] -- PROGRAM [ARGUMENT...]");
	if (request->less && request->metric == NULL)
		refuse("--less needs a metric; add --metric");
	if (has_program)
		request->program = words;
}

int try_main(int argc, char **argv)
{
	struct request request = {.budget = default_budget};
	const struct option_spec options[] = {
		{"locks", "A,B",
		 "locks to compare with glibc; A+rwlock: also with\n"
		 "                     pawl's read-write locks",
		 parse_locks, &request},
		{"budget", "TIME", "time limit, such as 90s or 2m (60s)", parse_budget,
		 &request.budget},
		{"runs", "N", "of each, regardless of the first runs (as many as needed)",
		 parse_runs, &request.runs},
		{"server", "CMD", "instead of PROGRAM: a server, started for each run",
		 parse_text, &request.server},
		{"load", "CMD", "command to run against the server, and to measure",
		 parse_text, &request.load},
		{"ready", "WHEN",
		 "a port at which the server answers, or a pattern in its\n"
		 "                     output, when it is ready (after 0.5 s)",
		 parse_text, &request.ready},
		{"metric", "REGEX",
		 "rank by the number in stdout that the first (group) matches",
		 parse_metric, &request},
		{"less", NULL, "less of the metric is better (more)", parse_flag,
		 &request.less},
		{"same-output", NULL, "do not rank a lock under which stdout differs",
		 parse_flag, &request.same_output},
		{"json", "FILE", "write the context and all samples to FILE; - is stdout",
		 parse_text, &request.json},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "try",
		.operands = "-- PROGRAM [ARGUMENT...]",
		.about = "Finds the best lock for a program, or that locks do not "
			 "matter. The first runs,\n"
			 "one of them with statistics, show how long threads wait for "
			 "locks: if no lock\n"
			 "could save a visible share of the time, that is the verdict. "
			 "Otherwise the\n"
			 "program is run under each lock and under plain glibc, "
			 "interleaved at random;\n"
			 "locks that cannot win are dropped. Ranks by wall time, or by a "
			 "figure that the\n"
			 "program prints. The program gets standard input only if that "
			 "is a file, from its\n"
			 "start each time; its output is not shown. A lock under which "
			 "it fails, or takes\n"
			 "more than ten times as long, is not ranked. Ctrl-C prints "
			 "partial results.\n"
			 "Default locks: mutex, ttas+park, mcs+park, hapax+park; 'pawl "
			 "run --list' lists\n"
			 "all.",
		.options = options,
	};
	json_t *context = describe_context(argc, argv);
	int program = program_at(&usage, argc, argv);
	int status;

	parse_options(&usage, program < argc ? program : argc, argv);
	check_request(&request, argv + program, program < argc);
	if (request.count == 0) {
		parse_locks("locks", default_locks, &request);
		request.default_locks = true;
	}
	refuse_an_interposer();
	if (request.program != NULL)
		require_interposable(request.program[0]);
	else
		check_ready(request.ready, request.budget);
	if (request.json != NULL)
		open_result_file("json", request.json);
	status = run(&request, context);
	if (request.metric != NULL)
		regfree(&request.regex);
	forget_locks(&request);
	json_decref(context);
	return status;
}
