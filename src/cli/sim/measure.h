/* SPDX-License-Identifier: MIT */
/* This machine, as it is: a few latencies of two CPUs, and locks under MutexBench. */
#ifndef PAWL_CLI_SIM_MEASURE_H
#define PAWL_CLI_SIM_MEASURE_H

#include "latencies.h"

#include <stddef.h>
#include <stdint.h>

enum { MEASURE_THREADS = 2 };
#define MEASURE_SECONDS 0.05 /* of a run */

struct measure_setup {
	const char *const *locks;
	size_t count;
	uint32_t cs, ncs;
	size_t runs; /* of each, as far as they can be had */
	uint64_t seed;
};

/* Of one lock. */
struct measured {
	size_t runs; /* that count; without any, there is nothing else */
	double ns;   /* an episode, the median */
	double spread;
};

/* Fills in one for each lock. Returns false if interrupted. */
bool measure_here(const struct measure_setup *setup, struct latencies *latencies,
		  struct measured *measured);

#endif /* PAWL_CLI_SIM_MEASURE_H */
