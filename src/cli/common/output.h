/* SPDX-License-Identifier: MIT */
/* Where results and progress go. */
#ifndef PAWL_CLI_OUTPUT_H
#define PAWL_CLI_OUTPUT_H

#include <jansson.h>
#include <stddef.h>

/*
 * From now on a write to a pipe that nobody reads fails, and does not end the process:
 * for commands that have a file to write, or one to remove. Programs that it starts are
 * as before.
 */
void survive_broken_pipes(void);

/*
 * Opens the one result file of this process, before anything is measured;
 * refuses a path that cannot be written. What stands there stays untouched
 * until write_result_file(), and whoever exits before that leaves nothing
 * behind.
 *
 * "-" is standard output, which then gets the result alone: whatever else is
 * printed there from now on goes to stderr.
 */
void open_result_file(const char *option, const char *path);

/* Writes the whole result at once; gives up if that fails. Consumes *json. */
void write_result_file(json_t *json);

/* The same with text. */
void write_result_text(const char *text, size_t size);

/* A number, or null for one that is not finite: there is no such figure. */
json_t *number_or_null(double number);

/* Seconds on a clock that never goes back. */
double now(void);

/* How many seconds everything will take, before the first show_progress(). Who
 * does not say is believed to take long when it has taken a while. */
void expect_seconds(double seconds);

/*
 * Shows on stderr how far we are and how much time is left, if it takes more than
 * 2 s in all: redraws one line with a bar if that is a terminal, else prints a
 * line for every tenth of the way.
 */
void show_progress(size_t done, size_t total, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Clears the progress line, so that other text may follow. */
void end_progress(void);

/* Gives up if not everything printed to stdout got there. */
void finish_stdout(void);

#endif /* PAWL_CLI_OUTPUT_H */
