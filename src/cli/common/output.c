/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* asprintf */
#include "cli/common/output.h"

#include "cli/common/options.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The result file: written under a temporary name, then renamed. Devices and pipes are
 * written directly. */
static struct {
	FILE *file;
	char *path;
	char *temporary; /* NULL if written directly, or already renamed */
} result;

/* At exit, of any kind. */
static void discard_temporary(void)
{
	if (result.temporary != NULL)
		unlink(result.temporary);
	free(result.temporary);
	free(result.path);
}

/* Redirects stdout to stderr, and returns the original stdout for the result. */
static FILE *take_stdout(void)
{
	int file = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	fflush(stdout);
	if (file < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return NULL;
	setvbuf(stdout, NULL, _IOLBF, 0); /* in order with what stderr gets itself */
	return fdopen(file, "w");
}

static volatile sig_atomic_t pipe_is_broken;

static void on_broken_pipe(int signal_number)
{
	(void)signal_number;
	pipe_is_broken = 1;
}

void survive_broken_pipes(void)
{
	/* A handler, not SIG_IGN, which exec would pass on. */
	struct sigaction action = {.sa_flags = SA_RESTART}, before;

	action.sa_handler = on_broken_pipe;
	if (sigaction(SIGPIPE, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
		sigaction(SIGPIPE, &action, NULL);
}

void open_result_file(const char *option, const char *path)
{
	struct stat there;
	bool to_stdout = strcmp(path, "-") == 0;
	bool exists = !to_stdout && stat(path, &there) == 0;

	atexit(discard_temporary);
	survive_broken_pipes();
	if (to_stdout) {
		result.path = strdup("standard output");
		result.file = take_stdout();
	} else if (exists && S_ISDIR(there.st_mode)) {
		errno = EISDIR;
	} else if (exists && !S_ISREG(there.st_mode)) {
		result.path = strdup(path);
		result.file = fopen(path, "w");
	} else if (!exists || access(path, W_OK) == 0) {
		/* Replaces the target of a symbolic link. */
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

/* Closes the result file and renames it into place. */
static void finish_result_file(bool written)
{
	if (fclose(result.file) != 0 || !written ||
	    (result.temporary != NULL && rename(result.temporary, result.path) != 0))
		give_up("cannot write '%s': %s", result.path, strerror(errno));
	free(result.temporary);
	result.temporary = NULL;
}

void write_result_file(json_t *json)
{
	bool written = json_dumpf(json, result.file,
				  JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0 &&
		       fputc('\n', result.file) != EOF;

	json_decref(json);
	finish_result_file(written);
}

void write_result_text(const char *text, size_t size)
{
	finish_result_file(fwrite(text, 1, size, result.file) == size);
}

json_t *number_or_null(double number)
{
	return isfinite(number) ? json_real(number) : json_null();
}

/* Progress. */

static const double worth_showing = 2; /* seconds */

static struct {
	double expected; /* total, in seconds; 0: unknown */
	double began;	 /* 0: not started */
	size_t tenths;	 /* the next tenth that gets a line */
	bool line_is_open;
} progress;

double now(void)
{
	return 1e-9 * (double)pawl_os_now();
}

void expect_seconds(double seconds)
{
	progress.expected = seconds;
	progress.began = 0;
}

/* Extrapolated, or else as expected; -1: unknown. */
static double seconds_left(double elapsed, double part)
{
	if (part > 0)
		return elapsed / part - elapsed;
	return progress.expected > 0 ? progress.expected : -1;
}

/* One line, cut to the width of the terminal: a wrapped line could not be redrawn. */
static void draw_bar(double part, const char *left, const char *what)
{
	enum { BAR = 20 };
	struct winsize window = {0};
	char line[512];
	int full = (int)(BAR * part);

	ioctl(STDERR_FILENO, TIOCGWINSZ, &window);
	if (window.ws_col == 0)
		window.ws_col = 80;
	snprintf(line, sizeof(line), "[%.*s%.*s] %3.0f %%%s  %s", full,
		 "####################", BAR - full, "....................", 100 * part,
		 left, what);
	fprintf(stderr, "\r\033[K%.*s", window.ws_col - 1, line);
	progress.line_is_open = true;
}

void show_progress(size_t done, size_t total, const char *format, ...)
{
	double part = (double)done / (double)total, elapsed, seconds;
	char what[256], left[40] = "";
	va_list args;

	if (progress.began == 0) {
		progress.began = now();
		progress.tenths = 0;
	}
	elapsed = now() - progress.began;
	seconds = seconds_left(elapsed, part);
	if (elapsed + seconds < worth_showing)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	if (seconds >= 0)
		snprintf(left, sizeof(left), ", %.0f s left", ceil(seconds));
	if (isatty(STDERR_FILENO)) {
		draw_bar(part, left, what);
	} else if (done * 10 / total >= progress.tenths) {
		progress.tenths = done * 10 / total + 1;
		fprintf(stderr, "%3.0f %%%s  %s\n", 100 * part, left, what);
	}
	fflush(stderr);
}

void end_progress(void)
{
	if (progress.line_is_open)
		fprintf(stderr, "\r\033[K");
	progress.line_is_open = false;
}

void finish_stdout(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return;
	if (pipe_is_broken) /* as if SIGPIPE had ended it */
		exit(128 + SIGPIPE);
	give_up("cannot write to standard output: %s", strerror(errno));
}
