/* SPDX-License-Identifier: MIT */
/*
 * A bounded queue: producers put jobs in while there is room, the other threads
 * take them out and work on them, --ncs steps each. One condition variable says
 * that there are jobs, another one that there is room; each put and each take
 * signals, then unlocks. In the end the producers close the queue, and the others
 * empty it.
 *
 * Every job is a random number. What was put in must be what came out, by number
 * and sum; and a generator that each put and take advances --cs steps must have
 * come as far as that makes.
 */
#include "lcg.h"
#include "monitor.h"

#include <stdlib.h>

enum { JOBS, ROOM }; /* the conditions */

struct queue {
	struct monitor monitor;
	/* All under the lock; the numbers only grow. */
	PAWL_SEQUESTER uint64_t put, taken;
	uint64_t shared;
	uint32_t producing; /* threads that may still put something in */
	uint64_t *jobs;
	/* Constants. */
	PAWL_SEQUESTER pawl_atomic64 stop;
	uint32_t capacity, cs, ncs;
	bool timed;
};

struct queue_thread {
	PAWL_SEQUESTER struct queue *queue;
	uint64_t own; /* the jobs' generator; or the work, lest it be optimised away */
	uint64_t jobs, sum;
	bool produces;
	struct waits waits; /* until there was room or a job */
};

/* Signed, for a lock that does not exclude may let more be taken than was put. */
static int64_t waiting(const struct queue *q)
{
	return (int64_t)(q->put - q->taken);
}

/* These waits end: whoever makes room, or puts a job in, signals; and producers
 * that leave close the queue. */
static void put(struct queue *q, uint64_t job)
{
	while (waiting(q) >= (int64_t)q->capacity)
		monitor_wait(&q->monitor, ROOM);
	q->jobs[q->put++ % q->capacity] = job;
	q->shared = lcg_walk(q->shared, q->cs);
	monitor_signal(&q->monitor, JOBS);
}

static bool take(struct queue *q, uint64_t *job)
{
	while (waiting(q) <= 0 && q->producing > 0)
		monitor_wait(&q->monitor, JOBS);
	if (waiting(q) <= 0)
		return false;
	*job = q->jobs[q->taken++ % q->capacity];
	q->shared = lcg_walk(q->shared, q->cs);
	monitor_signal(&q->monitor, ROOM);
	return true;
}

static void produce(struct queue_thread *me)
{
	struct queue *q = me->queue;

	do {
		uint64_t before = q->timed ? waits_now() : 0;

		me->own = lcg_next(me->own);
		monitor_enter(&q->monitor);
		put(q, me->own);
		monitor_leave(&q->monitor);
		if (q->timed)
			waits_add(&me->waits, waits_now() - before);
		me->sum += me->own;
		me->jobs++;
		/* Relaxed: only says when to end. */
	} while (pawl_load_relaxed(&q->stop) == 0);
	monitor_enter(&q->monitor);
	if (--q->producing == 0)
		monitor_broadcast(&q->monitor, JOBS);
	monitor_leave(&q->monitor);
}

static void consume(struct queue_thread *me)
{
	struct queue *q = me->queue;
	bool more;

	do {
		uint64_t before = q->timed ? waits_now() : 0, job = 0;

		monitor_enter(&q->monitor);
		more = take(q, &job);
		monitor_leave(&q->monitor);
		if (more) {
			if (q->timed)
				waits_add(&me->waits, waits_now() - before);
			me->own ^= lcg_walk(job, q->ncs);
			me->sum += job;
			me->jobs++;
		}
	} while (more);
}

static void work(void *member)
{
	struct queue_thread *me = member;

	if (me->produces)
		produce(me);
	else
		consume(me);
}

static void judge(const struct queue *q, const struct queue_thread *threads, int count,
		  double elapsed, uint64_t seed, struct bench_outcome *outcome)
{
	struct queue_thread in = {.jobs = 0}, out = {.jobs = 0};
	struct tally tally = {0};
	int i;

	for (i = 0; i < count; i++) {
		struct queue_thread *side = threads[i].produces ? &in : &out;

		side->jobs += threads[i].jobs;
		side->sum += threads[i].sum;
		waits_merge(&outcome->waits, &threads[i].waits);
		if (!threads[i].produces)
			tally_add(&tally, threads[i].jobs);
	}
	monitor_report(&tally, elapsed, outcome);
	outcome->exclusive = in.jobs == out.jobs && in.sum == out.sum &&
			     q->shared == lcg_jump(seed, 2 * in.jobs * q->cs);
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct queue queue; /* outlives threads that cannot be joined */
	struct queue_thread *threads = workload_members(shape->threads, sizeof(*threads));
	double elapsed;
	int i;

	queue = (struct queue){.shared = shape->seed,
			       .producing = shape->producers,
			       .capacity = shape->capacity,
			       .cs = shape->cs,
			       .ncs = shape->ncs,
			       .timed = shape->time_waits};
	queue.jobs = calloc(queue.capacity, sizeof(*queue.jobs));
	if (threads == NULL || queue.jobs == NULL)
		return false;
	monitor_begin(&queue.monitor, subject);
	for (i = 0; i < shape->threads; i++) {
		threads[i].queue = &queue;
		threads[i].own = shape->seed + (uint64_t)i;
		threads[i].produces = (uint32_t)i < shape->producers;
	}
	elapsed = workload_crew(shape, work, threads, sizeof(*threads), &queue.stop,
				outcome);
	if (elapsed < 0)
		return false;
	judge(&queue, threads, shape->threads, elapsed, shape->seed, outcome);
	monitor_end(&queue.monitor);
	free(queue.jobs);
	free(threads);
	return true;
}

const struct workload workload_queue = {
	.name = "queue",
	.about = "a bounded queue: --producers put jobs in, the others do them",
	.source = "pawl",
	.unit = "ops/s",
	.run = run,
	.subjects = bench_monitors,
	.least_threads = 2,
	.cs = 1,
	.ncs = 200,
	.producers = 1,
	.capacity = 64,
	.times_waits = true,
	.outnumbers = true,
	.figures = {MONITOR_FIGURES},
};
