/* SPDX-License-Identifier: MIT */
/*
 * pawl report: read.c reads what bench, sim, try and profile have written and sorts it
 * into panels, one for each configuration; figures.c knows what was measured, by what
 * words, in which unit. page.c writes the page: answer.c the matrix of all panels with
 * matrix.c, and the sentences; panel.c says what is drawn of a panel, plot.c draws it
 * with what svg.c has for that, in the colours of style.c; table.c has the numbers;
 * profile.c what pawl profile saw, papers.c what pawl sim says of the papers. diff.c
 * compares two files.
 */
#ifndef PAWL_CLI_REPORT_H
#define PAWL_CLI_REPORT_H

#include "cli/common/stats.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct report_file {
	const char *path;
	const char *tool; /* "bench", "sim", "sim-papers", "try" or "profile" */
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
	const char *reference; /* whom the others are compared with; NULL: nobody */
	size_t count;
	struct report_result *results;
};

/* How a lock is drawn, all over the page. */
struct report_style {
	const char *lock;
	int colour; /* 1 to SVG_COLOURS */
};

struct report {
	size_t file_count, panel_count, style_count;
	struct report_file *files;
	struct report_panel *panels;
	struct report_style *styles;
};

/* Reads the files, or refuses them. */
struct report read_report(char **paths, size_t count);
void free_report(struct report *report);

/* Memory for so many, all zero, and one more. */
void *report_allocate(size_t count, size_t size);

/*
 * One of the things measured of a result: its samples if it has no key, else the
 * member `key` of the member `group`, or of the result itself if there is no
 * group. That may be a number or an object with samples; those of a number may be
 * among the result's "spreads".
 */
struct report_figure {
	const char *group, *key;
	const char *title; /* what it is, for people; a '_' in it is a space */
	const char *unit;  /* NULL: none */
	bool less_is_better, is_neither; /* is_neither: nor is more */
	double least; /* smaller differences are not told, however sure */
};

/* Why the lock is not ranked; NULL if it is. */
const char *trouble_of(const struct report_result *result);

/* Returns false if the result has no such figure, or is in trouble. A value of which
 * nobody knows how it varies has no confidence. */
bool find_figure(const struct report_result *result, const struct report_figure *figure,
		 struct interval *value);

/* What the results of the panel are ranked by. */
struct report_figure main_figure(const struct report_panel *panel);

/* What else there is of them, at most so many; those of the workload alone, or all. */
enum { REPORT_FIGURES = 40 };
size_t own_figures(const struct report_panel *panel, struct report_figure *figures);
size_t more_figures(const struct report_panel *panel, struct report_figure *figures);

/* The figure of that key, as the table knows it. */
struct report_figure figure_named(const char *group, const char *key);

/* Puts a value the way people say it, "12.5 M ops/s" or "1.25 ms", into `text`. */
enum { VALUE_BYTES = 96 };
void format_value(double value, const char *unit, char text[VALUE_BYTES]);
/* The same with "(from to)" if that is known. */
void format_interval(struct interval value, const char *unit, char text[VALUE_BYTES]);

/* How often the value is as good as another; more than 1 is better. */
struct interval times_better(struct interval value, struct interval other,
			     const struct report_figure *figure);

/* The most threads that any result has; all of them, ascending, into `threads`,
 * which has room for panel->count. */
int most_threads_of(const struct report_panel *panel);
size_t all_threads_of(const struct report_panel *panel, int *threads);
const struct report_result *find_result(const struct report_panel *panel,
					const char *lock, int threads);

/* Whether a lock is one of pawl's own; of others' in a panel that has some of pawl's;
 * or what glibc has. */
bool is_pawls(const char *lock);
bool is_peer_in(const struct report_panel *panel, const char *lock);
bool is_glibc(const char *lock);

/* Whether it was counted, under some lock, that the program takes none. */
bool panel_takes_no_lock(const struct report_panel *panel);

/* Results at so many threads that have a figure, best first. */
struct ranked {
	const struct report_result *result;
	struct interval value;
};
size_t rank(const struct report_panel *panel, const struct report_figure *figure,
	    int threads, struct ranked *ranked);
/* How many of them, the first included, have intervals that touch its own. */
size_t count_ties(const struct ranked *ranked, size_t n);
/* Whether each was run more than once. */
bool are_enough(const struct ranked *ranked, size_t n);

/* The locks that a plot over threads names. */
enum { LINES_NAMED = 6 };
size_t name_lines(const struct report_panel *panel, const struct report_figure *figure,
		  const char *names[LINES_NAMED]);
/* The figures that are drawn over threads; returns how many. */
enum { LINE_FIGURES = 3 };
size_t line_figures(const struct report_panel *panel,
		    struct report_figure figures[LINE_FIGURES]);

/* Gives every lock its colour. */
void choose_styles(struct report *report);
int colour_of(const struct report *report, const char *lock);

/* Writes the page; or only what comes before what is special about it, and after. With
 * `old`, one about what changed since; else NULL. */
void write_page(FILE *out, const struct report *report);
void begin_page(FILE *out, const struct report *report, const struct report *old);
void end_page(FILE *out, const struct report *report, const struct report *old);

/* What has the answer: the matrix of most panels, and some sentences. With `old`, of
 * what changed since; else NULL. */
void write_answer(FILE *out, const struct report *report, const struct report *old);
/* The other matrices, of what is not locks. */
void write_other_matrices(FILE *out, const struct report *report,
			  const struct report *old);

/* Writes what pawl profile saw; and says it. */
void write_profile(FILE *out, const struct report_file *file, size_t number);
void write_profile_sentences(FILE *out, const struct report_file *file);

/* Writes what the papers publish against what is simulated; and how much of it holds. */
void write_papers(FILE *out, const struct report_file *file, size_t number);
void write_papers_sentence(FILE *out, const struct report_file *file);

/* Whether the file is no panels, but a section of its own. */
bool has_own_section(const struct report_file *file);

/* Writes one panel: plots, and a table of what is in them. */
void write_panel(FILE *out, const struct report *report,
		 const struct report_panel *panel);

/* Writes that table, with `figure` as its first column. */
void write_numbers(FILE *out, const struct report_panel *panel,
		   const struct report_figure *figure);

/* Writes text so that it is nothing but text in HTML; a title, or a setting's name. */
void write_text(FILE *out, const char *text);
void write_words(FILE *out, const char *text);

/* How many of at most so many bytes of UTF-8 can stand alone: no letter is cut. */
size_t whole_letters(const char *text, size_t most);

/* Compares two files: says what changed, and, unless `page` is NULL, writes a page about
 * it; returns 1 if something became worse, else 0. */
int report_diff(const struct report *old, const struct report *new, FILE *page);

#endif /* PAWL_CLI_REPORT_H */
