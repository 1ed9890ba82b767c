/* SPDX-License-Identifier: MIT */
/*
 * A bounded queue: producers put jobs in while there is space, the other threads take
 * them out and work on them, --ncs steps each. One condition variable is for jobs,
 * another for space; each put and each take signals, then unlocks. At the end the
 * producers close the queue, and the others empty it.
 *
 * Every job is a random number. The jobs put in must be those taken out, by number and
 * sum.
 */
#include "monitor.h"

#include <stdlib.h>

enum { JOBS, ROOM }; /* condition variables */

struct queue {
	struct monitor_bench bench;
	/* All under the lock; put and taken only grow. */
	PAWL_SEQUESTER uint64_t put, taken;
	uint64_t *jobs;
	/* Atomic, so that this count of producers that have left stays right with a lock
	 * that does not exclude. */
	pawl_atomic64 left;
	uint32_t capacity;
};

/* Signed: a lock that does not exclude may let threads take more than was put. */
static int64_t waiting(const struct queue *q)
{
	return (int64_t)(q->put - q->taken);
}

/* Whether all producers have left. */
static bool closed(const struct queue *q)
{
	/* Relaxed, here and below: the lock orders. */
	return pawl_load_relaxed(&q->left) == (uint64_t)q->bench.helpers;
}

/* These waits end: each take and each put signals, and producers that leave close the
 * queue. */
static void put(struct queue *q, struct monitor_thread *me, uint64_t job)
{
	while (waiting(q) >= (int64_t)q->capacity)
		monitor_wait(&q->bench.monitor, ROOM);
	q->jobs[q->put++ % q->capacity] = job;
	monitor_section(me);
	monitor_signal(&q->bench.monitor, JOBS);
}

static bool take(struct queue *q, struct monitor_thread *me, uint64_t *job)
{
	while (waiting(q) <= 0 && !closed(q))
		monitor_wait(&q->bench.monitor, JOBS);
	if (waiting(q) <= 0)
		return false;
	*job = q->jobs[q->taken++ % q->capacity];
	monitor_section(me);
	monitor_signal(&q->bench.monitor, ROOM);
	return true;
}

static void produce(struct queue *q, struct monitor_thread *me)
{
	struct monitor *monitor = &q->bench.monitor;

	do {
		uint64_t since = monitor_clock(me);

		me->own = lcg_next(me->own);
		monitor_enter(monitor);
		put(q, me, me->own);
		monitor_leave(monitor);
		monitor_waited(me, since);
		me->sum += me->own;
		me->jobs++;
	} while (!monitor_over(&q->bench));
	monitor_enter(monitor);
	pawl_fetch_add_relaxed(&q->left, 1); /* Relaxed. */
	monitor_broadcast(monitor, JOBS);
	monitor_leave(monitor);
}

static void consume(struct queue *q, struct monitor_thread *me)
{
	struct monitor *monitor = &q->bench.monitor;
	bool more;

	do {
		uint64_t since = monitor_clock(me), job = 0;

		monitor_enter(monitor);
		more = take(q, me, &job);
		monitor_leave(monitor);
		if (more) {
			monitor_waited(me, since);
			monitor_work(me);
			me->sum += job;
			me->jobs++;
		}
	} while (more);
}

static void work(void *member)
{
	struct monitor_thread *me = member;
	struct queue *q = (struct queue *)me->bench;

	if (me->number < q->bench.helpers)
		produce(q, me);
	else
		consume(q, me);
}

static bool right(const struct monitor_bench *bench, const struct monitor_thread *threads,
		  int count)
{
	uint64_t jobs = 0, sum = 0;
	int i;

	for (i = 0; i < count; i++) {
		bool produced = i < bench->helpers;

		jobs += produced ? threads[i].jobs : -threads[i].jobs;
		sum += produced ? threads[i].sum : -threads[i].sum;
	}
	return jobs == 0 && sum == 0;
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct queue queue; /* outlives a hung thread */

	queue = (struct queue){.bench.helpers = (int)shape->producers,
			       .capacity = shape->capacity,
			       .jobs = calloc(shape->capacity, sizeof(*queue.jobs))};
	if (queue.jobs == NULL)
		return false;
	queue.bench.memory = queue.jobs;
	return monitor_run(&queue.bench, subject, shape, work, right, outcome);
}

const struct workload workload_queue = {
	.name = "queue",
	.about = "a bounded queue: --producers put jobs in, the others do them",
	.least_threads = 2,
	.ncs = 200,
	.producers = 1,
	.capacity = 64,
	.cs = 1,
	MONITOR_WORKLOAD,
};
