/* SPDX-License-Identifier: MIT */
/*
 * Plots, as SVG within a page. All of one width, so that the text in
 * them has the same size on a telephone and on a desk. Colours are variables of
 * the page: --ink is the text's, --s1 and so on those of locks, --faint is for
 * what stands back, --grid for less than that. Marks say what they stand for.
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
	bool is_named; /* else it stands back: thin, grey and without a label */
	int shape;     /* of its marks, if it is named: below PLOT_SHAPES */
	bool is_peer;
	size_t count;
	const double *x;
	const struct interval *y;
};

/* A row of one or more marks, and an interval if it is one. */
enum { PLOT_MARKS = 4 };
struct plot_row {
	const char *name;
	int colour;
	bool is_peer, is_reference;
	size_t marks; /* 1: the interval; more: values[] joined by a line */
	struct interval value;
	double values[PLOT_MARKS];
	const char *const *names; /* of the marks, if there are more */
};

/* What a plot is about. */
struct plot_about {
	const char *label; /* what it is called to those who cannot see it */
	const char *unit;  /* of its values; NULL: none */
	int threads;	   /* of all rows; 0 where that is not asked */
	bool are_shares;   /* shown from 0 to 1 */
};

/* Each writes an <svg>. */
void plot_lines(FILE *out, const struct plot_about *about, const struct plot_line *lines,
		size_t count);
void plot_rows(FILE *out, const struct plot_about *about, const struct plot_row *rows,
	       size_t count);

/* Puts a number the way axes and tables show it, "1.25 M", into `text`. */
enum { NUMBER_BYTES = 32 };
void format_number(double value, char text[NUMBER_BYTES]);

#endif /* PAWL_CLI_REPORT_PLOT_H */
