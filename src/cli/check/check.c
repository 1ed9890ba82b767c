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
		refuse("--%s: '%s' is no memory model; use weak, tso or sc", option,
		       text);
}

void parse_depth(const char *option, const char *text, void *into)
{
	parse_positive(option, text, into);
	if (*(int *)into > MAX_DEPTH)
		refuse("--%s: %s is too much; use 1 to %d", option, text, MAX_DEPTH);
}

void need_random(int random, int depth)
{
	if (depth > 0 && random == 0)
		refuse("--depth is for executions at random; add --random N");
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
		{"threads", "N", "this many threads (3, and others)", parse_positive,
		 &request.threads},
		{"episodes", "K", "each locks and unlocks so often (1, and others)",
		 parse_positive, &request.episodes},
		{"scenario", "NAME", "this scenario alone (all that apply)", parse_text,
		 &request.scenario},
		{"model", "M", "memory model: weak, tso or sc (weak)", parse_model,
		 &request.model},
		{"limit", "N", "give up a case after N executions (never)",
		 parse_positive, &request.limit},
		{"random", "N", "N executions at random, where all take too long",
		 parse_positive, &request.random},
		{"seed", "S", "which ones (1)", parse_positive, &request.seed},
		{"depth", "D", "with priorities that change D - 1 times (by dice alone)",
		 parse_depth, &request.depth},
		{"full", NULL, "all that finishes in minutes, not in seconds", parse_flag,
		 &request.full},
		{"json", "FILE", "write the results to FILE; - is stdout", parse_text,
		 &request.json},
		{"replay", "TOKEN", "repeat one execution, which a failed check printed",
		 parse_text, &request.replay},
		{"load", "FILE", "check the locks in a shared object instead", parse_text,
		 &request.load},
		{"jobs", "N", "so many cases at a time (as many as CPUs)", parse_positive,
		 &request.jobs},
		{"repeat", "N", "explore each case N times, to measure speed",
		 parse_positive, &request.repeat},
		{"steadfast", NULL, "waits that may give up now and then never do",
		 parse_flag, &request.steadfast},
		{"list", NULL, "list the scenarios", parse_flag, &request.list},
		{"program", NULL, "check programs instead: --program --help", parse_flag,
		 &request.list},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "check",
		.operands = "[LOCK...]",
		.about = "Runs the shipped headers in every way that the memory model "
			 "allows, and looks for\n"
			 "broken exclusion, data races, deadlocks, lost wake-ups, broken "
			 "order and accesses\n"
			 "to memory that is gone. A failure is printed step by step, "
			 "with a "
			 "token that repeats\n"
			 "it. Exits with 1 if a verdict is not 'passed'. A failure that "
			 "the "
			 "registry admits\n"
			 "counts only if its lock was named.\n"
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
		refuse("--threads: %d is more than %d; few threads show every bug that "
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
