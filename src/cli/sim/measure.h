/* SPDX-License-Identifier: MIT */
/* Measures this machine: some latencies between two CPUs, and locks under MutexBench. */
#ifndef PAWL_CLI_SIM_MEASURE_H
#define PAWL_CLI_SIM_MEASURE_H

#include "latencies.h"

#include <stddef.h>
#include <stdint.h>

enum { MEASURE_THREADS = 2 };
#define MEASURE_SECONDS 0.05 /* per run */

struct measure_setup {
	const char *const *locks;
	size_t count;
	uint32_t cs, ncs;
	size_t runs; /* of each lock, if possible */
	uint64_t seed;
};

/* The result of one lock. */
struct measured {
	size_t runs; /* that count; 0: no result */
	double ns;   /* median per episode */
	double spread;
};

/* Fills in one result for each lock. Returns false if interrupted. */
bool measure_here(const struct measure_setup *setup, struct latencies *latencies,
		  struct measured *measured);

#endif /* PAWL_CLI_SIM_MEASURE_H */
