/* SPDX-License-Identifier: MIT */
/*
 * What a workload is given and what it gives back. Each workload is one file
 * with a function of type workload_run, and a header with the loop its threads
 * run; subject.h makes that loop for each lock, with the lock inlined.
 */
#ifndef PAWL_BENCH_WORKLOAD_H
#define PAWL_BENCH_WORKLOAD_H

#include "waits.h"

#include <stdbool.h>
#include <stdint.h>

struct bench_subject;

struct bench_shape {
	int threads;
	uint32_t cs;  /* steps in the critical section; 1 or more */
	uint32_t ncs; /* steps outside are random in [0, ncs); 0: none */
	double seconds;
	uint64_t seed;
	bool time_waits; /* which costs two looks at the clock an episode */
};

struct bench_outcome {
	double ops_per_s;
	double fairness; /* of the least to the most progressed thread */
	bool exclusive;	 /* no step was lost: the lock did exclude */
	uint64_t episodes;
	double cpu_seconds;
	long context_switches;
	struct waits waits; /* if they were timed */
};

/* Returns false, with errno set, if the threads or memory could not be had. */
typedef bool workload_run(const struct bench_subject *subject,
			  const struct bench_shape *shape, struct bench_outcome *outcome);

workload_run mutex_run;

#endif /* PAWL_BENCH_WORKLOAD_H */
