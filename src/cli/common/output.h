/* SPDX-License-Identifier: MIT */
/* Result files and progress. */
#ifndef PAWL_CLI_OUTPUT_H
#define PAWL_CLI_OUTPUT_H

#include <jansson.h>
#include <stddef.h>

/*
 * From now on writing to a closed pipe fails instead of ending the process: for commands
 * that have a file to write, or to remove. Does not affect programs that it starts.
 */
void survive_broken_pipes(void);

/*
 * Opens the one result file of this process, before anything is measured; refuses a path
 * that cannot be written. An existing file stays untouched until write_result_file(), and
 * an exit before that leaves no file behind.
 *
 * "-" is standard output, which then gets the result alone: everything else printed there
 * goes to stderr.
 */
void open_result_file(const char *option, const char *path);

/* Writes the result; gives up if that fails. Consumes *json. */
void write_result_file(json_t *json);

/* The same with text. */
void write_result_text(const char *text, size_t size);

/* A number, or null if it is not finite: there is no such figure. */
json_t *number_or_null(double number);

/* Seconds on a monotonic clock. */
double now(void);

/* The expected total in seconds, set before the first show_progress(). Without it,
 * progress is shown once some time has passed. */
void expect_seconds(double seconds);

/*
 * Shows progress and remaining time on stderr, if the total exceeds 2 s: redraws one line
 * with a bar on a terminal, else prints a line for every tenth.
 */
void show_progress(size_t done, size_t total, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Clears the progress line, so that other text may follow. */
void end_progress(void);

/* Gives up if writing to stdout failed. */
void finish_stdout(void);

#endif /* PAWL_CLI_OUTPUT_H */
