/* SPDX-License-Identifier: MIT */
/* One run of MutexBench; mutex.h says what that is. */
#include "mutex.h"

#include "crew.h"
#include "subject.h"
#include "workload.h"

#include <stdlib.h>
#include <sys/resource.h>

/* Adds up what the threads did, and replays it. */
static void judge(const struct mutex_bench *bench, const struct mutex_thread *threads,
		  const struct bench_shape *shape, double elapsed,
		  struct bench_outcome *outcome)
{
	uint64_t total = 0, least = UINT64_MAX, most = 0;
	int i;

	for (i = 0; i < shape->threads; i++) {
		uint64_t episodes = threads[i].episodes;

		total += episodes;
		least = episodes < least ? episodes : least;
		most = episodes > most ? episodes : most;
	}
	outcome->episodes = total;
	outcome->ops_per_s = (double)total / elapsed;
	outcome->fairness = (double)least / (double)most;
	outcome->exclusive = bench->shared == lcg_jump(shape->seed, total * shape->cs);
}

static double cpu_seconds(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static long switches(const struct rusage *usage)
{
	return usage->ru_nvcsw + usage->ru_nivcsw;
}

bool mutex_run(const struct bench_subject *subject, const struct bench_shape *shape,
	       struct bench_outcome *outcome)
{
	static struct mutex_bench bench; /* outlives threads that cannot be joined */
	size_t bytes = (size_t)shape->threads * sizeof(struct mutex_thread);
	struct mutex_thread *threads = aligned_alloc(_Alignof(struct mutex_thread),
						     bytes);
	uint64_t seed = shape->seed;
	struct rusage before, after;
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	bench = (struct mutex_bench){
		.shared = shape->seed, .cs = shape->cs, .ncs = shape->ncs};
	if (subject->init != NULL)
		subject->init(bench.lock);
	for (i = 0; i < shape->threads; i++) {
		seed = lcg_next(seed);
		threads[i] = (struct mutex_thread){.bench = &bench, .own = seed};
	}
	getrusage(RUSAGE_SELF, &before);
	elapsed = crew_run(shape->threads,
			   shape->time_waits ? subject->timed_mutex : subject->mutex,
			   threads, sizeof(*threads), &bench.stop, shape->seconds);
	if (elapsed < 0)
		return false; /* and some threads may still look at their members */
	getrusage(RUSAGE_SELF, &after);
	judge(&bench, threads, shape, elapsed, outcome);
	outcome->cpu_seconds = cpu_seconds(&after) - cpu_seconds(&before);
	outcome->context_switches = switches(&after) - switches(&before);
	outcome->waits = (struct waits){.longest = 0};
	for (i = 0; shape->time_waits && i < shape->threads; i++)
		waits_merge(&outcome->waits, &threads[i].waits);
	if (subject->destroy != NULL)
		subject->destroy(bench.lock);
	free(threads);
	return true;
}
