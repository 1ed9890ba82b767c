/* SPDX-License-Identifier: MIT */
/* Stored results: $XDG_DATA_HOME/pawl/baselines/NAME.json. */
#define _GNU_SOURCE /* asprintf */
#include "cli/bench/bench.h"

#include "cli/commands.h"
#include "cli/common/program.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".json"
enum { NAME_MOST = 64 };

static char *or_give_up(char *text, int length)
{
	if (length < 0)
		give_up("out of memory");
	return text;
}

/* To be freed. */
static char *folder(void)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int length;

	/* The XDG specification says to ignore relative paths. */
	if (data != NULL && data[0] == '/')
		length = asprintf(&path, "%s/pawl/baselines", data);
	else if (home != NULL && home[0] == '/')
		length = asprintf(&path, "%s/.local/share/pawl/baselines", home);
	else
		refuse("no directory for baselines; set HOME or XDG_DATA_HOME");
	return or_give_up(path, length);
}

static char *path_of(const char *name)
{
	char *in = folder(), *path = NULL;
	int length = asprintf(&path, "%s/%s" SUFFIX, in, name);

	free(in);
	return or_give_up(path, length);
}

static void make_folders(char *path)
{
	char *slash;

	for (slash = path; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
		*slash = '\0';
		mkdir(path, 0777); /* only the last directory's existence matters */
	}
	if ((mkdir(path, 0777) != 0 && errno != EEXIST) || access(path, W_OK | X_OK) != 0)
		refuse("--save: cannot write to '%s': %s; set XDG_DATA_HOME to a "
		       "writable directory",
		       path, strerror(errno));
}

static void check_name(const char *option, const char *name)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789._-";

	if (name[strspn(name, good)] != '\0' || strspn(name, "._-") > 0 ||
	    strlen(name) > NAME_MOST)
		refuse("--%s: '%s' is not a valid name for a baseline; use up to %d "
		       "letters, digits, '-', '_' and '.', and begin with a letter or "
		       "digit",
		       option, name, NAME_MOST);
}

void check_baseline_to_save(const char *name)
{
	char *in;

	check_name("save", name);
	if (strcmp(name, "help") == 0)
		refuse("--save: 'help' lists the baselines; choose another name");
	in = folder();
	make_folders(in);
	free(in);
}

/* Listing. */

static int is_baseline(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > strlen(SUFFIX) &&
	       strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) == 0;
}

/* The names, sorted, without the suffix; returns their number. The caller frees each
 * entry and the array. */
static size_t find_baselines(struct dirent ***entries)
{
	char *in = folder();
	int i, count = scandir(in, entries, is_baseline, alphasort);

	free(in);
	for (i = 0; i < count; i++) {
		char *name = (*entries)[i]->d_name;

		name[strlen(name) - strlen(SUFFIX)] = '\0';
	}
	if (count < 0)
		*entries = NULL;
	return count < 0 ? 0 : (size_t)count;
}

static void free_baselines(struct dirent **entries, size_t count)
{
	while (count > 0)
		free(entries[--count]);
	free(entries);
}

static struct dirent **asked; /* for the callback below */
static size_t asked_count;

static const char *nth_baseline(size_t i)
{
	return i < asked_count ? asked[i]->d_name : NULL;
}

/* NULL if it cannot be read. */
static json_t *read_context(const char *name)
{
	char *path = path_of(name);
	json_t *root = json_load_file(path, 0, NULL);
	json_t *context = json_incref(json_object_get(root, "context"));

	json_decref(root);
	free(path);
	return context;
}

static const char *text(const json_t *context, const char *key)
{
	const char *found = json_string_value(json_object_get(context, key));

	return found != NULL ? found : "unknown";
}

void print_baselines(void)
{
	struct dirent **entries;
	size_t i, count = find_baselines(&entries);
	char *in = folder();

	if (count == 0)
		printf("no baselines in %s; --save NAME stores one\n", in);
	for (i = 0; i < count; i++) {
		json_t *context = read_context(entries[i]->d_name);
		size_t j;
		json_t *word;

		printf("%-20s  %s, pawl %s on %s:", entries[i]->d_name,
		       text(context, "date"), text(context, "pawl"),
		       text(context, "cpu"));
		json_array_foreach(json_object_get(context, "command"), j,
				   word) if (json_string_value(word) != NULL)
			printf(" %s", json_string_value(word));
		printf("\n");
		json_decref(context);
	}
	free_baselines(entries, count);
	free(in);
}

void check_baseline_to_compare(const char *name)
{
	char *path;

	check_name("against", name);
	path = path_of(name);
	if (access(path, R_OK) != 0) {
		asked_count = find_baselines(&asked);
		refuse_name("baseline", name, nth_baseline,
			    "'pawl bench --against help' lists them, --save stores one");
	}
	free(path);
}

/* Saving and comparing. */

static bool write_json(const char *path, const json_t *json)
{
	FILE *file = fopen(path, "w");
	bool written = file != NULL &&
		       json_dumpf(json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) ==
			       0;

	if (file != NULL && fclose(file) != 0)
		written = false;
	return written;
}

void save_baseline(const char *name, const json_t *result)
{
	char *path = path_of(name), *temporary = NULL;
	json_t *before = read_context(name);
	int length = asprintf(&temporary, "%s.%ld.partial", path, (long)getpid());

	or_give_up(temporary, length);
	if (!write_json(temporary, result) || rename(temporary, path) != 0) {
		int error = errno;

		unlink(temporary);
		give_up("cannot save the baseline '%s': %s", path, strerror(error));
	}
	if (before != NULL)
		fprintf(stderr, "baseline '%s' saved, replacing that of %s\n", name,
			text(before, "date"));
	else
		fprintf(stderr, "baseline '%s' saved\n", name);
	json_decref(before);
	free(temporary);
	free(path);
}

/* Warns of a different setting that the titles of results do not show. */
static void warn_of_setting(const char *name, const char *option, double old, double new)
{
	if (old != new)
		warn("baseline '%s' was measured with another setting: --%s %g instead "
		     "of %g; repeat it with that to compare",
		     name, option, old, new);
}

static const json_t *first_result(const json_t *root)
{
	return json_array_get(json_object_get(root, "results"), 0);
}

static void warn_of_settings(const char *name, const json_t *old, const json_t *new)
{
	static const char *const keys[] = {"seconds", "warm_up"};
	static const char *const options[] = {"seconds", "warm-up"};
	const json_t *a = first_result(old), *b = first_result(new);
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		warn_of_setting(name, options[i],
				json_number_value(json_object_get(a, keys[i])),
				json_number_value(json_object_get(b, keys[i])));
	warn_of_setting(name, "runs",
			(double)json_array_size(json_object_get(a, "samples")),
			(double)json_array_size(json_object_get(b, "samples")));
}

int compare_with_baseline(const char *name, const json_t *result)
{
	char *path = path_of(name), *said = NULL, new_path[64];
	json_t *old = json_load_file(path, 0, NULL);
	int status, file = memory_file();

	or_give_up(said, asprintf(&said, "baseline %s", name));
	snprintf(new_path, sizeof(new_path), "/proc/self/fd/%d", file);
	if (!write_json(new_path, result))
		give_up("cannot store the result to compare it: %s", strerror(errno));
	if (old != NULL)
		warn_of_settings(name, old, result);
	printf("\nSince baseline '%s':\n", name);
	status = compare_files(path, said, new_path, "this run", NULL);
	json_decref(old);
	close(file);
	free(said);
	free(path);
	return status;
}
