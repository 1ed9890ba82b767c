/* SPDX-License-Identifier: MIT */
/* pawl bench: what is to be measured, and the measuring. */
#include "bench.h"
#include "commands.h"
#include "context.h"
#include "crew.h"
#include "lcg.h"
#include "options.h"
#include "output.h"
#include "registry.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUBJECTS_MAX = 128, THREADS_MAX = 10000, EXIT_INTERRUPTED = 128 + SIGINT };

struct subjects {
	size_t count;
	const struct bench_subject *list[SUBJECTS_MAX];
};

/* What was asked for; 0 stands for "not said". */
struct request {
	struct subjects subjects;
	struct numbers threads;
	int cs, ncs, runs;
	double seconds;
	uint64_t seed;
	const char *json;
	bool quick, dry_run;
	bool oversubscribe;
};

static const char *nth_subject_name(size_t i)
{
	return bench_subjects[i] == NULL ? NULL : bench_subjects[i]->name;
}

static void add_subject(const char *option, const char *name, void *into)
{
	struct subjects *subjects = into;
	const struct bench_subject *const *known = bench_subjects;
	size_t i;

	while (*known != NULL && strcmp((*known)->name, name) != 0)
		known++;
	if (*known == NULL)
		refuse_lock(name, nth_subject_name);
	for (i = 0; i < subjects->count; i++)
		if (subjects->list[i] == *known)
			return;
	if (subjects->count == SUBJECTS_MAX)
		refuse("--%s: more than %d locks", option, SUBJECTS_MAX);
	subjects->list[subjects->count++] = *known;
}

static void parse_subjects(const char *option, const char *text, void *into)
{
	struct subjects *subjects = into;

	subjects->count = 0; /* of two options the last one counts */
	each_item(option, text, add_subject, subjects);
}

/* 1, 2, 4 ... up to the number of CPUs, which comes last. */
static void default_threads(struct numbers *threads, int most)
{
	int n;

	for (n = 1; n < most; n *= 2)
		threads->values[threads->count++] = n;
	threads->values[threads->count++] = most;
}

/* Whether its waiters sleep; peers are taken to, but for those that are known
 * to spin. */
static bool sleeps(const char *name)
{
	const struct lock_type *type = lock_type_find(name);

	if (type != NULL)
		return type->parks;
	return strncmp(name, "ck-", 3) != 0 && strcmp(name, "tbb-queuing-mutex") != 0;
}

/* Who is compared unless said otherwise: each lock once, and pthread. */
static bool stands_out(const char *name)
{
	const struct lock_type *type = lock_type_find(name);

	if (type != NULL)
		return strcmp(type->name, type->base) == 0;
	return strcmp(name, "pthread") == 0;
}

static void parse_preset(const char *option, const char *text, void *into)
{
	struct request *request = into;

	if (strcmp(text, "oversubscribe") != 0)
		refuse("--%s: there is no preset '%s'; there is: oversubscribe", option,
		       text);
	request->oversubscribe = true;
}

static void fill_in(struct request *request, int cpus)
{
	size_t i;

	if (request->subjects.count == 0)
		for (i = 0; bench_subjects[i] != NULL; i++)
			if (request->oversubscribe ? sleeps(bench_subjects[i]->name)
						   : stands_out(bench_subjects[i]->name))
				add_subject("locks", bench_subjects[i]->name,
					    &request->subjects);
	if (request->threads.count == 0 && request->oversubscribe)
		default_threads(&request->threads, 32 * cpus);
	if (request->threads.count == 0)
		default_threads(&request->threads, request->quick && cpus > 2 ? 2 : cpus);
	if (request->seconds == 0)
		request->seconds = request->quick ? 0.1 : 0.5;
	if (request->runs == 0)
		request->runs = request->quick ? 3 : 5;
}

static int most_threads(const struct numbers *threads)
{
	int most = 0;
	size_t i;

	for (i = 0; i < threads->count; i++)
		if (threads->values[i] > most)
			most = threads->values[i];
	return most;
}

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (memory == NULL)
		give_up("out of memory; lower --runs");
	return memory;
}

static struct bench_results make_cells(const struct request *request)
{
	struct bench_results results = {
		.workload = "mutex",
		.shape = {.cs = (uint32_t)request->cs,
			  .ncs = (uint32_t)request->ncs,
			  .seconds = request->seconds},
		.count = request->threads.count * request->subjects.count,
	};
	size_t i, j;

	results.cells = allocate(results.count, sizeof(*results.cells));
	for (i = 0; i < request->threads.count; i++)
		for (j = 0; j < request->subjects.count; j++) {
			struct bench_cell *cell =
				&results.cells[i * request->subjects.count + j];

			cell->subject = request->subjects.list[j];
			cell->threads = request->threads.values[i];
			cell->ops_per_s = allocate((size_t)request->runs, sizeof(double));
			cell->fairness = allocate((size_t)request->runs, sizeof(double));
			cell->cpu_ns = allocate((size_t)request->runs, sizeof(double));
			cell->switches = allocate((size_t)request->runs, sizeof(double));
		}
	return results;
}

static void free_cells(struct bench_results *results)
{
	size_t i;

	for (i = 0; i < results->count; i++) {
		free(results->cells[i].ops_per_s);
		free(results->cells[i].fairness);
		free(results->cells[i].cpu_ns);
		free(results->cells[i].switches);
	}
	free(results->cells);
}

/* Fisher and Yates. */
static uint64_t shuffle(size_t *order, size_t n, uint64_t state)
{
	size_t i;

	for (i = n; i > 1; i--) {
		size_t j, kept = order[i - 1];

		state = lcg_next(state);
		j = lcg_below(state, (uint32_t)i);
		order[i - 1] = order[j];
		order[j] = kept;
	}
	return state;
}

static void measure_cell(const struct bench_results *results, struct bench_cell *cell,
			 uint64_t seed, bool time_waits)
{
	struct bench_shape shape = results->shape;
	struct bench_outcome outcome;

	shape.threads = cell->threads;
	shape.seed = seed;
	shape.time_waits = time_waits;
	if (!mutex_run(cell->subject, &shape, &outcome))
		give_up("cannot start %d threads: %s; lower --threads", cell->threads,
			strerror(errno));
	if (!outcome.exclusive)
		give_up("EXCLUSION VIOLATED by '%s' with %d thread(s): replaying the run "
			"gives "
			"another result than the run did; do not use this lock, and "
			"report it",
			cell->subject->name, cell->threads);
	if (crew_interrupted())
		return; /* cut short: no sample */
	if (time_waits) {
		cell->timed = true;
		cell->waits = outcome.waits;
		return;
	}
	cell->ops_per_s[cell->runs] = outcome.ops_per_s;
	cell->fairness[cell->runs] = outcome.fairness;
	cell->cpu_ns[cell->runs] = 1e9 * outcome.cpu_seconds / (double)outcome.episodes;
	cell->switches[cell->runs] = (double)outcome.context_switches / shape.seconds;
	cell->runs++;
}

/* Every round measures every cell once, in an order of its own, so that
 * whatever else the machine does falls on all of them alike. The last round is
 * the one that times waits, if there is one: it would slow the others down. */
static void measure(struct bench_results *results, size_t runs, bool time_waits,
		    uint64_t seed)
{
	size_t *order = allocate(results->count, sizeof(*order));
	size_t rounds = runs + time_waits;
	size_t i, round, total = rounds * results->count, done = 0;

	for (i = 0; i < results->count; i++)
		order[i] = i;
	for (round = 0; round < rounds; round++) {
		seed = shuffle(order, results->count, seed);
		for (i = 0; i < results->count && !crew_interrupted(); i++) {
			struct bench_cell *cell = &results->cells[order[i]];

			show_progress(
				done, total,
				"run %zu of %zu: %s, %d thread%s, %.0f s left", done + 1,
				total, cell->subject->name, cell->threads,
				cell->threads == 1 ? "" : "s",
				ceil((double)(total - done) * results->shape.seconds));
			seed = lcg_next(seed);
			measure_cell(results, cell, seed, round == runs);
			done++;
		}
	}
	end_progress();
	free(order);
}

/* The first interrupt ends the measuring, the second one the process. */
static void on_interrupt(int signal_number)
{
	(void)signal_number;
	crew_interrupt();
}

static void catch_interrupt(void)
{
	struct sigaction action = {.sa_flags = (int)SA_RESETHAND | SA_RESTART};

	action.sa_handler = on_interrupt;
	sigaction(SIGINT, &action, NULL);
}

static void print_plan(FILE *out, const struct request *request)
{
	size_t rounds = (size_t)request->runs + !request->quick;
	size_t total = request->subjects.count * request->threads.count * rounds;

	fprintf(out,
		"MutexBench, cs %d, ncs %d: %zu locks, %zu thread counts, %d runs of %g "
		"s; "
		"about %.0f s in all\n",
		request->cs, request->ncs, request->subjects.count,
		request->threads.count, request->runs, request->seconds,
		ceil((double)total * request->seconds));
}

static void print_dry_run(const struct request *request)
{
	size_t i;

	print_plan(stdout, request);
	printf("locks:");
	for (i = 0; i < request->subjects.count; i++)
		printf(" %s", request->subjects.list[i]->name);
	printf("\nthreads:");
	for (i = 0; i < request->threads.count; i++)
		printf(" %d", request->threads.values[i]);
	printf("\n");
}

static size_t samples_in(const struct bench_results *results)
{
	size_t i, samples = 0;

	for (i = 0; i < results->count; i++)
		samples += results->cells[i].runs;
	return samples;
}

static int run(const struct request *request, json_t *context)
{
	struct bench_results results = make_cells(request);
	int status = 0;

	catch_interrupt();
	measure(&results, (size_t)request->runs, !request->quick, request->seed);
	if (crew_interrupted()) {
		warn("interrupted; what follows was measured until then");
		status = EXIT_INTERRUPTED;
	}
	if (samples_in(&results) > 0) {
		report_bench(&results);
		if (request->json != NULL)
			write_result_file(json_pack("{s:i, s:s, s:O, s:o}", "schema", 1,
						    "tool", "bench", "context", context,
						    "results", describe_bench(&results)));
	}
	free_cells(&results);
	return status;
}

int bench_main(int argc, char **argv)
{
	struct request request = {.cs = 1, .seed = (uint64_t)time(NULL)};
	const struct option_spec options[] = {
		{"locks", "A,B", "the locks to compare (each without +park, and pthread)",
		 parse_subjects, &request.subjects},
		{"threads", "N,M", "numbers of threads (1, 2, 4 ... up to the CPUs)",
		 parse_positives, &request.threads},
		{"cs", "N", "steps in the critical section (1)", parse_positive,
		 &request.cs},
		{"ncs", "N", "outside of it, a random number of steps in [0, N) (0)",
		 parse_natural, &request.ncs},
		{"seconds", "S", "length of a run (0.5)", parse_seconds,
		 &request.seconds},
		{"runs", "R", "runs of each lock at each number of threads (5)",
		 parse_positive, &request.runs},
		{"preset", "NAME",
		 "oversubscribe: 1, 2, 4 ... up to 32 times the CPUs, locks that sleep",
		 parse_preset, &request},
		{"json", "FILE", "write context and every sample to FILE", parse_text,
		 &request.json},
		{"quick", NULL, "unless said otherwise: 3 runs of 0.1 s, up to 2 threads",
		 parse_flag, &request.quick},
		{"seed", "N", "of all random choices (the time)", parse_seed,
		 &request.seed},
		{"dry-run", NULL, "check everything, print what would be measured",
		 parse_flag, &request.dry_run},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "bench",
		.about = "Compares the throughput of locks: threads take one lock, "
			 "advance a shared\n"
			 "generator of random numbers, release the lock, and do "
			 "something of their own.\n"
			 "After each run the generator is replayed, which shows whether "
			 "the lock did\n"
			 "exclude. Prints medians; the spread is half the interquartile "
			 "range, fairness\n"
			 "the share of the least to the most progressed thread. A last "
			 "run "
			 "of each\n"
			 "(not with --quick) times every wait. Ctrl-C ends the measuring "
			 "and reports what\n"
			 "there is.",
		.options = options,
	};
	json_t *context = describe_context(argc, argv);
	int cpus = usable_cpus(), most, status = 0;

	parse_options(&usage, argc, argv);
	fill_in(&request, cpus);
	most = most_threads(&request.threads);
	if (most > THREADS_MAX)
		refuse("--threads: %d is more than %d; ask for fewer", most, THREADS_MAX);
	if (request.json != NULL)
		open_result_file("json", request.json);
	if (most > cpus && !request.oversubscribe)
		warn("%d threads on %d CPUs: locks that spin collapse when threads "
		     "outnumber "
		     "CPUs; use --threads up to %d to compare the locks themselves",
		     most, cpus, cpus);
	if (request.dry_run) {
		print_dry_run(&request);
	} else {
		print_context(context);
		print_plan(stderr, &request);
		json_object_set_new(context, "seed",
				    json_integer((json_int_t)request.seed));
		status = run(&request, context);
	}
	json_decref(context);
	return status;
}
