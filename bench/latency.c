/* SPDX-License-Identifier: MIT */
/*
 * Latency of a hand-over: two threads pass a lock back and forth. The holder waits until
 * the other thread has announced that it is about to lock, and for `cs` steps more, so
 * that the other surely waits; then it reads the clock and unlocks. The other reads the
 * clock as soon as it has the lock. The figure is the median of the differences, which
 * include one clock reading. --cs makes the holder stay longer: beyond the spin budget, a
 * waiter that parks has to be woken.
 *
 * Source: no paper measures this by itself; all of them argue with it (Hemlock paper,
 * section 2; TWA paper, section 2: the cost of the hand-over bounds the throughput of a
 * contended lock).
 *
 * A thread that enters while the other is inside finds `inside` set.
 */
#include "lcg.h"
#include "workload.h"

#include <math.h>
#include <stdlib.h>

enum { KEPT = 1 << 14 }; /* differences kept per thread: the last ones */

struct counter {
	PAWL_SEQUESTER pawl_atomic64 count;
};

struct latency {
	struct bench_lock lock;
	/* Under the lock: */
	PAWL_SEQUESTER uint64_t released; /* time; 0: never */
	uint64_t entered[2];		  /* number of entries of each thread */
	pawl_atomic64 inside;		  /* atomic: a data race would prove nothing */

	struct counter arrivals[2]; /* announced by each thread */
	struct counter entries;	    /* of both threads */
	PAWL_SEQUESTER pawl_atomic64 stop;
	const struct bench_subject *subject;
	uint32_t cs;
};

struct latency_thread {
	PAWL_SEQUESTER struct latency *bench;
	int number;
	bool intruded;
	uint64_t own;
	uint64_t episodes;
	uint64_t waits[KEPT];
};

/* The run was stopped, after at least one hand-over. Stays true: the wait below checks it
 * too, so that no thread waits for one that has left. */
static bool done(struct latency *bench)
{
	/* Relaxed: only end the loops. */
	return pawl_load_relaxed(&bench->stop) != 0 &&
	       pawl_load_relaxed(&bench->entries.count) >= 2;
}

static void await_more(struct latency *bench, const struct counter *counter,
		       uint64_t than)
{
	/* Relaxed: the lock orders. */
	while (pawl_load_relaxed(&counter->count) <= than && !done(bench))
		pawl_arch_pause();
}

static void work(void *member)
{
	struct latency_thread *me = member;
	struct latency *bench = me->bench;
	const struct bench_subject *subject = bench->subject;
	int other = 1 - me->number;
	uint64_t arrivals = 0;

	while (!done(bench)) {
		uint64_t now, entries;

		/* Relaxed, here and below: the lock orders. */
		pawl_store_relaxed(&bench->arrivals[me->number].count, ++arrivals);
		subject->lock(&bench->lock);
		now = waits_now();
		if (bench->released != 0)
			me->waits[me->episodes++ % KEPT] = now - bench->released;
		me->intruded |= pawl_exchange_relaxed(&bench->inside, 1) != 0;
		bench->entered[me->number]++;
		entries = pawl_load_relaxed(&bench->entries.count) + 1;
		pawl_store_relaxed(&bench->entries.count, entries);

		await_more(bench, &bench->arrivals[other], bench->entered[other]);
		me->own = lcg_walk(me->own, bench->cs);
		pawl_store_relaxed(&bench->inside, 0);
		bench->released = waits_now();
		subject->unlock(&bench->lock);

		await_more(bench, &bench->entries, entries);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The median and the 99th percentile of both threads' differences. */
static void judge(const struct latency_thread *threads, struct bench_outcome *outcome)
{
	static uint64_t all[2 * KEPT];
	size_t i, n = 0;

	for (i = 0; i < 2; i++) {
		uint64_t kept = threads[i].episodes < KEPT ? threads[i].episodes : KEPT;

		memcpy(&all[n], threads[i].waits, kept * sizeof(*all));
		n += kept;
	}
	qsort(all, n, sizeof(*all), compare);
	outcome->value = (double)all[n / 2];
	outcome->figures[0] = (double)all[n * 99 / 100];
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct latency bench; /* outlives a hung thread */
	struct latency_thread *threads = workload_members(2, sizeof(*threads));
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	bench = (struct latency){.subject = subject, .cs = shape->cs};
	begin_lock(subject, &bench.lock);
	for (i = 0; i < 2; i++) {
		threads[i].bench = &bench;
		threads[i].number = i;
	}
	elapsed = workload_crew(shape, work, threads, sizeof(*threads), &bench.stop,
				outcome);
	if (elapsed < 0)
		return false;
	judge(threads, outcome);
	outcome->episodes = threads[0].episodes + threads[1].episodes;
	outcome->ops_per_s = (double)outcome->episodes / elapsed;
	outcome->fairness = NAN; /* they alternate */
	outcome->exclusive = !threads[0].intruded && !threads[1].intruded;
	end_lock(subject, &bench.lock);
	free(threads);
	return true;
}

const struct workload workload_latency = {
	.name = "latency",
	.about = "two threads hand a lock to and fro: from unlock to the other's lock",
	.source = "pawl; the argument of Hemlock paper 2 and TWA paper 2",
	.unit = "ns",
	.less_is_better = true,
	.run = run,
	.least_threads = 2,
	.most_threads = 2,
	.cs = 500,
	.figures = {"p99_ns"},
};
