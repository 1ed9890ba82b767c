/* SPDX-License-Identifier: MIT */
/* What pawl bench measured, between the part that runs and the part that reports. */
#ifndef PAWL_CLI_BENCH_H
#define PAWL_CLI_BENCH_H

#include "subject.h"
#include "workload.h"

#include <jansson.h>
#include <stddef.h>

/* One lock at one number of threads. */
struct bench_cell {
	const struct bench_subject *subject;
	int threads;
	size_t runs; /* how many of the arrays below are filled */
	double *ops_per_s, *fairness;
	double *cpu_ns;	  /* CPU time an operation */
	double *switches; /* context switches a second */
	bool timed;	  /* waits was filled by a run of its own */
	struct waits waits;
};

struct bench_results {
	const char *workload;
	struct bench_shape shape; /* but for the threads, which vary */
	size_t count;
	struct bench_cell *cells; /* those of equal threads stand together */
};

/* Prints a ranked table for each number of threads, warns of what cannot be
 * trusted, and ends with a sentence for each. */
void report_bench(const struct bench_results *results);

/* The results as the value of "results". */
json_t *describe_bench(const struct bench_results *results);

#endif /* PAWL_CLI_BENCH_H */
