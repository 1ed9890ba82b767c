/* SPDX-License-Identifier: MIT */
/* Disturbances of the machine during a measurement. */
#ifndef PAWL_CLI_NOISE_H
#define PAWL_CLI_NOISE_H

#include <jansson.h>
#include <stdint.h>

/* CPU time of the whole machine since boot, in ticks. */
struct cpu_ticks {
	uint64_t all;
	uint64_t stolen; /* steal: used by other virtual machines */
};

/* All zero if unknown. */
struct cpu_ticks cpu_ticks_now(void);

/* Adds the difference between two readings to *sum. */
void cpu_ticks_add(struct cpu_ticks *sum, struct cpu_ticks from, struct cpu_ticks to);

/* Stolen time in percent of all; 0 if unknown. */
double steal_percent(struct cpu_ticks ticks);

struct noise {
	double load_before, load_after; /* one-minute averages; NAN: unknown */
	struct cpu_ticks ticks; /* at the start; after noise_end(): the difference */
	char governor[32];	/* of CPU frequency; "": none */
};

void noise_begin(struct noise *noise);
void noise_end(struct noise *noise);

/* As the value of "noise" in a context. */
json_t *describe_noise(const struct noise *noise);

/* A hint how to reduce the noise. */
const char *noise_remedy(const struct noise *noise, int cpus);

#endif /* PAWL_CLI_NOISE_H */
