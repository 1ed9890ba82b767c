/* SPDX-License-Identifier: MIT */
/*
 * The first sample: one run with statistics. It shows how long threads waited for locks,
 * which bounds what a better lock can save.
 */
#define _GNU_SOURCE
#include "cli/try/try.h"

#include "cli/common/interpose.h"
#include "cli/common/options.h"
#include "cli/common/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The sample takes this many seconds, if a run is short enough, and no more than half of
 * the budget. */
static const double look_s = 12;
enum { GLIBC_MOST = 4 };

/* An upper bound of the difference between locks for an uncontended acquisition,
 * including a line that another CPU has. */
static const double operation_s = 50e-9;

/* Noise up to this share is no reason to stop. */
static const double most_visible = 0.10;

/* The statistics of a process. */

static void read_line(const char *line, struct counts *counts)
{
	double a, b, c;

	if (sscanf(line,
		   "acquisitions %lf, contended %lf, parked %*f, waits for a signal %lf",
		   &a, &b, &c) == 3) {
		counts->any = true;
		counts->acquisitions += a;
		counts->contended += b;
		counts->signals += c;
	} else if (sscanf(line, "read-write locks: read %lf, written %lf, contended %lf",
			  &a, &b, &c) == 3) {
		counts->rwlocks += a + b;
		counts->rwlocks_contended += c;
	} else if (sscanf(line,
			  "time lost: waiting for mutexes %lf ms, for read-write locks "
			  "%lf ms, for mutexes after a signal %lf ms",
			  &a, &b, &c) == 3) {
		counts->mutex_s += 1e-3 * a;
		counts->rwlock_s += 1e-3 * b;
		counts->after_signal_s += 1e-3 * c;
	}
}

/* Sums up the interposer's reports of all processes. */
static void read_counts(int file, struct counts *counts)
{
	size_t size;
	const char *text = map_file(file, &size), *line = text, *end;

	for (; line != NULL && line < text + size; line = end + 1) {
		char copy[256];

		end = memchr(line, '\n', (size_t)(text + size - line));
		if (end == NULL)
			break;
		snprintf(copy, sizeof(copy), "%.*s", (int)(end - line), line);
		read_line(copy, counts);
	}
	unmap_file(text, size);
}

/* Read-write locks are pawl's in this run, unless the user chose: only then are they
 * counted. */
static void look_under(struct look *look, struct candidate *candidate)
{
	char path[64], name[80];
	char **environment;
	int counts = memory_file();

	snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), counts);
	snprintf(name, sizeof(name), "%s%s", candidate->name,
		 getenv("PAWL_RWLOCK") == NULL && !has_rwlock(candidate->name) ? "+rwlock"
									       : "");
	environment = environment_for(name, path);
	if (run_once(candidate, environment, candidate->warm_up)) {
		look->lock = candidate->name;
		look->wall_s = candidate->warm_up[WALL];
		look->cpu_s = candidate->warm_up[CPU];
		read_counts(counts, &look->counts);
	}
	free_environment(environment);
	close(counts);
}

/* Runs under glibc, to estimate the noise: as many as fit. */
static void look_at_glibc(struct candidate *glibc, double began, double budget)
{
	double run_s = glibc->run_s, all_s = fmin(look_s, budget / 2);
	double fit = fmin((all_s - (now() - began)) / run_s, GLIBC_MOST);
	int i, f, runs = (int)fmax(fit, run_s < all_s / 2);

	for (i = 0; i < runs; i++) {
		double figures[FIGURES] = {0};

		if (!run_once(glibc, NULL, figures))
			return;
		for (f = 0; f < FIGURES; f++)
			glibc->samples[f][glibc->runs] = figures[f];
		glibc->runs++;
	}
}

/* The smallest visible difference, and whether the run was faster than glibc. */
static void judge_noise(struct look *look, const struct candidate *glibc)
{
	double least = glibc->warm_up[WALL], most = least;
	size_t i;

	if (glibc->runs > 1) /* else only the warm-up is there */
		least = most = glibc->samples[WALL][0];
	for (i = 0; i < glibc->runs; i++) {
		least = fmin(least, glibc->samples[WALL][i]);
		most = fmax(most, glibc->samples[WALL][i]);
	}
	/* The interval of a median is about half as wide as the range of a few runs. */
	look->visible = fmin(fmax((most - least) / least / 2, LEAST_DIFFERENCE),
			     most_visible);
	look->was_faster = look->wall_s <
			   least * (1 - fmax(look->visible, (most - least) / least));
}

static void judge_look(struct trial *trial)
{
	struct look *look = &trial->look;
	const struct counts *counts = &look->counts;
	double lost = counts->mutex_s + counts->rwlock_s + counts->after_signal_s;
	double taking = operation_s * (counts->acquisitions + counts->rwlocks);
	bool waited = counts->contended + counts->rwlocks_contended > 0 ||
		      counts->after_signal_s > 0;
	/* Rare waits may dominate a tail latency, which a metric may be. */
	bool is_tail = trial->deciding == METRIC && !trial->more_is_better;

	look->wall_share = lost / look->wall_s;
	look->thread_share = lost / (look->cpu_s + lost);
	look->possible = (lost + taking) / look->wall_s;
	judge_noise(look, &trial->candidates[0]);
	look->ends_it = counts->any && (takes_no_lock(trial) ||
					(look->possible < look->visible &&
					 !look->was_faster && !(is_tail && waited)));
}

/* Adds a candidate with pawl's read-write locks, if the program uses such locks and the
 * user did not choose. */
static void add_rwlock(struct trial *trial)
{
	static char name[64];
	struct candidate *added = &trial->candidates[trial->count];

	if (!trial->request->default_locks || trial->look.counts.rwlocks == 0 ||
	    getenv("PAWL_RWLOCK") != NULL)
		return;
	snprintf(name, sizeof(name), "%s+rwlock", trial->candidates[1].name);
	added->name = name;
	trial->count++;
}

void take_look(struct trial *trial)
{
	struct candidate *glibc = trial->candidates;
	double began = now();

	fprintf(stderr, "first runs: under glibc, and under %s with statistics\n",
		glibc[1].name);
	warm_up_glibc(glibc);
	if (runs_interrupted())
		return;
	look_under(&trial->look, &glibc[1]);
	if (trial->look.lock == NULL)
		return; /* it failed, which another lock may not */
	if (!trial->look.counts.any)
		warn("'%s' did not report at its end that it used %s: if it starts a "
		     "program that is statically linked or set-user-ID, these results "
		     "mean nothing, so try that program itself; or it ended without "
		     "exit()",
		     program_name(trial->request), glibc[1].name);
	if (trial->request->runs == 0)
		look_at_glibc(glibc, began, trial->request->budget);
	if (runs_interrupted())
		return;
	judge_look(trial);
	if (trial->request->runs > 0)
		trial->look.ends_it = false; /* the user asked for runs */
	add_rwlock(trial);
}
