/* SPDX-License-Identifier: MIT */
/*
 * The programs of pawl bench --app: each run is a process, with one of pawl's locks under
 * its mutexes, or plain glibc. They are in bench/apps; app.h there has their interface.
 */
#define _GNU_SOURCE
#include "cli/bench/bench.h"
#include "cli/common/interpose.h"
#include "preload/offer.h"
#include "cli/common/output.h"
#include "cli/common/program.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAIN "glibc"

enum { STATUS_WRONG = 3, SUBJECTS_MAX = 128 };

/* A run that exceeds its time by this many seconds hangs. */
static const double patience = 60;

/* The folder for the programs' files; created when the first one runs. */
static char scratch[PATH_MAX];

static int remove_entry(const char *path, const struct stat *status, int type,
			struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

static void remove_scratch(void)
{
	nftw(scratch, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_scratch(void)
{
	const char *folder = getenv("TMPDIR");

	if (*scratch != '\0')
		return;
	snprintf(scratch, sizeof(scratch), "%s/pawl-bench-XXXXXX",
		 folder != NULL && *folder != '\0' ? folder : "/tmp");
	if (mkdtemp(scratch) == NULL)
		give_up("cannot create the folder '%s': %s; set TMPDIR to a writable "
			"directory",
			scratch, strerror(errno));
	atexit(remove_scratch);
	survive_broken_pipes();
}

/* The program's name is the app's up to the first hyphen. */
static void find_app(const char *app, char *path, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "pawl-apps/%.*s", (int)strcspn(app, "-"), app);
	if (!find_companion(name, path, size))
		refuse("--app: '%s' was not built; install its dependencies ('make "
		       "deps') and build pawl again without sanitizers, or name other "
		       "apps",
		       app);
}

void require_app(const struct workload *app)
{
	char path[PATH_MAX];

	find_app(app->name, path, sizeof(path));
}

/* Parses the program's output: operations per second, fairness, operations. */
static bool read_result(int file, struct bench_outcome *outcome)
{
	char text[128];
	ssize_t length = pread(file, text, sizeof(text) - 1, 0);

	text[length < 0 ? 0 : length] = '\0';
	return sscanf(text, "%lf %lf %" SCNu64, &outcome->ops_per_s, &outcome->fairness,
		      &outcome->episodes) == 3;
}

static void complain(const char *app, const char *lock,
		     const struct program_outcome *ended)
{
	if (ended->end == ENDED_TOO_SLOW)
		give_up("'%s' hangs under '%s'", app, lock);
	if (ended->end == ENDED_BY_SIGNAL)
		give_up("'%s' under '%s' was killed by signal %d", app, lock,
			ended->code);
	give_up("'%s' under '%s' failed with status %d", app, lock, ended->code);
}

static bool run_app(const char *app, const struct bench_subject *subject,
		    const struct bench_shape *shape, struct bench_outcome *outcome)
{
	bool plain = strcmp(subject->name, PLAIN) == 0;
	char **environment = plain ? NULL : interposed_environment(subject->name);
	char path[PATH_MAX], threads[16], seconds[32], what[32];
	char *const argv[] = {path, scratch, threads, seconds, what, NULL};
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), out = memory_file();
	const struct program run = {.argv = argv,
				    .environment = plain ? environ : environment,
				    .in = nothing,
				    .out = out,
				    .err = STDERR_FILENO,
				    .limit = shape->seconds + patience};
	struct program_outcome ended;
	bool started;

	make_scratch();
	find_app(app, path, sizeof(path));
	snprintf(threads, sizeof(threads), "%d", shape->threads);
	snprintf(seconds, sizeof(seconds), "%g", shape->seconds);
	snprintf(what, sizeof(what), "%s", app);
	*outcome = (struct bench_outcome){.exclusive = true};
	started = run_program(&run, &ended);
	free_environment(environment);
	if (started && ended.end == ENDED_INTERRUPTED) {
		crew_interrupt();
	} else if (started && ended.end == ENDED_BY_EXIT && ended.code == STATUS_WRONG) {
		outcome->exclusive = false;
	} else if (started) {
		if (ended.end != ENDED_BY_EXIT || ended.code != 0 ||
		    !read_result(out, outcome))
			complain(app, subject->name, &ended);
		outcome->value = outcome->ops_per_s;
		outcome->cpu_seconds = ended.cpu_s;
		outcome->context_switches = (long)ended.context_switches;
		outcome->figures[0] = ended.max_rss / (1 << 20);
		outcome->figures[1] = ended.wall_s;
		outcome->figures[2] = 1e9 * ended.cpu_s / (double)outcome->episodes;
		outcome->figures[3] = ended.context_switches / (double)outcome->episodes;
	}
	close(nothing);
	close(out);
	return started;
}

/* glibc, then the locks that the interposer offers; filled by bench_apps(). */
static struct bench_subject subjects[SUBJECTS_MAX];
static const struct bench_subject *offered[SUBJECTS_MAX + 1];

/* Each app's run(), which needs its name, and the app. */
#define APP(id, app_name, app_about, app_source)                                       \
	static bool run_##id(const struct bench_subject *subject,                      \
			     const struct bench_shape *shape,                          \
			     struct bench_outcome *outcome)                            \
	{                                                                              \
		return run_app(app_name, subject, shape, outcome);                     \
	}                                                                              \
	static const struct workload app_##id = {                                      \
		.name = app_name,                                                      \
		.about = app_about,                                                    \
		.source = app_source,                                                  \
		.unit = "ops/s",                                                       \
		.run = run_##id,                                                       \
		.subjects = offered,                                                   \
		.reference = PLAIN,                                                    \
		.figures = {"peak_mib", "wall_s", "cpu_ns_per_op", "switches_per_op"}, \
	};
#include "apps/apps.def"
#undef APP

const struct workload *const *bench_apps(void)
{
	static const struct workload *const apps[] = {
#define APP(id, ...) &app_##id,
#include "apps/apps.def"
#undef APP
		NULL};
	const struct lock_type *type;
	size_t n = 0;

	subjects[n].name = PLAIN;
	offered[n] = &subjects[n];
	n++;
	for (type = lock_types; type->name != NULL && n < SUBJECTS_MAX; type++)
		if (offer_refusal(type) == NULL) {
			subjects[n].name = type->name;
			offered[n] = &subjects[n];
			n++;
		}
	return apps;
}
