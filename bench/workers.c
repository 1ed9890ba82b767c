/* SPDX-License-Identifier: MIT */
/*
 * A pool of threads that share a list of jobs. The first thread hands out a burst of
 * short jobs, one by one, and waits until all are done, as a parallel loop does; the
 * others work on them, --ncs steps each. One condition variable is for jobs, the other
 * for the end of a burst. Jobs are signalled after the unlock.
 *
 * Every job is a random number. The jobs handed out must be those done, by number and
 * sum, burst by burst.
 */
#include "monitor.h"

enum { JOBS, DONE }; /* condition variables */
enum { BURST = 32 };

struct workers {
	struct monitor_bench bench;
	/* All under the lock. */
	PAWL_SEQUESTER uint64_t handed, taken, done; /* since the start */
	uint64_t jobs[BURST];
	bool closed;
};

/* These waits end: JOBS is signalled once for every job, and broadcast when there will be
 * no more; DONE is signalled when the last job of a burst is done. */

static void hand_out(struct workers *pool, struct monitor_thread *me)
{
	struct monitor *monitor = &pool->bench.monitor;
	int i;

	for (i = 0; i < BURST; i++) {
		me->own = lcg_next(me->own);
		monitor_enter(monitor);
		pool->jobs[pool->handed++ % BURST] = me->own;
		monitor_section(me);
		monitor_leave(monitor);
		monitor_signal(monitor, JOBS);
		me->sum += me->own;
		me->jobs++;
	}
}

static void await_all(struct workers *pool, struct monitor_thread *me)
{
	struct monitor *monitor = &pool->bench.monitor;
	uint64_t since = monitor_clock(me);

	monitor_enter(monitor);
	while (pool->done < pool->handed && !monitor_over(&pool->bench))
		monitor_wait(monitor, DONE);
	monitor_leave(monitor);
	monitor_waited(me, since);
}

static void lead(struct workers *pool, struct monitor_thread *me)
{
	struct monitor *monitor = &pool->bench.monitor;

	do {
		hand_out(pool, me);
		await_all(pool, me);
	} while (!monitor_over(&pool->bench));
	monitor_enter(monitor);
	pool->closed = true;
	monitor_broadcast(monitor, JOBS);
	monitor_leave(monitor);
}

/* Takes a job when there is one; returns with the monitor held. */
static bool take(struct workers *pool, struct monitor_thread *me)
{
	while (pool->taken >= pool->handed && !pool->closed)
		monitor_wait(&pool->bench.monitor, JOBS);
	if (pool->taken >= pool->handed)
		return false;
	me->sum += pool->jobs[pool->taken++ % BURST];
	monitor_section(me);
	return true;
}

static void follow(struct workers *pool, struct monitor_thread *me)
{
	struct monitor *monitor = &pool->bench.monitor;
	uint64_t since = monitor_clock(me);

	monitor_enter(monitor);
	while (take(pool, me)) {
		monitor_leave(monitor);
		monitor_waited(me, since);
		monitor_work(me);
		me->jobs++;
		since = monitor_clock(me);
		monitor_enter(monitor);
		if (++pool->done == pool->handed)
			monitor_signal(monitor, DONE);
	}
	monitor_leave(monitor);
}

static void work(void *member)
{
	struct monitor_thread *me = member;
	struct workers *pool = (struct workers *)me->bench;

	if (me->number == 0)
		lead(pool, me);
	else
		follow(pool, me);
}

static bool right(const struct monitor_bench *bench, const struct monitor_thread *threads,
		  int count)
{
	const struct workers *pool = (const struct workers *)bench;
	uint64_t jobs = threads[0].jobs, sum = threads[0].sum;
	int i;

	for (i = 1; i < count; i++) {
		jobs -= threads[i].jobs;
		sum -= threads[i].sum;
	}
	return jobs == 0 && sum == 0 && pool->done == threads[0].jobs;
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct workers pool; /* outlives a hung thread */

	pool = (struct workers){.bench.helpers = 1};
	return monitor_run(&pool.bench, subject, shape, work, right, outcome);
}

const struct workload workload_workers = {
	.name = "workers",
	.about =
		"a pool of threads that share a list of short jobs, handed out in bursts",
	.least_threads = 2,
	.ncs = 200,
	.cs = 1,
	MONITOR_WORKLOAD,
};
