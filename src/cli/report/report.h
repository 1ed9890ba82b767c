/* SPDX-License-Identifier: MIT */
/*
 * pawl report: read.c reads the files of bench, sim, try and profile and sorts results
 * into panels, one for each configuration; figures.c has the figures, their titles and
 * units. page.c writes the page: answer.c the matrix of all panels with matrix.c, and the
 * sentences; panel.c chooses the plots of a panel, plot.c draws them with svg.c, in the
 * colours of style.c; table.c has the numbers; profile.c the results of pawl profile,
 * papers.c those of pawl sim on the papers. diff.c compares two files.
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

/* The results of one lock at one number of threads. */
struct report_result {
	const char *lock;
	int threads; /* 0: not applicable */
	const json_t *json;
};

/* All results of one configuration in one file. */
struct report_panel {
	const struct report_file *file;
	char *title;
	const char *reference; /* lock that the others are compared with; NULL: none */
	size_t count;
	struct report_result *results;
};

/* The colour of a lock, on the whole page. */
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

/* Zeroed memory for `count` elements and one more. */
void *report_allocate(size_t count, size_t size);

/*
 * A figure of a result: its samples if it has no key, else the member `key` of the member
 * `group`, or of the result itself if there is no group. That may be a number or an
 * object with samples; the samples of a number may be in the result's "spreads".
 */
struct report_figure {
	const char *group, *key;
	const char *title;		 /* for readers; '_' stands for a space */
	const char *unit;		 /* NULL: none */
	bool less_is_better, is_neither; /* is_neither: nor is more */
	double least;			 /* smaller differences are not reported */
};

/* Why the lock is not ranked; NULL if it is. */
const char *trouble_of(const struct report_result *result);

/* Returns false if the result has no such figure, or is not ranked. A value whose
 * variation is unknown has no confidence. */
bool find_figure(const struct report_result *result, const struct report_figure *figure,
		 struct interval *value);

/* The figure that the results of the panel are ranked by. */
struct report_figure main_figure(const struct report_panel *panel);

/* The other figures, at most REPORT_FIGURES; those of the workload alone, or all. */
enum { REPORT_FIGURES = 40 };
size_t own_figures(const struct report_panel *panel, struct report_figure *figures);
size_t more_figures(const struct report_panel *panel, struct report_figure *figures);

/* The figure with this key, from the table. */
struct report_figure figure_named(const char *group, const char *key);

/* Formats a value with its unit: "12.5 M ops/s" or "1.25 ms". */
enum { VALUE_BYTES = 96 };
void format_value(double value, const char *unit, char text[VALUE_BYTES]);
/* The same with "(from to)" if the interval is known. */
void format_interval(struct interval value, const char *unit, char text[VALUE_BYTES]);

/* The ratio of the value to another; more than 1 is better. */
struct interval times_better(struct interval value, struct interval other,
			     const struct report_figure *figure);

/* The most threads of any result; and all numbers of threads, ascending, in `threads`,
 * which has room for panel->count. */
int most_threads_of(const struct report_panel *panel);
size_t all_threads_of(const struct report_panel *panel, int *threads);
const struct report_result *find_result(const struct report_panel *panel,
					const char *lock, int threads);

/* Whether a lock is pawl's; another library's in a panel that has pawl's; or glibc's. */
bool is_pawls(const char *lock);
bool is_peer_in(const struct report_panel *panel, const char *lock);
bool is_glibc(const char *lock);

/* Whether some lock's counters show that the program takes no locks. */
bool panel_takes_no_lock(const struct report_panel *panel);

/* Results with this number of threads that have a figure, best first. */
struct ranked {
	const struct report_result *result;
	struct interval value;
};
size_t rank(const struct report_panel *panel, const struct report_figure *figure,
	    int threads, struct ranked *ranked);
/* How many, including the first, have intervals that overlap the first. */
size_t count_ties(const struct ranked *ranked, size_t n);
/* Whether each was run more than once. */
bool are_enough(const struct ranked *ranked, size_t n);

/* The locks that a plot over threads labels. */
enum { LINES_NAMED = 6 };
size_t name_lines(const struct report_panel *panel, const struct report_figure *figure,
		  const char *names[LINES_NAMED]);
/* The figures drawn over threads; returns their number. */
enum { LINE_FIGURES = 3 };
size_t line_figures(const struct report_panel *panel,
		    struct report_figure figures[LINE_FIGURES]);

/* Assigns a colour to every lock. */
void choose_styles(struct report *report);
int colour_of(const struct report *report, const char *lock);

/* Writes the page; or only its beginning and end. With `old`, a page about the changes
 * since; else NULL. */
void write_page(FILE *out, const struct report *report);
void begin_page(FILE *out, const struct report *report, const struct report *old);
void end_page(FILE *out, const struct report *report, const struct report *old);

/* The main result: the matrix of most panels, and some sentences. With `old`, the changes
 * since; else NULL. */
void write_answer(FILE *out, const struct report *report, const struct report *old);
/* The other matrices: objects that are not locks. */
void write_other_matrices(FILE *out, const struct report *report,
			  const struct report *old);

/* The section of pawl profile, and its summary. */
void write_profile(FILE *out, const struct report_file *file, size_t number);
void write_profile_sentences(FILE *out, const struct report_file *file);

/* The section of pawl sim --preset papers, and its summary. */
void write_papers(FILE *out, const struct report_file *file, size_t number);
void write_papers_sentence(FILE *out, const struct report_file *file);

/* Whether the file has its own section instead of panels. */
bool has_own_section(const struct report_file *file);

/* Writes one panel: plots, and a table of their numbers. */
void write_panel(FILE *out, const struct report *report,
		 const struct report_panel *panel);

/* Writes that table, with `figure` as its first column. */
void write_numbers(FILE *out, const struct report_panel *panel,
		   const struct report_figure *figure);

/* Writes text escaped for HTML; for a title or a setting's name, '_' as a space. */
void write_text(FILE *out, const char *text);
void write_words(FILE *out, const char *text);

/* The length of the longest prefix of at most `most` bytes that cuts no UTF-8
 * character. */
size_t whole_letters(const char *text, size_t most);

/* Compares two files: prints the changes and, unless `page` is NULL, writes a page about
 * them; returns 1 if a figure became worse, else 0. */
int report_diff(const struct report *old, const struct report *new, FILE *page);

#endif /* PAWL_CLI_REPORT_H */
