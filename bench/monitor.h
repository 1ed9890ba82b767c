/* SPDX-License-Identifier: MIT */
/*
 * A monitor: a mutex with its condition variables, the base of queues, pools and
 * barriers. The subjects of bench_monitors have both; the workloads over them do not
 * depend on which library these are from.
 *
 * Such a workload counts jobs. Its waits last from the moment a thread wants something of
 * the monitor until it has the lock and the condition holds.
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

/* Releases the monitor while it waits. May return spuriously. */
static inline void monitor_wait(struct monitor *m, int cond)
{
	m->subject->cond->wait(&m->conds[cond], &m->lock);
}

/* The same for `ns` at most; returns false after a timeout. */
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
 * Shared by the threads of such a workload; the first field of the workload's own
 * structure. Every thread advances a random number generator under the lock, and
 * replaying it shows whether the lock excluded.
 */
struct monitor_bench {
	struct monitor monitor;
	PAWL_SEQUESTER uint64_t shared; /* under the lock */
	PAWL_SEQUESTER pawl_atomic64 stop;
	uint32_t cs, ncs;
	bool timed;
	int helpers;  /* the first threads, which do no jobs */
	void *memory; /* the workload's, freed after the run */
};

struct monitor_thread {
	PAWL_SEQUESTER struct monitor_bench *bench;
	int number;
	uint64_t own;	   /* private random numbers, or the sum of work */
	uint64_t sections; /* sections in which it advanced the shared generator */
	uint64_t jobs, sum;
	bool wrong; /* observed a violation */
	struct waits waits;
};

/* Advances the shared generator. Under the lock. */
static inline void monitor_section(struct monitor_thread *me)
{
	me->bench->shared = lcg_walk(me->bench->shared, me->bench->cs);
	me->sections++;
}

/* Does --ncs steps of work. */
static inline void monitor_work(struct monitor_thread *me)
{
	me->own = lcg_walk(me->own, me->bench->ncs);
}

static inline bool monitor_over(const struct monitor_bench *bench)
{
	/* Relaxed: only ends the loop. */
	return pawl_load_relaxed(&bench->stop) != 0;
}

/* The time, if waits are timed; and adding the time since then as a wait. */
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

/* Common part of their descriptions. */
#define MONITOR_WORKLOAD                                          \
	.source = "pawl", .unit = "ops/s", .run = run,            \
	.subjects = bench_monitors, .outnumbers = true,           \
	.times_waits = true, .figures = {MONITOR_FIGURES}
/* clang-format on */

/*
 * Runs work on a struct monitor_thread for each thread. The workload has cleared *bench,
 * which outlives the threads, and set helpers and memory. At the end `right` checks the
 * workload's own data. Returns false as run() does.
 */
bool monitor_run(struct monitor_bench *bench, const struct bench_subject *subject,
		 const struct bench_shape *shape, crew_work *work,
		 bool (*right)(const struct monitor_bench *bench,
			       const struct monitor_thread *threads, int count),
		 struct bench_outcome *outcome);

#endif /* PAWL_BENCH_MONITOR_H */
