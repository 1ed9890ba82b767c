/* SPDX-License-Identifier: MIT */
/*
 * A monitor: a mutex with its condition variables, which is what queues, pools and
 * barriers are made of. The subjects of bench_monitors have both; the workloads
 * over them say nothing of whose they are.
 *
 * Such a workload counts jobs. Its waits last from when a thread wants something of
 * the monitor to when it has that, lock and condition.
 */
#ifndef PAWL_BENCH_MONITOR_H
#define PAWL_BENCH_MONITOR_H

#include "lcg.h"
#include "workload.h"

enum { MONITOR_CONDS = 2 };

struct monitor {
	struct bench_lock lock;
	struct bench_cond conds[MONITOR_CONDS];
	PAWL_SEQUESTER const struct bench_subject *subject;
};

static inline void monitor_enter(struct monitor *m)
{
	m->subject->lock(&m->lock);
}

static inline void monitor_leave(struct monitor *m)
{
	m->subject->unlock(&m->lock);
}

/* Outside while it waits. As ever, it may return for no reason. */
static inline void monitor_wait(struct monitor *m, int cond)
{
	m->subject->cond->wait(&m->conds[cond], &m->lock);
}

/* The same, for so many ns at the most; returns false if they have passed. */
static inline bool monitor_wait_for(struct monitor *m, int cond, uint64_t ns)
{
	return m->subject->cond->wait_for(&m->conds[cond], &m->lock, ns);
}

static inline void monitor_signal(struct monitor *m, int cond)
{
	m->subject->cond->signal(&m->conds[cond]);
}

static inline void monitor_broadcast(struct monitor *m, int cond)
{
	m->subject->cond->broadcast(&m->conds[cond]);
}

/*
 * What the threads of such a workload share; it is the first thing in whatever else
 * they do. Under the lock everybody advances a generator of random numbers, so that
 * a lock that does not exclude is found when that is replayed.
 */
struct monitor_bench {
	struct monitor monitor;
	PAWL_SEQUESTER uint64_t shared; /* under the lock */
	PAWL_SEQUESTER pawl_atomic64 stop;
	uint32_t cs, ncs;
	bool timed;
	int helpers;  /* so many threads, the first ones, do no jobs */
	void *memory; /* the workload's, freed when the run is over */
};

struct monitor_thread {
	PAWL_SEQUESTER struct monitor_bench *bench;
	int number;
	uint64_t own;	   /* private random numbers, or work lest it be optimised away */
	uint64_t sections; /* in which it advanced the shared generator */
	uint64_t jobs, sum;
	bool wrong; /* it saw what must not be */
	struct waits waits;
};

/* Advances the shared generator. Under the lock. */
static inline void monitor_section(struct monitor_thread *me)
{
	me->bench->shared = lcg_walk(me->bench->shared, me->bench->cs);
	me->sections++;
}

/* Does --ncs steps of something else. */
static inline void monitor_work(struct monitor_thread *me)
{
	me->own = lcg_walk(me->own, me->bench->ncs);
}

static inline bool monitor_over(const struct monitor_bench *bench)
{
	/* Relaxed: only says when to end. */
	return pawl_load_relaxed(&bench->stop) != 0;
}

/* The time, if waits are timed; and what has passed since is a wait. */
static inline uint64_t monitor_clock(const struct monitor_thread *me)
{
	return me->bench->timed ? waits_now() : 0;
}

static inline void monitor_waited(struct monitor_thread *me, uint64_t since)
{
	if (me->bench->timed)
		waits_add(&me->waits, waits_now() - since);
}

/* clang-format off */
#define MONITOR_FIGURES "cpu_ns_per_job", "switches_per_job"

/* What their descriptions have in common. */
#define MONITOR_WORKLOAD                                          \
	.source = "pawl", .unit = "ops/s", .run = run,            \
	.subjects = bench_monitors, .outnumbers = true,           \
	.times_waits = true, .figures = {MONITOR_FIGURES}
/* clang-format on */

/*
 * Runs work on a struct monitor_thread for each thread. The workload has cleared
 * *bench, which outlives the threads, and set helpers and memory. In the end
 * `right` says whether the workload's own data are what they should be.
 * Returns false as run() does.
 */
bool monitor_run(struct monitor_bench *bench, const struct bench_subject *subject,
		 const struct bench_shape *shape, crew_work *work,
		 bool (*right)(const struct monitor_bench *bench,
			       const struct monitor_thread *threads, int count),
		 struct bench_outcome *outcome);

#endif /* PAWL_BENCH_MONITOR_H */
