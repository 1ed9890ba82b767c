/* SPDX-License-Identifier: MIT */
/*
 * Phases: every thread works, --ncs steps, then waits until all have arrived; the last
 * one wakes the others by a broadcast. A job is a thread's part of a phase.
 *
 * No thread may be a phase ahead of another: after the barrier each checks its
 * neighbour's phase.
 */
#include "monitor.h"

#include <stdlib.h>

struct place {
	PAWL_SEQUESTER pawl_atomic64 phase; /* the phase its thread has worked in */
};

struct barrier {
	struct monitor_bench bench;
	/* All under the lock. */
	PAWL_SEQUESTER uint64_t phase;
	int arrived;
	bool over; /* the run ends within this phase */
	/* Constants. */
	PAWL_SEQUESTER struct place *places;
	int threads;
};

/* Returns false if the run has ended. The wait ends: the last arrival broadcasts, and so
 * does the first thread that sees the end of the run. */
static bool arrive(struct barrier *b)
{
	struct monitor *monitor = &b->bench.monitor;
	uint64_t phase = b->phase;

	if (++b->arrived == b->threads) {
		b->arrived = 0;
		b->phase++;
		monitor_broadcast(monitor, 0);
	}
	while (b->phase == phase && !b->over && !monitor_over(&b->bench))
		monitor_wait(monitor, 0);
	if (monitor_over(&b->bench) && !b->over) {
		b->over = true;
		monitor_broadcast(monitor, 0);
	}
	return b->phase != phase;
}

static void work(void *member)
{
	struct monitor_thread *me = member;
	struct barrier *b = (struct barrier *)me->bench;
	struct monitor *monitor = &b->bench.monitor;
	const struct place *neighbour = &b->places[(me->number + 1) % b->threads];
	uint64_t phase = 0;
	bool on;

	do {
		uint64_t since;

		monitor_work(me);
		/* Relaxed, here and below: the lock does the ordering. */
		pawl_store_relaxed(&b->places[me->number].phase, ++phase);
		since = monitor_clock(me);
		monitor_enter(monitor);
		monitor_section(me);
		on = arrive(b);
		on &= !b->over;
		monitor_leave(monitor);
		monitor_waited(me, since);
		/* Relaxed. */
		me->wrong |= on && pawl_load_relaxed(&neighbour->phase) < phase;
		me->jobs++;
	} while (on);
}

/* The run ends within a phase, at which not all threads need have arrived. */
static bool right(const struct monitor_bench *bench, const struct monitor_thread *threads,
		  int count)
{
	const struct barrier *b = (const struct barrier *)bench;
	int i;

	for (i = 0; i < count; i++)
		if (threads[i].jobs != b->phase && threads[i].jobs != b->phase + 1)
			return false;
	return true;
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct barrier barrier; /* outlives a hung thread */

	barrier = (struct barrier){
		.places = workload_members(shape->threads, sizeof(*barrier.places)),
		.threads = shape->threads};
	if (barrier.places == NULL)
		return false;
	barrier.bench.memory = barrier.places;
	return monitor_run(&barrier.bench, subject, shape, work, right, outcome);
}

const struct workload workload_barrier = {
	.name = "barrier",
	.about = "phases: everybody waits for everybody, and is woken by a broadcast",
	.least_threads = 2,
	.ncs = 1000,
	.cs = 1,
	MONITOR_WORKLOAD,
};
