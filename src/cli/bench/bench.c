/* SPDX-License-Identifier: MIT */
/* pawl bench: its options and the sequence of steps. */
#include "cli/bench/bench.h"
#include "cli/commands.h"
#include "cli/common/context.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 10000 };

/* Stored; the items are parsed when all options are known. */
static void parse_list(const char *option, const char *text, void *into)
{
	(void)option;
	*(const char **)into = text;
}

static bool is_help(const char *list)
{
	return list != NULL && strcmp(list, "help") == 0;
}

static void parse_preset(const char *option, const char *text, void *into)
{
	enum bench_preset *preset = into;

	if (strcmp(text, "oversubscribe") == 0)
		*preset = PRESET_OVERSUBSCRIBE;
	else if (strcmp(text, "mutex") == 0)
		*preset = PRESET_MUTEX;
	else
		refuse("--%s: there is no preset '%s'; use oversubscribe or mutex",
		       option, text);
}

static size_t samples_in(const struct bench_plan *plan)
{
	size_t i, j, samples = 0;

	for (i = 0; i < plan->count; i++)
		for (j = 0; j < plan->parts[i].count; j++)
			samples += plan->parts[i].cells[j].runs;
	return samples;
}

/* Saves, compares or writes the result. */
static int finish(const struct bench_request *request, json_t *result)
{
	int status = 0;

	if (was_interrupted() && (request->save != NULL || request->against != NULL))
		warn("interrupted: nothing saved or compared");
	else if (request->against != NULL)
		status = compare_with_baseline(request->against, result);
	if (!was_interrupted() && request->save != NULL)
		save_baseline(request->save, result);
	if (request->json != NULL)
		write_result_file(result);
	else
		json_decref(result);
	return status;
}

static int run(struct bench_plan *plan, json_t *context,
	       const struct bench_request *request)
{
	int status = 0, changed = 0;

	catch_interrupt();
	noise_begin(&plan->noise);
	measure_plan(plan);
	end_quota();
	end_beside();
	noise_end(&plan->noise);
	json_object_set_new(context, "noise", describe_noise(&plan->noise));
	if (was_interrupted()) {
		warn("interrupted; these are partial results");
		status = EXIT_INTERRUPTED;
	}
	if (samples_in(plan) > 0) {
		if (plan->grid)
			report_grid(plan, usable_cpus());
		else
			report_bench(plan, usable_cpus());
		changed = finish(request, json_pack("{s:i, s:s, s:O, s:o}", "schema", 1,
						    "tool", "bench", "context", context,
						    "results", describe_bench(plan)));
	}
	return status != 0 ? status : changed;
}

static void check_threads(const struct bench_plan *plan, bool oversubscribe, int cpus)
{
	int most = most_threads(plan);

	if (most > THREADS_MAX)
		refuse("--threads: %d is more than %d; ask for fewer", most, THREADS_MAX);
	if (most > cpus && !oversubscribe)
		warn("%d threads on %d CPUs: spinning locks collapse with more threads "
		     "than CPUs; use --threads up to %d to compare the locks themselves",
		     most, cpus, cpus);
}

int bench_main(int argc, char **argv)
{
	struct bench_request request = {
		.cs = -1, .ncs = -1, .seed = (uint64_t)time(NULL)};
	const struct option_spec options[] = {
		{"workload", "A,B", "workloads to run (mutex); all; help lists them",
		 parse_list, &request.workloads},
		{"app", "A,B", "programs to run under the locks; all; help lists them",
		 parse_list, &request.apps},
		{"locks", "A,B", "locks to compare (each without +park, and pthread)",
		 parse_list, &request.locks},
		{"threads", "N,M", "numbers of threads (1, 2, 4 ... up to the CPUs)",
		 parse_positives, &request.threads},
		{"cs", "N", "steps in the critical section (mutex: 1)", parse_positive,
		 &request.cs},
		{"ncs", "N", "steps outside of it (mutex: a random number in [0, N); 0)",
		 parse_natural, &request.ncs},
		{"producers", "N", "threads that put jobs into the queue (queue: 1)",
		 parse_positive, &request.producers},
		{"capacity", "N", "capacity of the queue (queue: 64)", parse_positive,
		 &request.capacity},
		{"writes", "P,Q", "percent of all sections that write (rwlock: 1)",
		 parse_percents, &request.writes},
		{"seconds", "S", "length of a run (0.5)", parse_seconds,
		 &request.seconds},
		{"warm-up", "S", "warm-up in seconds, not counted (mutex only; 0)",
		 parse_seconds, &request.warm_up},
		{"runs", "R", "runs of each lock at each number of threads (6)",
		 parse_positive, &request.runs},
		{"beside", "N", "busy processes that compete for the CPUs (0)",
		 parse_natural, &request.setting.beside},
		{"quota", "P", "CPU limit, in percent of one CPU (none)", parse_positive,
		 &request.setting.quota},
		{"preset", "NAME",
		 "oversubscribe: 1, 2, 4 ... up to 32 times the CPUs, locks that park;\n"
		 "                     mutex: pawl's mutex in every cell, against the "
		 "best peer",
		 parse_preset, &request.preset},
		{"json", "FILE", "write the context and all samples to FILE; - is stdout",
		 parse_text, &request.json},
		{"save", "NAME", "store the result as a baseline with this name",
		 parse_text, &request.save},
		{"against", "NAME", "print changes since that baseline; help lists them",
		 parse_text, &request.against},
		{"quick", NULL, "defaults: 6 runs of 0.05 s, up to 2 threads", parse_flag,
		 &request.quick},
		{"seed", "N", "seed of all random choices (the time)", parse_seed,
		 &request.seed},
		{"dry-run", NULL, "check the options and print the plan", parse_flag,
		 &request.dry_run},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "bench",
		.about = "Compares locks. In the workload 'mutex', threads take one "
			 "lock, advance a shared\n"
			 "random number generator, release the lock, and work outside of "
			 "it; after each run\n"
			 "the generator is replayed, which shows whether the lock "
			 "excluded. Other workloads\n"
			 "check themselves, too. Prints medians; the spread is half the "
			 "interquartile range,\n"
			 "fairness the ratio of the slowest thread's operations to the "
			 "fastest's. A last run\n"
			 "of each (not with --quick) times every wait. Ctrl-C prints "
			 "partial results.\n"
			 "\n"
			 "Locks: any that 'pawl list' names, also as LOCK+park, and its "
			 "peers.",
		.options = options,
	};
	json_t *context = describe_context(argc, argv);
	int cpus = usable_cpus(), status = 0;
	struct bench_plan plan;

	parse_options(&usage, argc, argv);
	if (is_help(request.workloads) || is_help(request.apps)) {
		print_workloads(is_help(request.apps) ? bench_apps() : workloads);
		json_decref(context);
		return 0;
	}
	if (is_help(request.against)) {
		print_baselines();
		json_decref(context);
		return 0;
	}
	if (request.save != NULL)
		check_baseline_to_save(request.save);
	if (request.against != NULL)
		check_baseline_to_compare(request.against);
	plan = make_plan(&request, cpus);
	check_threads(&plan, request.preset != PRESET_NONE, cpus);
	if (request.json != NULL)
		open_result_file("json", request.json);
	begin_beside(request.dry_run ? 0 : plan.setting.beside);
	begin_quota(plan.setting.quota); /* not for the processes beside */
	if (request.dry_run) {
		print_plan(&plan);
	} else {
		print_context(context);
		fprintf(stderr, "about %.0f s in total\n", ceil(plan_length(&plan)));
		json_object_set_new(context, "seed",
				    json_integer((json_int_t)request.seed));
		json_object_update_new(context, describe_setting(&plan.setting));
		status = run(&plan, context, &request);
	}
	free_plan(&plan);
	json_decref(context);
	return status;
}
