/* SPDX-License-Identifier: MIT */
/*
 * Plots, as SVG within a page. All have the same width, so that their text has the same
 * size on a telephone and on a desktop. Colours are variables of the page: --ink is the
 * text's, --s1 and so on those of locks, --faint is for the background, --grid for grid
 * lines. Marks have tooltips.
 */
#ifndef PAWL_CLI_REPORT_PLOT_H
#define PAWL_CLI_REPORT_PLOT_H

#include "cli/common/stats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A line over numbers of threads. */
enum { PLOT_SHAPES = 6 };
struct plot_line {
	const char *name;
	int colour;
	bool is_named; /* else in the background: thin, grey, no label */
	int shape;     /* of its marks, if it is labelled: below PLOT_SHAPES */
	bool is_peer;
	size_t count;
	const double *x;
	const struct interval *y;
};

/* A row of one or more marks; a single mark has an interval. */
enum { PLOT_MARKS = 4 };
struct plot_row {
	const char *name;
	int colour;
	bool is_peer, is_reference;
	size_t marks; /* 1: the interval; more: values[] joined by a line */
	struct interval value;
	double values[PLOT_MARKS];
	const char *const *names; /* of the marks, if there are several */
};

/* Description of a plot. */
struct plot_about {
	const char *label; /* its text for screen readers */
	const char *unit;  /* of its values; NULL: none */
	int threads;	   /* of all rows; 0: not applicable */
	bool are_shares;   /* from 0 to 1 */
};

/* Each writes an <svg>. */
void plot_lines(FILE *out, const struct plot_about *about, const struct plot_line *lines,
		size_t count);
void plot_rows(FILE *out, const struct plot_about *about, const struct plot_row *rows,
	       size_t count);

/* Formats a number as axes and tables show it: "1.25 M". */
enum { NUMBER_BYTES = 32 };
void format_number(double value, char text[NUMBER_BYTES]);

#endif /* PAWL_CLI_REPORT_PLOT_H */
