/* SPDX-License-Identifier: MIT */
#include "monitor.h"

void monitor_begin(struct monitor *monitor, const struct bench_subject *subject)
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

void monitor_end(struct monitor *monitor)
{
	int i;

	for (i = 0; i < MONITOR_CONDS; i++)
		if (monitor->subject->cond->destroy != NULL)
			monitor->subject->cond->destroy(&monitor->conds[i]);
	end_lock(monitor->subject, &monitor->lock);
}

void monitor_report(const struct tally *tally, double elapsed,
		    struct bench_outcome *outcome)
{
	double jobs = (double)tally->total;

	tally_report(tally, elapsed, outcome);
	outcome->figures[0] = 1e9 * outcome->cpu_seconds / jobs;
	outcome->figures[1] = (double)outcome->context_switches / jobs;
}
