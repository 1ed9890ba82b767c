/* SPDX-License-Identifier: MIT */
#include "cli/bench/noise.h"

#include "cli/common/output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first line of /proc/stat: user nice system idle iowait irq softirq steal. */
struct cpu_ticks cpu_ticks_now(void)
{
	enum { FIELDS = 8, STEAL = 7 };
	FILE *file = fopen("/proc/stat", "r");
	struct cpu_ticks ticks = {0};
	char line[256] = "";
	char *rest = line;
	int i;

	if (file != NULL) {
		if (fgets(line, sizeof(line), file) == NULL)
			line[0] = '\0';
		fclose(file);
	}
	if (strncmp(line, "cpu ", 4) != 0)
		return ticks;
	rest += 4;
	for (i = 0; i < FIELDS; i++) {
		uint64_t field = strtoull(rest, &rest, 10);

		ticks.all += field;
		if (i == STEAL)
			ticks.stolen = field;
	}
	return ticks;
}

void cpu_ticks_add(struct cpu_ticks *sum, struct cpu_ticks from, struct cpu_ticks to)
{
	sum->all += to.all - from.all;
	sum->stolen += to.stolen - from.stolen;
}

double steal_percent(struct cpu_ticks ticks)
{
	return ticks.all == 0 ? 0 : 100 * (double)ticks.stolen / (double)ticks.all;
}

static double load(void)
{
	double average;

	return getloadavg(&average, 1) == 1 ? average : NAN;
}

static void read_governor(char *governor, int size)
{
	FILE *file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "r");

	governor[0] = '\0';
	if (file == NULL)
		return;
	if (fgets(governor, size, file) == NULL)
		governor[0] = '\0';
	governor[strcspn(governor, "\n")] = '\0';
	fclose(file);
}

void noise_begin(struct noise *noise)
{
	noise->load_before = load();
	noise->load_after = NAN;
	noise->ticks = cpu_ticks_now();
	read_governor(noise->governor, sizeof(noise->governor));
}

void noise_end(struct noise *noise)
{
	struct cpu_ticks passed = {0};

	cpu_ticks_add(&passed, noise->ticks, cpu_ticks_now());
	noise->ticks = passed;
	noise->load_after = load();
}

json_t *describe_noise(const struct noise *noise)
{
	return json_pack(
		"{s:o, s:o, s:f, s:o}", "load_before", number_or_null(noise->load_before),
		"load_after", number_or_null(noise->load_after), "steal_percent",
		steal_percent(noise->ticks), "governor",
		noise->governor[0] == '\0' ? json_null() : json_string(noise->governor));
}

const char *noise_remedy(const struct noise *noise, int cpus)
{
	if (noise->load_before > 0.5 * cpus)
		return "stop other programs (the load average was above half the CPUs at "
		       "the start)";
	if (steal_percent(noise->ticks) > 1)
		return "use a machine without other virtual machines (they stole more "
		       "than 1 % of the time)";
	if (noise->governor[0] != '\0' && strcmp(noise->governor, "performance") != 0)
		return "raise --runs or --seconds, or fix the CPU frequency (cpupower "
		       "frequency-set -g performance)";
	return "raise --runs or --seconds";
}
