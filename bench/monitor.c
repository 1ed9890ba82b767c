/* SPDX-License-Identifier: MIT */
#include "monitor.h"

#include <stdlib.h>

/* Initialises a monitor. */
static void begin(struct monitor *monitor, const struct bench_subject *subject)
{
	int i;

	monitor->subject = subject;
	begin_lock(subject, &monitor->lock);
	for (i = 0; i < MONITOR_CONDS; i++) {
		memset(&monitor->conds[i], 0, sizeof(monitor->conds[i]));
		if (subject->cond->init != NULL)
			subject->cond->init(&monitor->conds[i]);
	}
}

static void end(struct monitor *monitor)
{
	int i;

	for (i = 0; i < MONITOR_CONDS; i++)
		if (monitor->subject->cond->destroy != NULL)
			monitor->subject->cond->destroy(&monitor->conds[i]);
	end_lock(monitor->subject, &monitor->lock);
}

/* Sums up, and replays the sections. */
static void judge(const struct monitor_bench *bench, const struct monitor_thread *threads,
		  const struct bench_shape *shape, double elapsed,
		  struct bench_outcome *outcome)
{
	struct tally tally = {0};
	uint64_t sections = 0;
	bool wrong = false;
	int i;

	for (i = 0; i < shape->threads; i++) {
		if (i >= bench->helpers)
			tally_add(&tally, threads[i].jobs);
		sections += threads[i].sections;
		wrong |= threads[i].wrong;
		waits_merge(&outcome->waits, &threads[i].waits);
	}
	tally_report(&tally, elapsed, outcome);
	outcome->exclusive = !wrong &&
			     bench->shared == lcg_jump(shape->seed, sections * bench->cs);
	outcome->figures[0] = 1e9 * outcome->cpu_seconds / (double)tally.total;
	outcome->figures[1] = (double)outcome->context_switches / (double)tally.total;
}

bool monitor_run(struct monitor_bench *bench, const struct bench_subject *subject,
		 const struct bench_shape *shape, crew_work *work,
		 bool (*right)(const struct monitor_bench *bench,
			       const struct monitor_thread *threads, int count),
		 struct bench_outcome *outcome)
{
	struct monitor_thread *threads = workload_members(shape->threads,
							  sizeof(*threads));
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	bench->shared = shape->seed;
	bench->cs = shape->cs;
	bench->ncs = shape->ncs;
	bench->timed = shape->time_waits;
	begin(&bench->monitor, subject);
	for (i = 0; i < shape->threads; i++) {
		threads[i].bench = bench;
		threads[i].number = i;
		threads[i].own = shape->seed + (uint64_t)i;
	}
	elapsed = workload_crew(shape, work, threads, sizeof(*threads), &bench->stop,
				outcome);
	if (elapsed < 0)
		return false; /* threads may still use their members */
	judge(bench, threads, shape, elapsed, outcome);
	outcome->exclusive &= right(bench, threads, shape->threads);
	end(&bench->monitor);
	free(bench->memory);
	free(threads);
	return true;
}
