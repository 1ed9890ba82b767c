/* SPDX-License-Identifier: MIT */
/* pawl try: the user's own program under several locks, and the measuring. */
#define _GNU_SOURCE
#include "cli/try/try.h"

#include "cli/commands.h"
#include "cli/common/context.h"
#include "cli/common/interpose.h"
#include "cli/common/interrupt.h"
#include "lcg.h"
#include "cli/common/options.h"
#include "cli/common/output.h"
#include "cli/common/program.h"
#include "registry/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* One lock of each kind that sleeps, as a program may have more threads than
 * there are CPUs, and that any thread may unlock, as some programs do: barging
 * with a bound, barging without, a queue, a queue without nodes. */
static const char default_locks[] = "mutex,ttas+park,mcs+park,hapax+park";

enum { LOCKS_MAX = 64 };

/* Unless said otherwise, as many runs as fit into this many seconds. */
static const double time_budget = 30;
enum { RUNS_LEAST = 7, RUNS_MOST = 20, RUNS_LIMIT = 10000 };

struct request {
	size_t count;
	const char *locks[LOCKS_MAX];
	int runs; /* 0: to be chosen */
	const char *metric, *json;
	bool less, same_output;
	regex_t regex; /* the metric's */
};

/* What all runs share. */
static struct {
	const struct request *request;
	char **program;
	int null;	    /* /dev/null */
	int reference;	    /* what the program printed under glibc, or -1 */
	double reference_s; /* how long that took */
	bool is_interrupted;
} all;

static void add_lock(const char *option, const char *name, void *into)
{
	struct request *request = into;
	size_t i;

	require_offered(name);
	for (i = 0; i < request->count; i++)
		if (strcmp(request->locks[i], name) == 0)
			return;
	if (request->count == LOCKS_MAX)
		refuse("--%s: more than %d locks", option, LOCKS_MAX);
	request->locks[request->count++] = lock_type_find(name)->name;
}

static void parse_locks(const char *option, const char *text, void *into)
{
	((struct request *)into)->count = 0; /* of two options the last one counts */
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

/* What a run printed. */

/* Finds the number that the metric's first group stands for, or all of its
 * match if there is no group; above 0, as ratios are made of it. */
static bool find_metric(const regex_t *regex, int file, double *value)
{
	size_t size, length;
	const char *text = map_file(file, &size);
	regmatch_t found[2] = {{.rm_so = 0, .rm_eo = (regoff_t)size}};
	bool matches = text != NULL && size <= INT_MAX &&
		       regexec(regex, text, 2, found, REG_STARTEND) == 0;
	char number[64] = "", *end;

	if (matches) {
		const regmatch_t *match = &found[regex->re_nsub > 0];

		length = (size_t)(match->rm_eo - match->rm_so);
		if (match->rm_so >= 0 && length < sizeof(number))
			memcpy(number, text + match->rm_so, length);
	}
	unmap_file(text, size);
	*value = strtod(number, &end);
	return end != number && *end == '\0' && isfinite(*value) && *value > 0;
}

/* Says in *trouble what came of the run, if it did not exit with 0. */
static void describe_end(const struct program_outcome *outcome, int errors, char *trouble,
			 size_t room)
{
	char words[120];
	int length = 0;

	if (outcome->end == ENDED_TOO_SLOW)
		length = snprintf(trouble, room,
				  "stopped after %.1f s; under glibc it takes %.1f s",
				  outcome->wall_s, all.reference_s);
	else if (outcome->end == ENDED_BY_SIGNAL)
		length = snprintf(trouble, room, "killed by signal %d (%s)",
				  outcome->code, strsignal(outcome->code));
	else if (outcome->code != 0)
		length = snprintf(trouble, room, "exit status %d", outcome->code);
	last_line(errors, words, sizeof(words));
	if (length > 0 && *words != '\0')
		snprintf(trouble + length, room - (size_t)length, ": \"%s\"", words);
}

/* Running. */

/* The file that pawl itself was given as standard input, from its start each
 * time; nothing, if that is no file. */
static int open_input(void)
{
	struct stat there;
	int file = -1;

	if (fstat(STDIN_FILENO, &there) == 0 && S_ISREG(there.st_mode))
		file = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
	return file >= 0 ? file : dup(all.null);
}

/* Runs the program once. Returns false if it misbehaved, which it says in
 * candidate->trouble, or if we were interrupted. */
static bool run_once(struct candidate *candidate, char **environment,
		     double figures[FIGURES])
{
	const struct request *request = all.request;
	bool keeps_output = request->metric != NULL || request->same_output;
	struct program program = {
		.argv = all.program,
		.environment = environment != NULL ? environment : environ,
		.in = open_input(),
		.out = keeps_output ? memory_file() : dup(all.null),
		.err = memory_file(),
		.limit = all.reference_s > 0 ? 10 * all.reference_s + 3 : 0,
	};
	struct program_outcome outcome;
	char *trouble = candidate->trouble;

	if (!run_program(&program, &outcome))
		give_up("cannot run '%s': %s", all.program[0], strerror(errno));
	if (outcome.end == ENDED_INTERRUPTED)
		all.is_interrupted = true;
	else
		describe_end(&outcome, program.err, trouble, sizeof(candidate->trouble));
	if (!all.is_interrupted && *trouble == '\0') {
		figures[WALL] = outcome.wall_s;
		figures[CPU] = outcome.cpu_s;
		figures[SWITCHES] = outcome.context_switches;
		figures[MEMORY] = outcome.max_rss;
		if (request->metric != NULL &&
		    !find_metric(&request->regex, program.out, &figures[METRIC]))
			snprintf(trouble, sizeof(candidate->trouble),
				 "no number above 0 in its output where --metric looks "
				 "for one");
		else if (request->same_output && all.reference >= 0 &&
			 !same_contents(program.out, all.reference))
			snprintf(trouble, sizeof(candidate->trouble),
				 "another output than under glibc");
	}
	close(program.in);
	close(program.err);
	if (all.reference < 0 && request->same_output)
		all.reference = program.out;
	else
		close(program.out);
	return !all.is_interrupted && *trouble == '\0';
}

/* Once more under glibc must give the same: what differs by itself says
 * nothing about a lock. */
static void warm_up_glibc(struct candidate *glibc)
{
	double figures[FIGURES];
	int i;

	for (i = 0; i < (all.request->same_output ? 2 : 1); i++) {
		if (!run_once(glibc, NULL, figures)) {
			if (all.is_interrupted)
				return;
			refuse("'%s' without any lock of pawl's: %s; give a program that "
			       "works",
			       all.program[0],
			       i == 0 ? glibc->trouble
				      : "its output differs from run to run, so leave "
					"out "
					"--same-output");
		}
		glibc->warm_up_s = figures[WALL];
	}
	all.reference_s = glibc->warm_up_s;
}

/* Sums up what the interposer reports of each process. */
static void read_counts(int file, struct candidate *candidate)
{
	size_t size;
	const char *text = map_file(file, &size), *line = text;

	while (line != NULL && line < text + size) {
		const char *end = memchr(line, '\n', (size_t)(text + size - line));
		char copy[256];
		double acquisitions, contended, reads, writes;

		if (end == NULL)
			break;
		snprintf(copy, sizeof(copy), "%.*s", (int)(end - line), line);
		if (sscanf(copy, "acquisitions %lf, contended %lf", &acquisitions,
			   &contended) == 2) {
			candidate->counted = true;
			candidate->acquisitions += acquisitions;
			candidate->contended += contended;
		} else if (sscanf(copy,
				  "read-write locks: read %lf, written %lf, contended "
				  "%lf",
				  &reads, &writes, &contended) == 3) {
			candidate->rwlocks += reads + writes;
			candidate->rwlocks_contended += contended;
		}
		line = end + 1;
	}
	unmap_file(text, size);
}

/* Under a lock, the warm-up is also there to count: that would disturb the
 * measuring. */
static void warm_up(struct candidate *candidate)
{
	double figures[FIGURES];
	char path[64];
	char **environment;
	int counts = memory_file();

	snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), counts);
	setenv("PAWL_STATS", path, 1);
	environment = interposed_environment(candidate->name);
	unsetenv("PAWL_STATS");
	candidate->environment = interposed_environment(candidate->name);
	if (run_once(candidate, environment, figures)) {
		candidate->warm_up_s = figures[WALL];
		read_counts(counts, candidate);
		if (!candidate->counted)
			warn("'%s' did not say at its end that it used %s: if it starts "
			     "a program that is statically linked or set-user-ID, what "
			     "follows says nothing; try that program itself",
			     all.program[0], candidate->name);
	}
	free_environment(environment);
	close(counts);
}

/* Seconds that a run of each takes. */
static double round_s(const struct trial *trial)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < trial->count; i++)
		sum += trial->candidates[i].warm_up_s;
	return sum;
}

static int choose_runs(const struct trial *trial)
{
	double fit = time_budget / round_s(trial);

	if (all.request->runs > 0)
		return all.request->runs;
	return fit < RUNS_LEAST ? RUNS_LEAST : fit > RUNS_MOST ? RUNS_MOST : (int)fit;
}

static void measure_once(struct candidate *candidate)
{
	double figures[FIGURES] = {0};
	int f;

	if (!run_once(candidate, candidate->environment, figures))
		return;
	for (f = 0; f < FIGURES; f++)
		candidate->samples[f][candidate->runs] = figures[f];
	candidate->runs++;
}

/* Every round runs every candidate once, in an order of its own, so that
 * whatever else the machine does falls on all of them alike. */
static void measure(struct trial *trial, int runs)
{
	size_t order[LOCKS_MAX + 1];
	size_t i, done = 0, total = (size_t)runs * trial->count;
	uint64_t random = (uint64_t)time(NULL);
	int round;

	for (i = 0; i < trial->count; i++)
		order[i] = i;
	expect_seconds(runs * round_s(trial));
	for (round = 0; round < runs; round++) {
		random = lcg_shuffle(order, trial->count, random);
		for (i = 0; i < trial->count && !all.is_interrupted; i++, done++) {
			struct candidate *candidate = &trial->candidates[order[i]];

			show_progress(done, total, "run %d of %d: %s", round + 1, runs,
				      candidate->name);
			if (*candidate->trouble == '\0')
				measure_once(candidate);
			if (*trial->candidates[0].trouble != '\0')
				give_up("'%s' works only now and then, without any lock "
					"of pawl's: %s",
					all.program[0], trial->candidates[0].trouble);
		}
	}
	end_progress();
}

static struct trial make_trial(const struct request *request, char **program)
{
	struct trial trial = {
		.program = program,
		.deciding = request->metric != NULL ? METRIC : WALL,
		.more_is_better = request->metric != NULL && !request->less,
		.count = request->count + 1,
	};
	size_t i;

	trial.candidates = calloc(trial.count, sizeof(*trial.candidates));
	if (trial.candidates == NULL)
		give_up("out of memory");
	trial.candidates[0].name = "glibc";
	for (i = 0; i < request->count; i++)
		trial.candidates[i + 1].name = request->locks[i];
	return trial;
}

static void allocate_samples(struct trial *trial, int runs)
{
	size_t i;
	int f;

	for (i = 0; i < trial->count; i++)
		for (f = 0; f < FIGURES; f++) {
			trial->candidates[i].samples[f] = calloc((size_t)runs,
								 sizeof(double));
			if (trial->candidates[i].samples[f] == NULL)
				give_up("out of memory; lower --runs");
		}
}

static void free_trial(struct trial *trial)
{
	size_t i;
	int f;

	for (i = 0; i < trial->count; i++) {
		free_environment(trial->candidates[i].environment);
		for (f = 0; f < FIGURES; f++)
			free(trial->candidates[i].samples[f]);
	}
	free(trial->candidates);
}

static void run_trial(struct trial *trial)
{
	size_t i;
	int runs;

	fprintf(stderr, "warming up: once under glibc and each of %zu locks\n",
		trial->count - 1);
	warm_up_glibc(&trial->candidates[0]);
	for (i = 1; i < trial->count && !all.is_interrupted; i++)
		warm_up(&trial->candidates[i]);
	if (all.is_interrupted)
		return;
	runs = choose_runs(trial);
	fprintf(stderr, "%d runs of each; about %.0f s in all\n", runs,
		ceil(runs * round_s(trial)));
	allocate_samples(trial, runs);
	measure(trial, runs);
}

/* 0, or 1 if the program misbehaved under some lock. */
static int status_of(const struct trial *trial)
{
	size_t i;

	for (i = 0; i < trial->count; i++)
		if (*trial->candidates[i].trouble != '\0')
			return 1;
	return 0;
}

static int run(const struct request *request, char **program, json_t *context)
{
	struct trial trial = make_trial(request, program);
	int status;

	all.request = request;
	all.program = program;
	all.reference = -1;
	all.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (all.null < 0)
		give_up("cannot open /dev/null: %s", strerror(errno));
	print_context(context);
	run_trial(&trial);
	status = status_of(&trial);
	if (all.is_interrupted) {
		warn("interrupted; what follows was measured until then");
		status = EXIT_INTERRUPTED;
	}
	if (trial.candidates[0].runs > 0) {
		report_trial(&trial);
		if (request->json != NULL)
			write_result_file(json_pack("{s:i, s:s, s:O, s:o}", "schema", 1,
						    "tool", "try", "context", context,
						    "results", describe_trial(&trial)));
	}
	free_trial(&trial);
	close(all.null);
	if (all.reference >= 0)
		close(all.reference);
	return status;
}

/* The plain runs must be plain. */
static void refuse_an_interposer(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	if (preloaded != NULL && strstr(preloaded, "libpawl-pthread") != NULL)
		refuse("LD_PRELOAD has pawl's interposer in it already, so nothing would "
		       "run under glibc; unset it");
}

int try_main(int argc, char **argv)
{
	struct request request = {.count = 0};
	const struct option_spec options[] = {
		{"locks", "A,B", "the locks to compare with glibc", parse_locks,
		 &request},
		{"runs", "N", "of each (7 to 20, as fits into 30 s)", parse_runs,
		 &request.runs},
		{"metric", "REGEX",
		 "rank by the number that the first (group) stands for in stdout",
		 parse_metric, &request},
		{"less", NULL, "the less of the metric, the better (the more)",
		 parse_flag, &request.less},
		{"same-output", NULL, "a lock under which stdout differs is not ranked",
		 parse_flag, &request.same_output},
		{"json", "FILE", "write context and every sample to FILE; - is stdout",
		 parse_text, &request.json},
		{.name = NULL},
	};
	const struct usage usage = {
		.command = "try",
		.operands = "-- PROGRAM [ARGUMENT...]",
		.about = "Runs a program under each lock and under plain glibc, "
			 "interleaved at random\n"
			 "after a warm-up, and says which is best for this program: by "
			 "wall time, or by\n"
			 "a figure that the program prints. Medians, with confidence "
			 "intervals.\n"
			 "The program gets standard input only if that is a file, from "
			 "its start each\n"
			 "time; what it prints is not shown. A lock under which it "
			 "fails, or takes more\n"
			 "than ten times as long, is not ranked. Ctrl-C ends the "
			 "measuring and reports\n"
			 "what there is. Locks unless said otherwise: mutex, ttas+park, "
			 "mcs+park,\n"
			 "hapax+park; 'pawl run --list' shows all.",
		.options = options,
	};
	json_t *context = describe_context(argc, argv);
	int program = program_at(&usage, argc, argv);
	int status;

	parse_options(&usage, program < argc ? program : argc, argv);
	if (program >= argc)
		refuse("no program given: pawl try [OPTION...] -- PROGRAM [ARGUMENT...]");
	if (request.less && request.metric == NULL)
		refuse("--less says how to read --metric, which is not given; add it");
	if (request.count == 0)
		parse_locks("locks", default_locks, &request);
	refuse_an_interposer();
	require_interposable(argv[program]);
	if (request.json != NULL)
		open_result_file("json", request.json);
	status = run(&request, argv + program, context);
	if (request.metric != NULL)
		regfree(&request.regex);
	json_decref(context);
	return status;
}
