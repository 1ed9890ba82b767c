/* SPDX-License-Identifier: MIT */
/*
 * Checks a compiled program: what `pawl check --program` runs.
 *
 * usage: pawl-check-program [--model M] [--limit N] [--unroll N] [--replay TOKEN]
 *                           [--name NAME] [--again COMMAND] [--after FLAGS]
 *                           [--repeat N] [--random N] [--seed S] [--depth D]
 *                           [--html FILE] [--progress] [--no-symmetry] FILE.so
 */
#define _GNU_SOURCE
#include "load.h"
#include "picture.h"
#include "symmetry.h"
#include "threads.h"

#include <sim/fiber.h>
#include <sim/runtime.h>

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

int program_unroll;

/* The parts of the simulated runtime that search.c refers to; unused here. */
const struct sim_engine *sim_engine;

size_t sim_thread_size(void)
{
	return 0;
}

void program_fail(enum verdict verdict, const void *site, const char *format, ...)
{
	struct search *s = current_search;
	char message[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	s->site = site;
	s->address = NULL;
	explore_fail(verdict, "%s", message);
	abort();
}

void program_refuse(const char *what, const void *site)
{
	program_fail(VERDICT_REFUSED, site,
		     "%s cannot be played: a check has no time, files, signals or "
		     "system calls, and sees only code that is compiled with it",
		     what);
}

/* Crashes, and threads that never reach an operation. */

enum { PATIENCE = 3 }; /* seconds of CPU time */

static void crashed(int signal)
{
	struct search *s = current_search;

	if (signal == SIGPROF)
		program_fail(VERDICT_LIMIT, s->site,
			     "thread %d ran %d seconds without an atomic operation or a "
			     "call that could be seen; does it end?",
			     me(s), PATIENCE);
	program_fail(VERDICT_ASSERTION, s->site, CRASHED, me(s), strsignal(signal));
}

static void divert(int signal, void *context)
{
	sim_fiber_divert(current_search->self->fiber, context, crashed, signal);
}

static void on_crash(int signal, siginfo_t *info, void *context)
{
	(void)info;
	if (on_thread()) {
		divert(signal, context);
		return;
	}
	fprintf(stderr, "pawl: the checker itself crashed (%s); please report it\n",
		strsignal(signal));
	_exit(2);
}

static uint64_t runs;

static void on_tick(int signal, siginfo_t *info, void *context)
{
	static uint64_t last_runs, last_stamps;
	static int idle;

	(void)info;
	if (!on_thread() || runs != last_runs ||
	    current_search->graph.stamps != last_stamps) {
		idle = 0;
		last_runs = runs;
		if (current_search != NULL)
			last_stamps = current_search->graph.stamps;
	} else if (++idle >= PATIENCE) {
		idle = 0;
		divert(signal, context);
	}
}

static void catch_crashes(void)
{
	static char stack[1 << 16];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction crash = {.sa_sigaction = on_crash,
				  .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	struct sigaction tick = {.sa_sigaction = on_tick,
				 .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	const struct itimerval second = {{1, 0}, {1, 0}};

	sigaltstack(&alternate, NULL);
	sigaction(SIGSEGV, &crash, NULL);
	sigaction(SIGBUS, &crash, NULL);
	sigaction(SIGILL, &crash, NULL);
	sigaction(SIGFPE, &crash, NULL);
	sigaction(SIGPROF, &tick, NULL);
	setitimer(ITIMER_PROF, &second, NULL);
}

/* The program, as the explorer sees it. */

static struct program program;

static void set_up(void *context)
{
	static bool first = true;

	(void)context;
	if (first)
		load_statics(current_search->memory);
	first = false;
	runs++;
	loops_start();
	threads_reset();
	symmetry_reset();
	locks_reset();
	conditions_reset();
	load_reset();
	program.threads = threads_wanted();
}

static void thread(void *context, int t)
{
	threads_run(context, t);
}

static void finished(void *context)
{
	(void)context;
	threads_finished();
}

static const char *const model_names[] = {"weak", "tso", "sc"};

struct request {
	struct options options;
	int repeat; /* explores everything this often, to measure speed */
	const char *name, *replay, *again, *after; /* for the command that repeats it */
	FILE *page;				   /* or NULL */
	bool symmetry;				   /* symmetry reduction */
};

/* The failing execution with the least cost for its reader, of those found. */
static struct picture picture;

static void keep_picture(void *context, const struct trace *trace, struct graph *g,
			 struct memory *m)
{
	(void)context;
	picture_make(&picture, trace, g, m);
}

/* Progress: one line that is overwritten on a terminal; elsewhere, if asked for, a line
 * at times. */

enum { SELDOM = 10 }; /* seconds */
static bool progress_shown;

static void show_progress(void *context, uint64_t runs_done, double seconds,
			  struct expected expected)
{
	static double next;
	bool terminal = isatty(STDERR_FILENO);
	char line[128];

	(void)context;
	if (next > seconds + SELDOM)
		next = 0; /* a new search */
	if (seconds < next)
		return;
	next = seconds + (terminal ? 0.2 : SELDOM);
	expected_print(expected, runs_done, seconds, line, sizeof(line));
	fprintf(stderr, terminal ? "\r%-78.78s" : "%s\n", line);
	progress_shown = terminal;
}

static void end_progress(void)
{
	if (progress_shown)
		fprintf(stderr, "\r%78s\r", "");
	progress_shown = false;
}

static void print_failure(const struct request *request, const struct subject *subject,
			  const struct result *result)
{
	bool seen = result->verdict != VERDICT_LIMIT &&
		    result->verdict != VERDICT_NOTHING;
	struct failure failure = {
		.subject = subject->name,
		.model = model_names[request->options.model],
		.verdict = verdict_name(result->verdict),
		.message = result->message,
		.picture = seen ? &picture : NULL,
	};
	char *again = NULL;

	if (seen && result->choices[0] != 0 &&
	    asprintf(&again, "%s --replay %s:%s:%s%s", request->again, failure.subject,
		     failure.model, result->choices, request->after) > 0)
		failure.again = again;
	printf("\n%s: %s\n", failure.verdict, failure.message);
	if (seen)
		picture_print(stdout, &picture);
	else
		puts("(not passed: not everything was explored)");
	if (failure.again != NULL)
		printf("repeat it with: %s\n", failure.again);
	putchar('\n');
	if (request->page != NULL)
		page_add(request->page, &failure);
	free(again);
}

static bool is_good(enum verdict verdict)
{
	return verdict == VERDICT_PASSED || verdict == VERDICT_NONE_SEEN;
}

static bool check(const struct request *request, const struct subject *subject,
		  const char *choices)
{
	static struct result result;
	struct options options = request->options;
	uint64_t executions = 0, abandoned = 0;
	double seconds = 0;
	int times = 0;

	program = (struct program){
		.threads = 1,
		.set_up = set_up,
		.thread = thread,
		.finished = finished,
		.context = (void *)(uintptr_t)subject,
	};
	loops_forget();
	threads_forget();
	symmetry_forget();
	symmetry_wanted = request->symmetry && choices == NULL && options.random == 0;
	options.each = symmetry_wanted ? symmetry_count : NULL;
	if (choices != NULL || options.random != 0) {
		/* The tree of threads is known after one execution. */
		options.limit = 1;
		options.random = 0;
		options.keep_trace = false;
		options.show = NULL;
		explore(&program, &options, &result);
		options = request->options;
		options.choices = choices;
	}
	do {
		explore(&program, &options, &result);
		executions += result.executions;
		abandoned += result.blocked;
		seconds += result.seconds;
	} while (++times < request->repeat);
	end_progress();
	printf("%-24s %-20s %5s %11llu %9.3f  %s\n", request->name, subject->name,
	       model_names[options.model], (unsigned long long)result.executions,
	       result.seconds, verdict_name(result.verdict));
	if (!is_good(result.verdict))
		print_failure(request, subject, &result);
	fprintf(stderr,
		"%s: %llu executions and %llu abandoned in %.2f s: %.0f executions/s\n",
		subject->name, (unsigned long long)executions,
		(unsigned long long)abandoned, seconds, (double)executions / seconds);
	if (result.verdict == VERDICT_PASSED && symmetry_used &&
	    symmetry_all() > (double)result.executions)
		fprintf(stderr,
			"%s: %.0f more differ from these only in which thread is which "
			"and were left out; --no-symmetry runs them\n",
			subject->name, symmetry_all() - (double)result.executions);
	if (result.verdict == VERDICT_NONE_SEEN)
		fprintf(stderr,
			"%s: another run would show something new with a chance of about "
			"%.2g %%\n",
			subject->name, 100 * result.unseen);
	fflush(stdout);
	return is_good(result.verdict);
}

static int replay(const struct request *request, struct subject *subjects, int n)
{
	struct request repeated = *request;
	char token[TOKEN_SIZE + 128], *rest = token, *name, *model;
	int i;

	snprintf(token, sizeof(token), "%s", request->replay);
	name = strsep(&rest, ":");
	model = rest == NULL ? NULL : strsep(&rest, ":");
	for (i = 0; model != NULL && i < 3; i++)
		if (strcmp(model_names[i], model) == 0)
			repeated.options.model = (enum model)i;
	for (i = 0; i < n; i++)
		if (rest != NULL && strcmp(subjects[i].name, name) == 0)
			return check(&repeated, &subjects[i], rest) ? 0 : 1;
	fprintf(stderr,
		"pawl: --replay: '%s' is not a token of this program; copy the "
		"line that a failed check printed\n",
		request->replay);
	return 2;
}

static int cannot_write(const char *path)
{
	fprintf(stderr,
		"pawl: --html: cannot write '%s': %s; name a file in a directory you may "
		"write to\n",
		path, strerror(errno));
	return 2;
}

static void set_model(const char *text, void *into)
{
	int i;

	for (i = 0; i < 3; i++)
		if (strcmp(model_names[i], text) == 0)
			*(enum model *)into = (enum model)i;
}

static void set_text(const char *text, void *into)
{
	*(const char **)into = text;
}

static void set_int(const char *text, void *into)
{
	*(int *)into = atoi(text);
}

static void set_number(const char *text, void *into)
{
	*(uint64_t *)into = strtoull(text, NULL, 10);
}

static void set_progress(const char *text, void *into)
{
	(void)text;
	((struct options *)into)->progress = show_progress;
}

static void clear_flag(const char *text, void *into)
{
	(void)text;
	*(bool *)into = false;
}

int main(int argc, char **argv)
{
	struct request request = {
		.options = {.keep_trace = true,
			    .show = keep_picture,
			    .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
			    .shorten = 2000,
			    .smaller = "make the test smaller"},
		.name = "program",
		.repeat = 1,
		.again = "pawl check --program",
		.after = "",
		.symmetry = true,
	};
	struct subject subjects[MAX_SUBJECTS];
	const char *html = NULL;
	/* The words come from the command, which has checked the values. */
	const struct {
		const char *name; /* with "=" if there is a value */
		void (*set)(const char *text, void *into);
		void *into;
	} options[] = {
		{"--model=", set_model, &request.options.model},
		{"--limit=", set_number, &request.options.limit},
		{"--unroll=", set_int, &program_unroll},
		{"--replay=", set_text, &request.replay},
		{"--name=", set_text, &request.name},
		{"--again=", set_text, &request.again},
		{"--after=", set_text, &request.after},
		{"--repeat=", set_int, &request.repeat},
		{"--html=", set_text, &html},
		{"--random=", set_number, &request.options.random},
		{"--seed=", set_number, &request.options.seed},
		{"--depth=", set_int, &request.options.depth},
		{"--progress", set_progress, &request.options},
		{"--no-symmetry", clear_flag, &request.symmetry},
	};
	const size_t most = sizeof(options) / sizeof(*options);
	int word, n, i, status = 0;

	for (word = 1; word < argc - 1; word++) {
		size_t o = 0, length;

		while (o < most &&
		       strncmp(argv[word], options[o].name, strlen(options[o].name)) != 0)
			o++;
		if (o == most)
			break;
		length = strlen(options[o].name);
		options[o].set(argv[word] + length, options[o].into);
	}
	if (word != argc - 1) {
		fputs("pawl: pawl-check-program is for 'pawl check --program'\n", stderr);
		return 2;
	}
	if (html != NULL) {
		request.page = fopen(html, "w");
		if (request.page == NULL)
			return cannot_write(html);
		page_begin(request.page, request.name);
	}
	load_program(argv[word]);
	n = load_subjects(subjects);
	catch_crashes();
	printf("%-24s %-20s %5s %11s %9s  %s\n", "program", "runs", "model", "executions",
	       "seconds", "verdict");
	if (request.replay != NULL) {
		status = replay(&request, subjects, n);
	} else {
		for (i = 0; i < n; i++)
			if (!check(&request, &subjects[i], NULL))
				status = 1;
	}
	if (request.page != NULL) {
		page_end(request.page, status == 0);
		if (fclose(request.page) != 0)
			status = cannot_write(html);
	}
	fflush(NULL);
	_exit(status); /* skips destructors: they are the program's */
}
