/* SPDX-License-Identifier: MIT */
/* One run of the user's program, and its figures. */
#define _GNU_SOURCE
#include "cli/try/try.h"

#include "cli/common/interpose.h"
#include "cli/common/options.h"
#include "cli/common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Shared by all runs. */
static struct {
	const struct request *request;
	int null;	    /* /dev/null */
	int reference;	    /* output of the program under glibc, or -1 */
	double reference_s; /* its duration; 0: unknown */
	bool is_interrupted;
} all;

void begin_runs(const struct request *request)
{
	all.request = request;
	all.reference = -1;
	all.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (all.null < 0)
		give_up("cannot open /dev/null: %s", strerror(errno));
}

void end_runs(void)
{
	close(all.null);
	if (all.reference >= 0)
		close(all.reference);
}

bool runs_interrupted(void)
{
	return all.is_interrupted;
}

const char *program_name(const struct request *request)
{
	return request->server != NULL ? request->server : request->program[0];
}

/* Locks by name. */

#define RWLOCK "+rwlock"

bool has_rwlock(const char *name)
{
	size_t length = strlen(name);

	return length > strlen(RWLOCK) &&
	       strcmp(name + length - strlen(RWLOCK), RWLOCK) == 0;
}

const char *lock_of(const char *name)
{
	static char lock[64];
	size_t length = strlen(name) - (has_rwlock(name) ? strlen(RWLOCK) : 0);

	snprintf(lock, sizeof(lock), "%.*s", (int)length, name);
	return lock;
}

static void set(const char *name, const char *value)
{
	if ((value != NULL ? setenv(name, value, 1) : unsetenv(name)) != 0)
		give_up("cannot set %s: %s", name, strerror(errno));
}

char **environment_for(const char *name, const char *stats)
{
	const char *asked = getenv("PAWL_RWLOCK");
	char *before = asked != NULL ? strdup(asked) : NULL;
	char **environment;

	if (has_rwlock(name) || asked == NULL)
		set("PAWL_RWLOCK", has_rwlock(name) ? "pawl" : "glibc");
	set("PAWL_STATS", stats);
	environment = interposed_environment(lock_of(name));
	set("PAWL_STATS", NULL);
	set("PAWL_RWLOCK", before);
	free(before);
	return environment;
}

/* Output of a run. */

/* Finds the number in the first group of the metric, or in the whole match if there is no
 * group; it must be above 0, because ratios are made of it. */
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

/* Describes in *trouble how the run failed, if it did not exit with 0. */
static void describe_end(const struct program_outcome *outcome, int errors, char *trouble,
			 size_t room)
{
	const char *what = all.request->server != NULL ? "the load: " : "";
	char words[120];
	int length = 0;

	if (outcome->end == ENDED_TOO_SLOW)
		length = snprintf(trouble, room,
				  "%sstopped after %.1f s; under glibc it takes %.1f s",
				  what, outcome->wall_s, all.reference_s);
	else if (outcome->end == ENDED_BY_SIGNAL)
		length = snprintf(trouble, room, "%skilled by signal %d (%s)", what,
				  outcome->code, strsignal(outcome->code));
	else if (outcome->code != 0)
		length = snprintf(trouble, room, "%sexit status %d", what, outcome->code);
	last_line(errors, words, sizeof(words));
	if (length > 0 && *words != '\0')
		snprintf(trouble + length, room - (size_t)length, ": \"%s\"", words);
}

/* Running. */

/* The file that pawl got as standard input, from its start for each run; /dev/null if it
 * is no file. */
static int open_input(void)
{
	struct stat there;
	int file = -1;

	if (fstat(STDIN_FILENO, &there) == 0 && S_ISREG(there.st_mode))
		file = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
	return file >= 0 ? file : dup(all.null);
}

/* Runs the program, or the server and its load. `outcome` is the end of the measured
 * program, `costs` the resources of the one under the lock. */
static void run_any(struct candidate *candidate, char **environment, int out, int err,
		    struct program_outcome *outcome, struct program_outcome *costs)
{
	const struct request *request = all.request;
	double limit = all.reference_s > 0 ? 10 * all.reference_s + 3 : 0;
	struct program program = {
		.argv = request->program,
		.environment = environment != NULL ? environment : environ,
		.out = out,
		.err = err,
		.limit = limit,
	};
	struct server_run server = {.server = request->server,
				    .load = request->load,
				    .environment = environment,
				    .null = all.null,
				    .out = out,
				    .err = err,
				    .limit = limit};

	if (request->server != NULL) {
		if (!run_server(&server, outcome, costs, candidate->trouble,
				sizeof(candidate->trouble)))
			outcome->end = ENDED_INTERRUPTED;
		return;
	}
	program.in = open_input();
	if (!run_program(&program, outcome))
		give_up("cannot run '%s': %s", request->program[0], strerror(errno));
	*costs = *outcome;
	close(program.in);
}

bool run_once(struct candidate *candidate, char **environment, double figures[FIGURES])
{
	const struct request *request = all.request;
	bool keeps_output = request->metric != NULL || request->same_output;
	struct program_outcome outcome = {.end = ENDED_BY_EXIT};
	struct program_outcome costs = {.end = ENDED_BY_EXIT};
	int out = keeps_output ? memory_file() : dup(all.null), err = memory_file();
	char *trouble = candidate->trouble;
	double began = now();

	run_any(candidate, environment, out, err, &outcome, &costs);
	candidate->run_s = now() - began;
	if (outcome.end == ENDED_INTERRUPTED)
		all.is_interrupted = true;
	else if (*trouble == '\0')
		describe_end(&outcome, err, trouble, sizeof(candidate->trouble));
	if (!all.is_interrupted && *trouble == '\0') {
		figures[WALL] = outcome.wall_s;
		figures[CPU] = costs.cpu_s;
		figures[SWITCHES] = costs.context_switches;
		figures[MEMORY] = costs.max_rss;
		if (request->metric != NULL &&
		    !find_metric(&request->regex, out, &figures[METRIC]))
			snprintf(trouble, sizeof(candidate->trouble),
				 "--metric finds no number above 0 in its output");
		else if (request->same_output && all.reference >= 0 &&
			 !same_contents(out, all.reference))
			snprintf(trouble, sizeof(candidate->trouble),
				 "output differs from that under glibc");
	}
	close(err);
	if (all.reference < 0 && request->same_output)
		all.reference = out;
	else
		close(out);
	return !all.is_interrupted && *trouble == '\0';
}

/* A second run under glibc must print the same: otherwise different output says nothing
 * about a lock. */
void warm_up_glibc(struct candidate *glibc)
{
	int i;

	for (i = 0; i < (all.request->same_output ? 2 : 1); i++)
		if (!run_once(glibc, NULL, glibc->warm_up)) {
			if (all.is_interrupted)
				return;
			refuse("'%s' under glibc: %s; give %s", program_name(all.request),
			       i == 0 ? glibc->trouble
				      : "its output differs from run to run, so remove "
					"--same-output",
			       all.request->server != NULL
				       ? "a server and a load that work"
				       : "a program that works");
		}
	all.reference_s = glibc->warm_up[WALL];
}
