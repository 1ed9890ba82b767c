/* SPDX-License-Identifier: MIT */
/* Figures: their member of a result, title and unit. */
#include "cli/report/report.h"

#include "cli/report/plot.h"

#include "cli/common/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In order: the costs of a program, the counts of a simulation, bench's figures of every
 * workload, and the workloads' own (`figures`). */
static const struct report_figure known[] = {
	{.key = "wall_s", .title = "Wall time", .unit = "s", .less_is_better = true},
	{.key = "cpu_s", .title = "CPU time", .unit = "s", .less_is_better = true},
	{.key = "context_switches",
	 .title = "Context switches",
	 .less_is_better = true,
	 .least = 20},
	{.key = "max_rss",
	 .title = "Peak memory",
	 .unit = "bytes",
	 .less_is_better = true},
	{"per_episode", "misses", "Misses", "an episode", true, false, 0},
	{"per_episode", "invalidations", "Invalidations", "an episode", true, false, 0},
	{"per_episode", "remote_misses", "Remote misses", "an episode", true, false, 0},
	{"per_episode", "rmw", "Atomic operations", "an episode", true, false, 0},
	{.key = "fairness", .title = "Fairness", .least = 0.05},
	{"wait_ns", "p50", "Wait, median", "ns", true, false, 0},
	{"wait_ns", "p99", "Wait, 99 %", "ns", true, false, 0},
	{"wait_ns", "p999", "Wait, 99.9 %", "ns", true, false, 0},
	{"wait_ns", "max", "Wait, longest", "ns", true, false, 0},
	{.key = "cpu_ns_per_op",
	 .title = "CPU time per operation",
	 .unit = "ns",
	 .less_is_better = true,
	 .least = 1},
	{.key = "context_switches_per_s",
	 .title = "Context switches",
	 .unit = "a second",
	 .less_is_better = true,
	 .least = 1000},
	{"figures", "failures_per_op", "Failed tries", "an operation", true, false, 0.01},
	{"figures", "others_per_s", "The others' episodes", "a second", false, false, 0},
	{"figures", "reads_per_s", "Reads", "a second", false, false, 0},
	{"figures", "writes_per_s", "Writes", "a second", false, false, 0},
	{"figures", "hit_percent", "Hits", "%", false, false, 1},
	{"figures", "p99_ns", "Hand-over, 99 %", "ns", true, false, 0},
	{"figures", "bytes_while_held", "A held lock", "bytes", true, false, 0},
	{"figures", "bytes_per_thread", "A thread", "bytes", true, false, 0},
	{"figures", "shards", "Copies", NULL, false, true, 1},
	{"figures", "overflow_percent", "Refused by the first copy", "%", true, false, 1},
	{"figures", "cpu_ns", "CPU time per episode", "ns", true, false, 1},
	{"figures", "cpu_ns_with_work", "CPU time per episode, with work between", "ns",
	 true, false, 1},
	{"figures", "longest_wait_ms", "Longest wait of the lone thread", "ms", true,
	 false, 0.1},
	{"figures", "peak_mib", "Peak memory", "MiB", true, false, 1},
	{"figures", "wall_s", "Wall time", "s", true, false, 0},
	{"figures", "cpu_ns_per_op", "CPU time per operation of the program", "ns", true,
	 false, 1},
	{"figures", "switches_per_op", "Context switches", "an operation", true, false,
	 0.01},
	{"figures", "cpu_ns_per_job", "CPU time per job", "ns", true, false, 1},
	{"figures", "switches_per_job", "Context switches", "a job", true, false, 0.01},
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static bool is_same(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

struct report_figure figure_named(const char *group, const char *key)
{
	size_t i;

	for (i = 0; i < KNOWN; i++)
		if (is_same(known[i].group, group) && strcmp(known[i].key, key) == 0)
			return known[i];
	return (struct report_figure){
		.group = group, .key = key, .title = key, .is_neither = true};
}

/* Reads a number. Larger magnitudes cannot be drawn and are refused; smaller ones are
 * 0. */
static bool read_number(const json_t *json, double *number)
{
	const double most = 1e100;
	double value = json_number_value(json);

	if (!json_is_number(json) || fabs(value) > most)
		return false;
	*number = fabs(value) < 1 / most ? 0 : value;
	return true;
}

/* Reads an array of numbers; false if an item is not a number. */
static bool find_samples(const json_t *array, struct interval *value)
{
	size_t i, n = json_array_size(array);
	double *samples = report_allocate(n, sizeof(*samples));
	bool good = n > 0;

	for (i = 0; i < n && good; i++)
		good = read_number(json_array_get(array, i), &samples[i]);
	if (good)
		*value = median_interval(samples, n);
	free(samples);
	return good;
}

const char *trouble_of(const struct report_result *result)
{
	return json_string_value(json_object_get(result->json, "trouble"));
}

/* The samples of a figure that is a median in the file, if they are there. */
static const json_t *spread_of(const struct report_result *result,
			       const struct report_figure *figure)
{
	const json_t *spreads = json_object_get(result->json, "spreads");

	if (figure->group != NULL)
		spreads = strcmp(figure->group, "figures") == 0
				  ? json_object_get(spreads, "figures")
				  : NULL;
	return json_object_get(spreads, figure->key);
}

bool find_figure(const struct report_result *result, const struct report_figure *figure,
		 struct interval *value)
{
	const json_t *at = result->json;

	if (trouble_of(result) != NULL)
		return false; /* not ranked, even if there are samples */
	if (figure->key == NULL)
		return find_samples(json_object_get(at, "samples"), value);
	if (figure->group != NULL)
		at = json_object_get(at, figure->group);
	at = json_object_get(at, figure->key);
	if (json_is_object(at))
		return find_samples(json_object_get(at, "samples"), value);
	if (!read_number(at, &value->median))
		return false;
	if (find_samples(json_object_get(spread_of(result, figure), "samples"), value))
		return true;
	value->low = value->high = value->median;
	/* Simulations have no noise. */
	value->confidence = json_object_get(result->json, "machine") != NULL;
	return true;
}

struct report_figure main_figure(const struct report_panel *panel)
{
	const json_t *first = panel->results[0].json;
	const char *unit = json_string_value(json_object_get(first, "unit"));
	const char *better = json_string_value(json_object_get(first, "better"));
	bool less = better != NULL && strcmp(better, "less") == 0;

	if (strcmp(panel->file->tool, "try") != 0)
		return (struct report_figure){
			.title = unit == NULL || strcmp(unit, "ops/s") == 0 ? "Throughput"
				 : strcmp(unit, "ns") == 0		    ? "Time"
				 : strcmp(unit, "bytes") == 0		    ? "Memory"
									    : "Result",
			.unit = unit != NULL ? unit : "ops/s",
			.less_is_better = less,
		};
	if (better != NULL)
		return (struct report_figure){
			.key = "metric", .title = "Metric", .less_is_better = less};
	return figure_named(NULL, "wall_s");
}

static bool has_figure(const struct report_panel *panel,
		       const struct report_figure *figure)
{
	struct interval value;
	size_t i;

	for (i = 0; i < panel->count; i++)
		if (find_figure(&panel->results[i], figure, &value))
			return true;
	return false;
}

size_t own_figures(const struct report_panel *panel, struct report_figure *figures)
{
	const char *key;
	json_t *value;
	size_t n = 0;

	json_object_foreach(json_object_get(panel->results[0].json, "figures"), key,
			    value)
	{
		if (n == REPORT_FIGURES)
			break;
		figures[n] = figure_named("figures", key);
		n += has_figure(panel, &figures[n]);
	}
	return n;
}

size_t more_figures(const struct report_panel *panel, struct report_figure *figures)
{
	struct report_figure first = main_figure(panel), own[REPORT_FIGURES];
	size_t i, n = 0, owns = own_figures(panel, own);

	for (i = 0; i < KNOWN && n < REPORT_FIGURES; i++)
		if (!is_same(known[i].group, "figures") &&
		    !(first.key != NULL && strcmp(first.key, known[i].key) == 0) &&
		    has_figure(panel, &known[i]))
			figures[n++] = known[i];
	for (i = 0; i < owns && n < REPORT_FIGURES; i++)
		figures[n++] = own[i];
	return n;
}

/* Units that scale: "ns", "ms" and "s". */
static bool format_time(double value, const char *unit, char text[VALUE_BYTES])
{
	static const struct {
		double seconds;
		const char *name;
	} units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "\302\265s"}, {1e-9, "ns"}};
	double seconds = strcmp(unit, "ns") == 0   ? 1e-9 * value
			 : strcmp(unit, "ms") == 0 ? 1e-3 * value
			 : strcmp(unit, "s") == 0  ? value
						   : NAN;
	size_t i = 0;

	if (isnan(seconds))
		return false;
	while (i < 3 && fabs(seconds) < units[i].seconds * 0.99999)
		i++;
	if (seconds == 0)
		i = 3;
	if (fabs(seconds) >= 1000)
		snprintf(text, VALUE_BYTES, "%.4g s", seconds);
	else
		snprintf(text, VALUE_BYTES, "%.3g %s", seconds / units[i].seconds,
			 units[i].name);
	return true;
}

void format_value(double value, const char *unit, char text[VALUE_BYTES])
{
	char number[NUMBER_BYTES];

	if (unit != NULL && format_time(value, unit, text))
		return;
	format_number(value, number);
	snprintf(text, VALUE_BYTES, "%s%s%.*s", number, unit != NULL ? " " : "",
		 unit != NULL ? (int)whole_letters(unit, 30) : 0,
		 unit != NULL ? unit : "");
}

void format_interval(struct interval value, const char *unit, char text[VALUE_BYTES])
{
	char middle[VALUE_BYTES], low[VALUE_BYTES], high[VALUE_BYTES];

	format_value(value.median, unit, middle);
	if (!(value.low < value.high)) {
		snprintf(text, VALUE_BYTES, "%s", middle);
		return;
	}
	format_value(value.low, NULL, low);
	format_value(value.high, NULL, high);
	if (unit != NULL && format_time(value.low, unit, low))
		format_time(value.high, unit, high);
	snprintf(text, VALUE_BYTES, "%.40s (%.20s to %.20s)", middle, low, high);
}

struct interval times_better(struct interval value, struct interval other,
			     const struct report_figure *figure)
{
	return figure->less_is_better ? interval_ratio(other, value)
				      : interval_ratio(value, other);
}
