/* SPDX-License-Identifier: MIT */
/* What else goes on in the machine while something is measured. */
#ifndef PAWL_CLI_NOISE_H
#define PAWL_CLI_NOISE_H

#include <jansson.h>
#include <stdint.h>

/* CPU time of the whole machine since it was started, in ticks. */
struct cpu_ticks {
	uint64_t all;
	uint64_t stolen; /* wanted, but given to other virtual machines */
};

/* All zero where the system does not say. */
struct cpu_ticks cpu_ticks_now(void);

/* What happened from `from` to `to`, added to *sum. */
void cpu_ticks_add(struct cpu_ticks *sum, struct cpu_ticks from, struct cpu_ticks to);

/* In percent of what there was; 0 if nothing is known. */
double steal_percent(struct cpu_ticks ticks);

struct noise {
	double load_before, load_after; /* averages of a minute; NAN: not known */
	struct cpu_ticks ticks;		/* at the start; after noise_end(): since then */
	char governor[32];		/* of CPU frequency; "": there is none */
};

void noise_begin(struct noise *noise);
void noise_end(struct noise *noise);

/* As the value of "noise" in a context. */
json_t *describe_noise(const struct noise *noise);

/* What would most likely make measurements steadier, in words. */
const char *noise_remedy(const struct noise *noise, int cpus);

#endif /* PAWL_CLI_NOISE_H */
