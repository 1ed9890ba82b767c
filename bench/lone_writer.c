/* SPDX-License-Identifier: MIT */
/* Whether a lone writer starves among readers; rwlock.h describes the threads. */
#include "rwlock.h"

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	return rwlock_run(subject, shape, LONE_WRITER, outcome);
}

const struct workload workload_lone_writer = {
	.name = "lone-writer",
	.about = "all threads but one read; how often and how late can that one write",
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
