/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* asprintf */
#include "cli/report/report.h"

#include "cli/common/options.h"
#include "registry/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *text_at(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void *grow(void *array, size_t count, size_t size)
{
	void *grown = reallocarray(array, count + 1, size);

	if (grown == NULL)
		give_up("out of memory");
	memset((char *)grown + count * size, 0, size);
	return grown;
}

/* Files. */

static void load(struct report_file *file)
{
	static const char *const tools[] = {"bench", "sim", "try", "profile", NULL};
	const char *tool;
	json_error_t error;
	size_t i;

	file->root = json_load_file(file->path, 0, &error);
	if (file->root == NULL && error.line < 0)
		refuse("%s; name files that 'pawl bench --json', 'pawl sim --json', "
		       "'pawl try --json' or 'pawl profile --json' wrote",
		       error.text);
	if (file->root == NULL)
		refuse("'%s' is not JSON: line %d: %s", file->path, error.line,
		       error.text);
	if (json_integer_value(json_object_get(file->root, "schema")) != 1)
		refuse("'%s' has no \"schema\": 1; name a file that this version of pawl "
		       "wrote",
		       file->path);
	tool = text_at(file->root, "tool");
	for (i = 0; tools[i] != NULL && (tool == NULL || strcmp(tools[i], tool) != 0);
	     i++)
		;
	if (tools[i] == NULL)
		refuse("'%s' is not from 'pawl bench', 'pawl sim', 'pawl try' or 'pawl "
		       "profile': there is nothing in it to show",
		       file->path);
	file->tool = tools[i];
	if (strcmp(file->tool, "profile") != 0 &&
	    json_array_size(json_object_get(file->root, "results")) == 0)
		refuse("'%s' has no results", file->path);
}

/* Figures. */

/* Reads a number. Beyond this, nothing was ever measured, and no axis can be
 * drawn; and what is as small is 0. */
static bool read_number(const json_t *json, double *number)
{
	const double most = 1e100;
	double value = json_number_value(json);

	if (!json_is_number(json) || fabs(value) > most)
		return false;
	*number = fabs(value) < 1 / most ? 0 : value;
	return true;
}

/* Reads an array of numbers; none, if one is not a number. */
static bool find_samples(const json_t *array, struct interval *value)
{
	size_t i, n = json_array_size(array);
	double *samples = calloc(n + 1, sizeof(*samples));
	bool good = n > 0;

	if (samples == NULL)
		give_up("out of memory");
	for (i = 0; i < n && good; i++)
		good = read_number(json_array_get(array, i), &samples[i]);
	if (good)
		*value = median_interval(samples, n);
	free(samples);
	return good;
}

const char *trouble_of(const struct report_result *result)
{
	return text_at(result->json, "trouble");
}

bool find_figure(const struct report_result *result, const struct report_figure *figure,
		 struct interval *value)
{
	const json_t *at = result->json;

	if (trouble_of(result) != NULL)
		return false; /* not ranked, whatever was measured before */
	if (figure->key == NULL)
		return find_samples(json_object_get(at, "samples"), value);
	if (figure->group != NULL)
		at = json_object_get(at, figure->group);
	at = json_object_get(at, figure->key);
	if (json_is_object(at))
		return find_samples(json_object_get(at, "samples"), value);
	if (!read_number(at, &value->median))
		return false;
	value->low = value->high = value->median;
	value->confidence = 1; /* taken as it is */
	return true;
}

struct report_figure main_figure(const struct report_panel *panel)
{
	const json_t *first = panel->results[0].json;
	const char *unit = text_at(first, "unit"), *better = text_at(first, "better");
	bool less = better != NULL && strcmp(better, "less") == 0;

	if (strcmp(panel->file->tool, "try") != 0)
		return (struct report_figure){
			.title = unit == NULL || strcmp(unit, "ops/s") == 0 ? "Throughput"
									    : "Result",
			.unit = unit != NULL ? unit : "ops/s",
			.less_is_better = less,
		};
	if (better != NULL)
		return (struct report_figure){
			.key = "metric", .title = "Metric", .less_is_better = less};
	return (struct report_figure){.key = "wall_s",
				      .title = "Wall time",
				      .unit = "s",
				      .less_is_better = true};
}

/* Panels. */

/* The program that was tried: the word after "--"; or else the file. */
static const char *program_of(const struct report_file *file)
{
	const json_t *command = json_object_get(json_object_get(file->root, "context"),
						"command");
	bool is_next = false;
	const json_t *word;
	size_t i;

	json_array_foreach(command, i, word)
	{
		const char *text = json_string_value(word);

		if (is_next && text != NULL)
			return text;
		is_next = text != NULL && strcmp(text, "--") == 0;
	}
	return file->path;
}

/* Adds ", key n" to the text, if the result says so; 0 is what goes without saying. */
static void append_setting(char *text, size_t room, const json_t *result, const char *key)
{
	long long n = json_integer_value(json_object_get(result, key));
	size_t length = strlen(text);

	if (n > 0)
		snprintf(text + length, room - length, ", %s %lld", key, n);
}

/* The same of a share, of which 0 is not the usual one. */
static void append_writes(char *text, size_t room, const json_t *result)
{
	const json_t *writes = json_object_get(result, "writes_percent");
	size_t length = strlen(text);

	if (json_is_number(writes))
		snprintf(text + length, room - length, ", writes %g %%",
			 json_number_value(writes));
}

/* The title of a result's configuration, which is also its identity. */
static char *title_of(const struct report_file *file, const json_t *result)
{
	const json_t *cs = json_object_get(result, "cs");
	const json_t *ncs = json_object_get(result, "ncs");
	const char *machine = text_at(result, "machine");
	char *title;
	char steps[200] = "";
	int length;

	if (json_integer_value(cs) > 0) /* 0: the workload has no such thing */
		snprintf(steps, sizeof(steps), ", cs %lld, ncs %lld",
			 (long long)json_integer_value(cs),
			 (long long)json_integer_value(ncs));
	append_setting(steps, sizeof(steps), result, "producers");
	append_setting(steps, sizeof(steps), result, "capacity");
	append_writes(steps, sizeof(steps), result);
	append_setting(steps, sizeof(steps), result, "beside");
	append_setting(steps, sizeof(steps), result, "quota_percent");
	if (strcmp(file->tool, "try") == 0)
		length = asprintf(&title, "try: %s", program_of(file));
	else if (machine != NULL)
		length = asprintf(&title, "%s on simulated %s%s",
				  text_at(result, "workload"), machine, steps);
	else
		length = asprintf(&title, "%s%s", text_at(result, "workload"), steps);
	if (length < 0)
		give_up("out of memory");
	return title;
}

/* The panel that the result belongs to: of the same file, because what was
 * measured at another time is another measurement. */
static struct report_panel *panel_for(struct report *report,
				      const struct report_file *file, const json_t *json)
{
	char *title = title_of(file, json);
	struct report_panel *panel;
	size_t i;

	for (i = 0; i < report->panel_count; i++) {
		panel = &report->panels[i];
		if (panel->file == file && strcmp(panel->title, title) == 0) {
			free(title);
			return panel;
		}
	}
	report->panels = grow(report->panels, report->panel_count, sizeof(*panel));
	panel = &report->panels[report->panel_count++];
	panel->file = file;
	panel->title = title;
	return panel;
}

/* More than any machine has CPUs. */
enum { THREADS_MOST = 1000 * 1000 };

static bool is_sound(const json_t *json)
{
	const json_t *trouble = json_object_get(json, "trouble");
	long long threads = json_integer_value(json_object_get(json, "threads"));

	return text_at(json, "lock") != NULL && text_at(json, "workload") != NULL &&
	       threads >= 0 && threads <= THREADS_MOST &&
	       (trouble == NULL || json_is_string(trouble));
}

/* There is one result of a lock at a number of threads. */
static bool is_there(const struct report_panel *panel, const char *lock, int threads)
{
	size_t i;

	for (i = 0; i < panel->count; i++)
		if (panel->results[i].threads == threads &&
		    strcmp(panel->results[i].lock, lock) == 0)
			return true;
	return false;
}

static void add_result(struct report *report, const struct report_file *file, size_t i,
		       const json_t *json)
{
	struct report_result result = {.lock = text_at(json, "lock"), .json = json};
	struct report_panel *panel;

	if (!is_sound(json))
		refuse("'%s': result %zu has no \"lock\", \"workload\", \"threads\" or "
		       "\"trouble\" that makes sense; write the file anew",
		       file->path, i + 1);
	result.threads = (int)json_integer_value(json_object_get(json, "threads"));
	panel = panel_for(report, file, json);
	if (is_there(panel, result.lock, result.threads))
		refuse("'%s': result %zu is of the same lock, workload and threads as "
		       "another; write the file anew",
		       file->path, i + 1);
	panel->results = grow(panel->results, panel->count, sizeof(result));
	panel->results[panel->count++] = result;
}

struct report read_report(char **paths, size_t count)
{
	struct report report = {.file_count = count};
	const json_t *result;
	size_t i, j;

	report.files = calloc(count, sizeof(*report.files));
	if (report.files == NULL)
		give_up("out of memory");
	for (i = 0; i < count; i++) {
		report.files[i].path = paths[i];
		load(&report.files[i]);
	}
	for (i = 0; i < count; i++)
		json_array_foreach(json_object_get(report.files[i].root, "results"), j,
				   result)
			add_result(&report, &report.files[i], j, result);
	return report;
}

void free_report(struct report *report)
{
	size_t i;

	for (i = 0; i < report->panel_count; i++) {
		free(report->panels[i].title);
		free(report->panels[i].results);
	}
	for (i = 0; i < report->file_count; i++)
		json_decref(report->files[i].root);
	free(report->panels);
	free(report->files);
}

int most_threads_of(const struct report_panel *panel)
{
	int most = 0;
	size_t i;

	for (i = 0; i < panel->count; i++)
		if (panel->results[i].threads > most)
			most = panel->results[i].threads;
	return most;
}

static int ascending(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

size_t all_threads_of(const struct report_panel *panel, int *threads)
{
	size_t i, n = 0;

	for (i = 0; i < panel->count; i++)
		threads[i] = panel->results[i].threads;
	qsort(threads, panel->count, sizeof(*threads), ascending);
	for (i = 0; i < panel->count; i++)
		if (n == 0 || threads[n - 1] != threads[i])
			threads[n++] = threads[i];
	return n;
}

bool is_pawls(const char *lock)
{
	return lock_type_find(lock) != NULL;
}
