/* SPDX-License-Identifier: MIT */
/*
 * The CPUs of virtual machines migrate, and the latency of a line can change by a factor
 * of four from one moment to the next. So the latencies are measured between any two runs
 * of locks, and only runs with the most frequent latency before and after count.
 */
#include "cli/sim/measure.h"

#include "lcg.h"
#include "workload.h"
#include "cli/common/interrupt.h"
#include "cli/common/options.h"
#include "cli/common/output.h"
#include "cli/common/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4 }; /* at most, per requested run */

#define WARM_UP	 0.005
#define SAME_WAY 1.2 /* transfers within this factor count as equal */

/* A run of a lock; probes[i] was taken before the i-th run, probes[i + 1] after it. */
struct run {
	size_t lock;
	double ns;
};

struct session {
	const struct measure_setup *setup;
	struct latencies *probes;
	struct run *runs;
	size_t count, room;
	double way;	 /* the most frequent transfer latency */
	double *samples; /* for those of a lock, or of a latency */
	size_t *order;
};

static const struct bench_subject *find_subject(const char *name)
{
	const struct bench_subject *const *subject = bench_subjects;

	while (*subject != NULL && strcmp((*subject)->name, name) != 0)
		subject++;
	if (*subject == NULL)
		give_up("'%s' can be simulated, but not measured", name);
	return *subject;
}

static void probe(struct session *session, size_t at)
{
	if (!latencies_measure(&session->probes[at]))
		give_up("cannot start %d threads: %s", MEASURE_THREADS, strerror(errno));
}

static double run_lock(const struct session *session, const char *lock, uint64_t seed)
{
	const struct bench_shape shape = {.threads = MEASURE_THREADS,
					  .cs = session->setup->cs,
					  .ncs = session->setup->ncs,
					  .seconds = MEASURE_SECONDS,
					  .warm_up = WARM_UP,
					  .seed = seed};
	struct bench_outcome outcome;

	if (!mutex_run(find_subject(lock), &shape, &outcome))
		give_up("'%s' does not finish with %d threads: %s", lock, MEASURE_THREADS,
			strerror(errno));
	if (!outcome.exclusive)
		give_up("EXCLUSION VIOLATED by '%s' with %d threads; do not use this "
			"lock, and report it",
			lock, MEASURE_THREADS);
	return 1e9 / outcome.ops_per_s;
}

static bool same_way(double a, double b)
{
	return a < b * SAME_WAY && b < a * SAME_WAY;
}

/* Whether the latency was the same before and after the run. */
static bool counts(const struct session *session, size_t run, double way)
{
	return same_way(session->probes[run].transfer, way) &&
	       same_way(session->probes[run + 1].transfer, way);
}

static void choose_way(struct session *session)
{
	size_t i, run, n, most = 0;

	for (i = 0; i <= session->count; i++) {
		for (n = run = 0; run < session->count; run++)
			n += counts(session, run, session->probes[i].transfer);
		if (n > most || i == 0) {
			most = n;
			session->way = session->probes[i].transfer;
		}
	}
}

/* The runs of a lock that count; on a busy machine a run may have made no progress. */
static size_t samples_of(const struct session *session, size_t lock)
{
	size_t run, n = 0;

	for (run = 0; run < session->count; run++)
		if (session->runs[run].lock == lock && isfinite(session->runs[run].ns) &&
		    counts(session, run, session->way))
			session->samples[n++] = session->runs[run].ns;
	return n;
}

static bool enough(struct session *session)
{
	size_t lock;

	choose_way(session);
	for (lock = 0; lock < session->setup->count; lock++)
		if (samples_of(session, lock) < session->setup->runs)
			return false;
	return true;
}

static void *get(size_t count, size_t size)
{
	void *p = calloc(count, size);

	if (p == NULL)
		give_up("out of memory; lower --runs");
	return p;
}

/* Every round runs every lock once, in random order. */
static void measure(struct session *session)
{
	const struct measure_setup *setup = session->setup;
	uint64_t seed = setup->seed;
	size_t i;

	for (i = 0; i < setup->count; i++)
		session->order[i] = i;
	probe(session, 0);
	do {
		seed = lcg_shuffle(session->order, setup->count, seed);
		for (i = 0; i < setup->count && !was_interrupted(); i++) {
			size_t lock = session->order[i];

			show_progress(session->count, session->room, "measuring %s",
				      setup->locks[lock]);
			session->runs[session->count] = (struct run){
				lock, run_lock(session, setup->locks[lock], seed)};
			probe(session, ++session->count);
		}
	} while (!was_interrupted() && session->count < session->room &&
		 !enough(session));
	end_progress();
	choose_way(session);
}

/* The median of one latency over the probes with the chosen transfer latency. */
static double latency_of(const struct session *session, size_t offset)
{
	size_t i, n = 0;

	for (i = 0; i <= session->count; i++)
		if (same_way(session->probes[i].transfer, session->way))
			session->samples[n++] = *(
				const double *)((const char *)&session->probes[i] +
						offset);
	return estimate_median(session->samples, n).value;
}

static struct latencies latencies_of(const struct session *session)
{
	struct latencies l;
	size_t offset;

	for (offset = 0; offset < sizeof(l); offset += sizeof(double))
		*(double *)((char *)&l + offset) = latency_of(session, offset);
	return l;
}

bool measure_here(const struct measure_setup *setup, struct latencies *latencies,
		  struct measured *measured)
{
	size_t room = setup->runs * ROUNDS * setup->count, i;
	struct session session = {.setup = setup, .room = room};
	struct estimate ns;

	session.probes = get(room + 1, sizeof(*session.probes));
	session.runs = get(room, sizeof(*session.runs));
	session.samples = get(room + 1, sizeof(*session.samples));
	session.order = get(setup->count, sizeof(*session.order));
	crew_pins = true;
	measure(&session);
	*latencies = latencies_of(&session);
	for (i = 0; i < setup->count; i++) {
		measured[i] = (struct measured){.runs = samples_of(&session, i)};
		if (measured[i].runs == 0)
			continue;
		ns = estimate_median(session.samples, measured[i].runs);
		measured[i].ns = ns.value;
		measured[i].spread = ns.error;
	}
	free(session.probes);
	free(session.runs);
	free(session.samples);
	free(session.order);
	return !was_interrupted();
}
