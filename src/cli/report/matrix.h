/* SPDX-License-Identifier: MIT */
/* The matrices of a page: configuration and number of threads by lock. */
#ifndef PAWL_CLI_REPORT_MATRIX_H
#define PAWL_CLI_REPORT_MATRIX_H

#include "cli/report/report.h"

/* Panels with mostly the same locks. */
struct matrix {
	size_t panel_count, lock_count;
	const struct report_panel **panels;
	const char **locks; /* pawl's first */
};

struct matrices {
	size_t count;
	struct matrix *list; /* the largest first */
};

struct matrices make_matrices(const struct report *report);
void free_matrices(struct matrices *matrices);

enum cell_kind {
	CELL_NONE,	/* not measured */
	CELL_TROUBLE,	/* not ranked because of a failure */
	CELL_ALONE,	/* nothing to compare with */
	CELL_REFERENCE, /* the reference itself */
	CELL_CLOSE,	/* indistinguishable from the reference */
	CELL_RANKED,
};

/* A cell, and its ratio to the reference; more than 1 is better. */
struct cell {
	enum cell_kind kind;
	const struct report_result *result;
	struct interval value, times;
	const char *reference; /* its name, or "the older file" */
};

/* With `old`, compared with the same lock there; else with the panel's reference. */
struct cell make_cell(const struct report_panel *panel, const struct report *old,
		      const char *lock, int threads);

void write_matrix(FILE *out, const struct report *report, const struct report *old,
		  const struct matrix *matrix);

/* In diff.c: whether two values of a figure differ enough to be reported; and the same
 * panel in another file. */
bool is_changed(struct interval old, struct interval new,
		const struct report_figure *figure);
const struct report_panel *find_panel(const struct report *report, const char *title);

/* In panel.c: the winner with this number of threads, as a sentence. */
void write_verdict(FILE *out, const struct report_panel *panel, int threads);

#endif /* PAWL_CLI_REPORT_MATRIX_H */
