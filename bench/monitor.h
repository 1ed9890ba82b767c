/* SPDX-License-Identifier: MIT */
/*
 * A monitor: a mutex with its condition variables, which is what queues, pools and
 * barriers are made of. The subjects of bench_monitors have both; the workloads
 * over them say nothing of whose they are.
 *
 * Such a workload counts jobs. Figures 0 and 1 are monitor_report()'s, the others
 * the workload's.
 */
#ifndef PAWL_BENCH_MONITOR_H
#define PAWL_BENCH_MONITOR_H

#include "workload.h"

enum { MONITOR_CONDS = 2 };

struct monitor {
	struct bench_lock lock;
	struct bench_cond conds[MONITOR_CONDS];
	PAWL_SEQUESTER const struct bench_subject *subject;
};

/* Makes one that nobody has entered; monitor_end() is its opposite. */
void monitor_begin(struct monitor *monitor, const struct bench_subject *subject);
void monitor_end(struct monitor *monitor);

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

/* clang-format off */
#define MONITOR_FIGURES "cpu_ns_per_job", "switches_per_job"
/* clang-format on */

/* tally_report(), and the figures of a job. */
void monitor_report(const struct tally *tally, double elapsed,
		    struct bench_outcome *outcome);

#endif /* PAWL_BENCH_MONITOR_H */
