/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* asprintf */
#include "cli/report/report.h"

#include "cli/common/options.h"
#include "cli/common/schema.h"
#include "registry/registry.h"
#include "workload.h"

#include <stdarg.h>
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

void *report_allocate(size_t count, size_t size)
{
	void *memory = calloc(count + 1, size);

	if (memory == NULL)
		give_up("out of memory");
	return memory;
}

/* Files. */

static void load(struct report_file *file)
{
	static const char *const tools[] = {"bench", "sim",	"sim-papers",
					    "try",   "profile", NULL};
	const char *tool;
	char why[SCHEMA_WHY];
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
		       "profile': nothing to show",
		       file->path);
	file->tool = tools[i];
	if (!fits_schema(file->tool, file->root, why))
		refuse("'%s' does not match the schema of 'pawl %s --json': %s; write it "
		       "again",
		       file->path,
		       strcmp(file->tool, "sim-papers") == 0 ? "sim --preset papers"
							     : file->tool,
		       why);
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

/* Appends text about a setting. */
static void append(char *text, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void append(char *text, size_t room, const char *format, ...)
{
	size_t length = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + length, room - length, format, args);
	va_end(args);
}

static long long integer_at(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

/* Section lengths; cs 0: the workload has none. */
static void append_steps(char *text, size_t room, const json_t *result)
{
	long long cs = integer_at(result, "cs"), ncs = integer_at(result, "ncs");

	if (cs <= 0)
		return;
	append(text, room, ", %lld step%s in", cs, cs == 1 ? "" : "s");
	if (ncs > 0)
		append(text, room, ", up to %lld out", ncs);
	else
		append(text, room, ", none out");
}

/* 0 is the default and left out, except for a share. */
static void append_settings(char *text, size_t room, const json_t *result)
{
	const json_t *writes = json_object_get(result, "writes_percent");
	long long n;

	append_steps(text, room, result);
	n = integer_at(result, "producers");
	if (n > 0)
		append(text, room, ", %lld producer%s", n, n == 1 ? "" : "s");
	n = integer_at(result, "capacity");
	if (n > 0)
		append(text, room, ", room for %lld", n);
	if (json_is_number(writes))
		append(text, room, ", %g %% writes", json_number_value(writes));
	n = integer_at(result, "beside");
	if (n > 0)
		append(text, room, ", beside %lld busy process%s", n, n == 1 ? "" : "es");
	n = integer_at(result, "quota_percent");
	if (n > 0)
		append(text, room, ", limited to %lld %% of a CPU", n);
}

/* The title of a result's configuration, which identifies it. */
static char *title_of(const struct report_file *file, const json_t *result)
{
	const char *machine = text_at(result, "machine");
	char settings[300] = "", *title;
	int length;

	append_settings(settings, sizeof(settings), result);
	if (strcmp(file->tool, "try") == 0)
		length = asprintf(&title, "try: %s", program_of(file));
	else if (machine != NULL)
		length = asprintf(&title, "%s on simulated %s%s",
				  text_at(result, "workload"), machine, settings);
	else
		length = asprintf(&title, "%s%s", text_at(result, "workload"), settings);
	if (length < 0)
		give_up("out of memory");
	return title;
}

/* The panel of a result: of the same file, because files are separate measurements. */
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

static void add_result(struct report *report, const struct report_file *file, size_t i,
		       const json_t *json)
{
	struct report_result result = {.lock = text_at(json, "lock"), .json = json};
	struct report_panel *panel;

	if (!is_sound(json))
		refuse("'%s': result %zu has an invalid \"lock\", \"workload\", "
		       "\"threads\" or \"trouble\"; write the file again",
		       file->path, i + 1);
	result.threads = (int)json_integer_value(json_object_get(json, "threads"));
	panel = panel_for(report, file, json);
	if (find_result(panel, result.lock, result.threads) != NULL)
		refuse("'%s': result %zu has the same lock, workload and threads as "
		       "another; write the file again",
		       file->path, i + 1);
	panel->results = grow(panel->results, panel->count, sizeof(result));
	panel->results[panel->count++] = result;
}

static bool has_lock(const struct report_panel *panel, const char *lock)
{
	size_t i;

	for (i = 0; i < panel->count; i++)
		if (strcmp(panel->results[i].lock, lock) == 0)
			return true;
	return false;
}

/* The workload's own reference; else glibc's lock; without it, as in simulations, MCS. */
static const char *reference_of(const struct report_panel *panel)
{
	static const char *const usual[] = {"pthread", "glibc", "mcs", NULL};
	const char *name = text_at(panel->results[0].json, "workload");
	const struct workload *const *w;
	size_t i;

	for (w = workloads; *w != NULL; w++)
		if (strcmp((*w)->name, name) == 0 && (*w)->reference != NULL &&
		    has_lock(panel, (*w)->reference))
			return (*w)->reference;
	for (i = 0; usual[i] != NULL; i++)
		if (has_lock(panel, usual[i]))
			return usual[i];
	return NULL;
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
	for (i = 0; i < report.panel_count; i++)
		report.panels[i].reference = reference_of(&report.panels[i]);
	choose_styles(&report);
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
	free(report->styles);
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

const struct report_result *find_result(const struct report_panel *panel,
					const char *lock, int threads)
{
	size_t i;

	for (i = 0; i < panel->count; i++)
		if (panel->results[i].threads == threads &&
		    strcmp(panel->results[i].lock, lock) == 0)
			return &panel->results[i];
	return NULL;
}

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names != NULL && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

/* Includes names that are not in the registry: other objects, ways to share them, and
 * pawl try's names for a lock with pawl's read-write locks. */
bool is_pawls(const char *lock)
{
	static const char *const others[] = {"rwlock", "seqlock", "shared", "lease",
					     "atomic", "random",  NULL};
	const char *suffix = strstr(lock, "+rwlock");

	return lock_type_find(lock) != NULL || is_one_of(lock, others) ||
	       (suffix != NULL && strcmp(suffix, "+rwlock") == 0);
}

bool is_glibc(const char *lock)
{
	static const char *const names[] = {"pthread", "glibc", "pthread-rwlock",
					    "pthread-robust", NULL};

	return is_one_of(lock, names);
}

bool is_peer_in(const struct report_panel *panel, const char *lock)
{
	size_t i;

	if (is_pawls(lock))
		return false;
	for (i = 0; i < panel->count; i++)
		if (is_pawls(panel->results[i].lock))
			return true;
	return is_glibc(lock);
}
