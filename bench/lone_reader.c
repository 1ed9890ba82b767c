/* SPDX-License-Identifier: MIT */
/* Whether a lone reader starves among writers; rwlock.h describes the threads. */
#include "rwlock.h"

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	return rwlock_run(subject, shape, LONE_READER, outcome);
}

const struct workload workload_lone_reader = {
	.name = "lone-reader",
	.about = "all threads but one write; how often and how late can that one read",
	.source = "pawl",
	.unit = "ops/s",
	.run = run,
	.subjects = bench_rwlocks,
	.reference = "pthread-rwlock",
	.least_threads = 2,
	.cs = 1,
	.outnumbers = true,
	.times_waits = true,
	.figures = {LONE_FIGURES},
};
