/* SPDX-License-Identifier: MIT */
/*
 * Estimates how many runs a search will take, after Chen, "Heuristic Sampling: A Method
 * for Predicting the Performance of Tree Searching Programs" (SIAM J. Comput., 1992).
 * Runs are the nodes of a tree; the graphs that a run pushes are its children. A probe
 * descends level by level. Of all graphs of a level in which the threads have done the
 * same numbers of events it keeps one at random, with the sum of their weights. The
 * expected sum of all weights is the number of runs; the variance between probes gives
 * the error.
 *
 * A probe executes runs, and a run changes state: words become known as atomic, loops are
 * learnt, the program has its own memory. So another process makes the probes, forked
 * between two runs; only weights come back, through a pipe. It makes a limited number of
 * runs and exits; later another one follows.
 */
#define _GNU_SOURCE /* pipe2 */
#include "search.h"

#include <sim/common/dice.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	STRATA = 1 << 10,
	CHANCES = 1 << 30,
	SHARE = 16, /* one run in 16 is spent on the estimate */
};

struct stratum {
	double weight;
	unsigned char *graph; /* packed */
	size_t size;	      /* in bytes */
};
struct generation {
	struct stratum strata[STRATA];
	bool any;
};

/* The record that is sent through the pipe. */
struct probe {
	double weight;
	uint64_t runs; /* that the probe took */
};

/* Stratum of a graph: the number of events of each thread, hashed; collisions are
 * rare. */
static size_t kind_of(const unsigned char *graph)
{
	uint64_t lengths;

	memcpy(&lengths, graph + offsetof(struct graph, length), sizeof(lengths));
	return lengths * 0x9e3779b97f4a7c15u >> 54;
}

/* Adds a graph of the given weight to a level; it may replace the one in its stratum. */
static void add(struct search *s, struct generation *to, const unsigned char *graph,
		size_t size, double weight)
{
	struct stratum *stratum = &to->strata[kind_of(graph)];
	unsigned char *room = stratum->graph;

	stratum->weight += weight;
	if (random_below(s, CHANCES) >= weight / stratum->weight * CHANCES)
		return;
	if (stratum->size < size)
		room = realloc(stratum->graph, size);
	if (room == NULL)
		return; /* the graph already there stands for both */
	stratum->graph = memcpy(room, graph, size);
	stratum->size = stratum->size < size ? size : stratum->size;
	to->any = true;
}

/* Executes one run and takes the graphs that it pushed. */
static void run_one(struct search *s, struct probe *probe, double weight,
		    struct generation *next)
{
	s->result->verdict = VERDICT_PASSED;
	search_run(s);
	probe->runs++;
	probe->weight += weight;
	while (s->pending.used > 0) {
		size_t size;

		memcpy(&size, s->pending.bytes + s->pending.used - sizeof(size),
		       sizeof(size));
		s->pending.used -= size + sizeof(size);
		add(s, next, s->pending.bytes + s->pending.used, size, weight);
	}
}

static struct probe make_probe(struct search *s)
{
	static struct generation generations[2];
	struct generation *now = &generations[0], *next = &generations[1], *other;
	struct probe probe = {0};
	int i;

	graph_clear(&s->graph, s->program->threads);
	run_one(s, &probe, 1, next);
	while (next->any && !s->restart) {
		other = now;
		now = next;
		next = other;
		for (i = 0; i < STRATA && !s->restart; i++) {
			struct stratum *stratum = &now->strata[i];

			if (stratum->weight == 0)
				continue;
			graph_unpack(&s->graph, stratum->graph);
			run_one(s, &probe, stratum->weight, next);
			stratum->weight = 0;
		}
		now->any = false;
	}
	return probe;
}

/* In the child process. A probe that would have to restart the search sends nothing: the
 * search itself will find the same reason. */
static void make_probes(struct search *s, int to, pid_t parent, uint64_t runs)
{
	struct options options = *s->options;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	options.each = NULL;
	options.progress = NULL;
	s->options = &options;
	s->pending.used = 0;
	s->dice = dice_for(s->options->seed, s->estimate.runs);
	while (runs > 0) {
		struct probe probe = make_probe(s);

		if (s->restart || write(to, &probe, sizeof(probe)) != sizeof(probe))
			break;
		runs -= probe.runs < runs ? probe.runs : runs;
	}
	_exit(0);
}

static void start(struct search *s, uint64_t runs)
{
	pid_t parent = getpid(), child;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return; /* no estimate */
	child = fork();
	if (child == 0) {
		close(ends[0]);
		make_probes(s, ends[1], parent, runs);
	}
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return;
	}
	s->estimate.child = child;
	s->estimate.pipe = ends[0];
}

static void end(struct search *s)
{
	close(s->estimate.pipe);
	kill(s->estimate.child, SIGKILL); /* the checked program may not terminate */
	while (waitpid(s->estimate.child, NULL, 0) < 0 && errno == EINTR)
		;
	s->estimate.child = 0;
}

/* Reads the probes that have arrived; or all remaining ones, from a process that
 * exits. */
static void collect(struct search *s, bool all)
{
	struct probe probe;
	ssize_t n;

	fcntl(s->estimate.pipe, F_SETFL, all ? 0 : O_NONBLOCK);
	for (;;) {
		n = read(s->estimate.pipe, &probe, sizeof(probe));
		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(probe))
			break;
		s->estimate.probes++;
		s->estimate.sum += probe.weight;
		s->estimate.squares += probe.weight * probe.weight;
		s->estimate.runs += probe.runs;
	}
	if (n == 0)
		end(s);
}

void estimate_reset(struct search *s)
{
	if (s->estimate.child != 0)
		end(s);
	memset(&s->estimate, 0, sizeof(s->estimate));
}

struct expected estimate_runs(struct search *s, uint64_t runs)
{
	double n, mean, variance;

	if (s->estimate.child == 0 && s->estimate.runs < runs / SHARE)
		start(s, runs / SHARE - s->estimate.runs);
	if (s->estimate.child != 0)
		collect(s, s->options->await_estimate);
	n = s->estimate.probes;
	if (n < 2)
		return (struct expected){0, 0};
	mean = s->estimate.sum / n;
	variance = (s->estimate.squares - n * mean * mean) / (n - 1);
	return (struct expected){mean, sqrt(variance > 0 ? variance / n : 0) / mean};
}

void expected_print(struct expected expected, uint64_t runs, double seconds, char *to,
		    size_t size)
{
	double rate = (double)runs / seconds,
	       left = (expected.runs - (double)runs) / rate;

	snprintf(to, size, "%llu runs, %.0f/s", (unsigned long long)runs, rate);
	size -= strlen(to);
	to += strlen(to);
	if (expected.runs > (double)runs && expected.error < 0.5)
		snprintf(to, size,
			 "; about %.0f %% of %.2g (give or take %.0f %%), %.0f s left",
			 100 * (double)runs / expected.runs, expected.runs,
			 100 * expected.error, left);
	else if (expected.runs > (double)runs)
		snprintf(to, size, "; of perhaps %.0e", expected.runs);
	else if (expected.runs > 0)
		snprintf(to, size, "; more than %.2g, which were expected",
			 expected.runs);
}
