/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* asprintf */
#include "output.h"

#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The result file: written beside its final place, then moved there. Devices
 * and pipes are written directly. */
static struct {
	FILE *file;
	char *path;
	char *temporary; /* NULL if written directly, or moved already */
} result;

/* At exit, however it comes about. */
static void discard_temporary(void)
{
	if (result.temporary != NULL)
		unlink(result.temporary);
	free(result.temporary);
	free(result.path);
}

void open_result_file(const char *option, const char *path)
{
	struct stat there;
	bool exists = stat(path, &there) == 0;

	atexit(discard_temporary);
	if (exists && S_ISDIR(there.st_mode))
		errno = EISDIR;
	else if (exists && !S_ISREG(there.st_mode)) {
		result.path = strdup(path);
		result.file = fopen(path, "w");
	} else if (!exists || access(path, W_OK) == 0) {
		/* Through a symbolic link, to what it stands for. */
		result.path = exists ? realpath(path, NULL) : strdup(path);
		if (result.path != NULL && asprintf(&result.temporary, "%s.%ld.partial",
						    result.path, (long)getpid()) >= 0)
			result.file = fopen(result.temporary, "wx");
	}
	if (result.file == NULL)
		refuse("--%s: cannot write '%s': %s; name a file in a directory you may "
		       "write to",
		       option, path, strerror(errno));
}

void write_result_file(json_t *json)
{
	bool written = json_dumpf(json, result.file,
				  JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0 &&
		       fputc('\n', result.file) != EOF;

	json_decref(json);
	if (fclose(result.file) != 0 || !written ||
	    (result.temporary != NULL && rename(result.temporary, result.path) != 0))
		give_up("cannot write '%s': %s", result.path, strerror(errno));
	free(result.temporary);
	result.temporary = NULL;
}

void print_json(json_t *json)
{
	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	putchar('\n');
	json_decref(json);
}

static bool line_is_open;

void show_progress(size_t done, size_t total, const char *format, ...)
{
	static size_t tenths;
	va_list args;

	if (isatty(STDERR_FILENO)) {
		fprintf(stderr, "\r\033[K");
		line_is_open = true;
	} else {
		if (done * 10 / total < tenths)
			return;
		tenths = done * 10 / total + 1;
	}
	fprintf(stderr, "%3zu %%  ", done * 100 / total);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	if (!line_is_open)
		fputc('\n', stderr);
	fflush(stderr);
}

void end_progress(void)
{
	if (line_is_open)
		fprintf(stderr, "\r\033[K");
	line_is_open = false;
}

void finish_stdout(void)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		give_up("cannot write to standard output: %s", strerror(errno));
}
