/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* CPU_COUNT */
#include "cli/common/context.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

int usable_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return CPU_COUNT(&set);
	return (int)sysconf(_SC_NPROCESSORS_ONLN); /* more than 1024 CPUs */
}

/* The model of the first CPU in /proc/cpuinfo; some systems have no such line. */
static json_t *cpu_model(void)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	json_t *model = NULL;
	char line[256];

	while (file != NULL && model == NULL && fgets(line, sizeof(line), file) != NULL) {
		char *value = strstr(line, ": ");

		if (strncmp(line, "model name", strlen("model name")) == 0 &&
		    value != NULL) {
			value[strcspn(value, "\n")] = '\0';
			model = json_string(value + 2);
		}
	}
	if (file != NULL)
		fclose(file);
	return model != NULL ? model : json_string("unknown");
}

static json_t *kernel(const struct utsname *system)
{
	return json_sprintf("%s %s", system->sysname, system->release);
}

static json_t *date(void)
{
	time_t now = time(NULL);
	struct tm utc;
	char text[32];

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	return json_string(text);
}

static json_t *load(void)
{
	double average;

	return getloadavg(&average, 1) == 1 ? json_real(average) : json_null();
}

static json_t *command(int argc, char **argv)
{
	json_t *words = json_array();
	int i;

	json_array_append_new(words, json_string("pawl"));
	for (i = 0; i < argc; i++)
		json_array_append_new(words, json_string(argv[i]));
	return words;
}

json_t *describe_context(int argc, char **argv)
{
	struct utsname system;

	uname(&system);
	return json_pack("{s:s, s:s, s:o, s:i, s:o, s:s, s:o, s:o, s:o}", "pawl",
			 PAWL_VERSION, "machine", system.machine, "cpu", cpu_model(),
			 "cpus", usable_cpus(), "kernel", kernel(&system), "compiler",
			 __VERSION__, "date", date(), "load", load(), "command",
			 command(argc, argv));
}

static const char *text(const json_t *context, const char *key)
{
	return json_string_value(json_object_get(context, key));
}

void print_context(const json_t *context)
{
	fprintf(stderr, "pawl %s on %s, %lld CPUs (%s, %s), load %.2f\n",
		text(context, "pawl"), text(context, "cpu"),
		(long long)json_integer_value(json_object_get(context, "cpus")),
		text(context, "machine"), text(context, "kernel"),
		json_number_value(json_object_get(context, "load")));
}
