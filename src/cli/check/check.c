/* SPDX-License-Identifier: MIT */
/* pawl check: runs the shipped locks in every way that the memory model allows. */
#include "cli/check/check.h"

#include "cli/check/program.h"
#include "cli/commands.h"
#include "cli/common/locks.h"
#include "cli/common/options.h"
#include "cli/common/output.h"

#include <stdio.h>

static void parse_model(const char *option, const char *text, void *into)
{
	if (!find_model(text, into))
		refuse("--%s: '%s' is not a memory model; use weak, tso or sc", option,
		       text);
}

void parse_depth(const char *option, const char *text, void *into)
{
	parse_positive(option, text, into);
	if (*(int *)into > MAX_DEPTH)
		refuse("--%s: %s is out of range; use 1 to %d", option, text, MAX_DEPTH);
}

void need_random(int random, int depth)
{
	if (depth > 0 && random == 0)
		refuse("--depth needs random executions; add --random N");
}

static void print_list(void)
{
	size_t i;

	for (i = 0; nth_scenario(i) != NULL; i++)
		printf("%-12s %s\n", nth_scenario(i)->name, nth_scenario(i)->what);
}

static void choose_locks(struct request *request, int count, char **names)
{
	size_t n;
	int i;

	request->named = count > 0;
	for (i = 0; i < count; i++) {
		const struct lock_type *type = find_lock(names[i]);

		if (type == NULL)
			refuse_lock(names[i], nth_lock);
		if (request->lock_count < MAX_LOCKS)
			request->locks[request->lock_count++] = type;
	}
	if (count > 0)
		return;
	for (n = 0; nth_lock(n) != NULL && n < MAX_LOCKS; n++)
		request->locks[request->lock_count++] = find_lock(nth_lock(n));
}

int check_main(int argc, char **argv)
{
	struct request request = {.repeat = 1};
	const struct option_spec options[] = {
		{"threads", "N", "number of threads (3, and others)", parse_positive,
		 &request.threads},
		{"episodes", "K", "lock and unlock this often per thread (1, and others)",
		 parse_positive, &request.episodes},
		{"scenario", "NAME", "run this scenario only (all that apply)",
		 parse_text, &request.scenario},
		{"model", "M", "memory model: weak, tso or sc (weak)", parse_model,
		 &request.model},
		{"limit", "N", "stop a case after N executions (never)", parse_positive,
		 &request.limit},
		{"random", "N", "run N random executions, where all take too long",
		 parse_positive, &request.random},
		{"seed", "S", "which ones (1)", parse_positive, &request.seed},
		{"depth", "D", "random priorities that change D - 1 times (uniform)",
		 parse_depth, &request.depth},
		{"full", NULL, "run all cases that finish in minutes, not in seconds",
		 parse_flag, &request.full},
		{"json", "FILE", "write the results to FILE; - is stdout", parse_text,
		 &request.json},
		{"replay", "TOKEN", "repeat an execution by its token", parse_text,
		 &request.replay},
		{"load", "FILE", "check the locks in a shared object instead", parse_text,
		 &request.load},
		{"jobs", "N", "cases to run in parallel (number of CPUs)", parse_positive,
		 &request.jobs},
		{"repeat", "N", "explore each case N times, to measure speed",
		 parse_positive, &request.repeat},
		{"steadfast", NULL, "bounded waits never time out", parse_flag,
		 &request.steadfast},
		{"list", NULL, "list the scenarios", parse_flag, &request.list},
		{"program", NULL, "check your program instead: --program --help",
		 parse_flag, &request.list},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "check",
		.operands = "[LOCK...]",
		.about = "Runs the shipped headers in every way that the memory model "
			 "allows, and looks for\n"
			 "violated exclusion, data races, deadlocks, lost wake-ups, "
			 "violated order and accesses\n"
			 "to freed memory. A failure is printed step by step, with a "
			 "token that repeats it.\n"
			 "Exits with 1 if a verdict is not 'passed'. A failure that the "
			 "registry declares counts\n"
			 "only if its lock was named.\n"
			 "\n"
			 "LOCK is any that 'pawl list' names, also as LOCK+park, or one "
			 "of its objects.",
		.options = options,
	};
	struct plan plan = {.cases = NULL};
	int count;

	if (asks_for_program(argc, argv))
		return check_program(argc, argv);
	count = parse_options(&usage, argc, argv);
	need_random(request.random, request.depth);
	catalogue_fill();
	if (request.list) {
		print_list();
		return 0;
	}
	if (request.threads > MAX_THREADS)
		refuse("--threads: %d is more than %d; a few threads show every bug that "
		       "many do",
		       request.threads, MAX_THREADS);
	if (request.load != NULL)
		catalogue_load(request.load);
	if (request.replay != NULL)
		return replay_case(request.replay, request.steadfast);
	if (request.scenario != NULL)
		need_scenario(request.scenario);
	choose_locks(&request, count, argv + 1);
	plan_cases(&plan, &request);
	if (request.json != NULL)
		open_result_file("json", request.json);
	return run_cases(&plan, &request);
}
