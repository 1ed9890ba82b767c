/* SPDX-License-Identifier: MIT */
/* One run on a read-write lock; rwlock.h describes it. */
#include "rwlock.h"

#include <math.h>
#include <stdlib.h>

/* Share of writes among this thread's episodes, in percent. */
static double writes_of(const struct bench_shape *shape, enum rwlock_lone lone,
			int thread)
{
	if (lone == LONE_NOBODY)
		return shape->writes;
	return (lone == LONE_WRITER) == (thread == 0) ? 100 : 0;
}

/* Draws the number of reads between two writes uniformly from 0 to twice the mean that
 * gives the requested share. */
static void plan_writes(struct rwlock_thread *me, double percent)
{
	if (percent == 0) {
		me->ahead = UINT64_MAX;
		return;
	}
	me->between = (uint32_t)lround(2 * (100 / percent - 1)) + 1;
	me->ahead = lcg_below(me->own, me->between);
}

/* Sums up the threads' counts; returns whether the record agrees. */
static bool add_up(const struct rwlock_bench *bench, const struct rwlock_thread *threads,
		   const struct bench_shape *shape, uint64_t *reads, uint64_t *writes)
{
	bool wrong = bench->begun != bench->ended;
	int i;

	for (i = 0; i < shape->threads; i++) {
		*reads += threads[i].reads;
		*writes += threads[i].writes;
		wrong |= threads[i].wrong;
	}
	return !wrong && bench->ended == lcg_jump(shape->seed, *writes * bench->cs);
}

static void report_all(const struct rwlock_thread *threads, int count, double elapsed,
		       struct bench_outcome *outcome)
{
	struct tally tally = {0};
	int i;

	for (i = 0; i < count; i++) {
		tally_add(&tally, threads[i].reads + threads[i].writes);
		waits_merge(&outcome->waits, &threads[i].waits);
	}
	tally_report(&tally, elapsed, outcome);
}

static void report_lone(const struct rwlock_thread *lone, uint64_t episodes,
			double elapsed, struct bench_outcome *outcome)
{
	uint64_t own = lone->reads + lone->writes;

	outcome->episodes = episodes; /* CPU time is that of all threads */
	outcome->ops_per_s = outcome->value = (double)own / elapsed;
	outcome->fairness = NAN; /* the threads have different roles */
	outcome->waits = lone->waits;
	outcome->figures[0] = (double)lone->waits.longest / 1e6;
	outcome->figures[1] = (double)(episodes - own) / elapsed;
}

bool rwlock_run(const struct bench_subject *subject, const struct bench_shape *shape,
		enum rwlock_lone lone, struct bench_outcome *outcome)
{
	static struct rwlock_bench bench; /* outlives a hung thread */
	struct rwlock_thread *threads = workload_members(shape->threads,
							 sizeof(*threads));
	uint64_t seed = shape->seed, reads = 0, writes = 0;
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	bench = (struct rwlock_bench){.begun = shape->seed,
				      .ended = shape->seed,
				      .cs = shape->cs,
				      .ncs = shape->ncs};
	begin_lock(subject, &bench.lock);
	for (i = 0; i < shape->threads; i++) {
		seed = lcg_next(seed);
		threads[i].bench = &bench;
		threads[i].own = seed;
		threads[i].timed = lone == LONE_NOBODY ? shape->time_waits : i == 0;
		plan_writes(&threads[i], writes_of(shape, lone, i));
	}
	elapsed = workload_crew(shape, subject->loop, threads, sizeof(*threads),
				&bench.stop, outcome);
	if (elapsed < 0)
		return false; /* threads may still use their members */
	outcome->exclusive = add_up(&bench, threads, shape, &reads, &writes);
	if (lone == LONE_NOBODY) {
		report_all(threads, shape->threads, elapsed, outcome);
		outcome->figures[0] = (double)reads / elapsed;
		outcome->figures[1] = (double)writes / elapsed;
	} else {
		report_lone(&threads[0], reads + writes, elapsed, outcome);
	}
	end_lock(subject, &bench.lock);
	free(threads);
	return true;
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	return rwlock_run(subject, shape, LONE_NOBODY, outcome);
}

const struct workload workload_rwlock = {
	.name = "rwlock",
	.about = "one read-write lock, a record under it that is read, seldom written",
	.source = "pawl",
	.unit = "ops/s",
	.run = run,
	.subjects = bench_rwlocks,
	.reference = "pthread-rwlock",
	.cs = 1,
	.writes = 1,
	.outnumbers = true,
	.times_waits = true,
	.figures = {"reads_per_s", "writes_per_s"},
};
