/* SPDX-License-Identifier: MIT */
/*
 * pawl report: report_read.c reads what bench, sim and try have written and sorts
 * it into panels, one for each configuration; report_panel.c says what is drawn
 * of a panel, report_plot.c draws it with what report_svg.c has for that;
 * report_table.c has the numbers; report_page.c writes the page around it all; and
 * report_diff.c compares two files.
 */
#ifndef PAWL_CLI_REPORT_H
#define PAWL_CLI_REPORT_H

#include "cli/common/stats.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct report_file {
	const char *path;
	const char *tool; /* "bench", "sim", "try" or "profile" */
	json_t *root;
};

/* What was measured of one lock at one number of threads. */
struct report_result {
	const char *lock;
	int threads; /* 0 where that is not asked */
	const json_t *json;
};

/* All results of one configuration in one file. */
struct report_panel {
	const struct report_file *file;
	char *title;
	size_t count;
	struct report_result *results;
};

struct report {
	size_t file_count, panel_count;
	struct report_file *files;
	struct report_panel *panels;
};

/* Reads the files, or refuses them. */
struct report read_report(char **paths, size_t count);
void free_report(struct report *report);

/*
 * One of the things measured of a result: its samples if it has no key, else the
 * member `key` of the member `group`, or of the result itself if there is no
 * group. That may be a number or an object with samples.
 */
struct report_figure {
	const char *group, *key;
	const char *title; /* what it is, for people */
	const char *unit;
	bool less_is_better;
};

/* Why the lock is not ranked; NULL if it is. */
const char *trouble_of(const struct report_result *result);

/* Returns false if the result has no such figure, or is in trouble. */
bool find_figure(const struct report_result *result, const struct report_figure *figure,
		 struct interval *value);

/* What the results of the panel are ranked by. */
struct report_figure main_figure(const struct report_panel *panel);

/* The most threads that any result has; all of them, ascending, into `threads`,
 * which has room for panel->count. */
int most_threads_of(const struct report_panel *panel);
size_t all_threads_of(const struct report_panel *panel, int *threads);

/* Whether a lock is one of pawl's own. */
bool is_pawls(const char *lock);

/* Writes the page. */
void write_page(FILE *out, const struct report *report);

/* Writes what pawl profile saw. */
void write_profile(FILE *out, const struct report_file *file);

/* Writes one panel: plots, and a table of what is in them. */
void write_panel(FILE *out, const struct report_panel *panel);

/* Writes that table, with `figure` as its first column. */
void write_numbers(FILE *out, const struct report_panel *panel,
		   const struct report_figure *figure);

/* Its other columns, ended by one without a title. The first few are what a
 * program costs. */
enum { REPORT_COSTS = 4 };
extern const struct report_figure report_columns[];

/* Writes text so that it is nothing but text in HTML. */
void write_text(FILE *out, const char *text);

/* How many of at most so many bytes of UTF-8 can stand alone: no letter is cut. */
size_t whole_letters(const char *text, size_t most);

/* Compares two files; returns 1 if something became worse, else 0. */
int report_diff(const struct report *old, const struct report *new);

#endif /* PAWL_CLI_REPORT_H */
