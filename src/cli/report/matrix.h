/* SPDX-License-Identifier: MIT */
/* The matrices of a page: configuration and number of threads by lock. */
#ifndef PAWL_CLI_REPORT_MATRIX_H
#define PAWL_CLI_REPORT_MATRIX_H

#include "cli/report/report.h"

/* Panels that compare much the same locks. */
struct matrix {
	size_t panel_count, lock_count;
	const struct report_panel **panels;
	const char **locks; /* pawl's first */
};

struct matrices {
	size_t count;
	struct matrix *list; /* the largest comes first */
};

struct matrices make_matrices(const struct report *report);
void free_matrices(struct matrices *matrices);

enum cell_kind {
	CELL_NONE,	/* nothing was measured */
	CELL_TROUBLE,	/* the lock is not ranked, for a reason */
	CELL_ALONE,	/* there is nothing to compare with */
	CELL_REFERENCE, /* it is what the others are compared with */
	CELL_CLOSE,	/* it cannot be told apart from that */
	CELL_RANKED,
};

/* A cell, and how often it is as good as what it is compared with. */
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

/* In diff.c: whether two values of a figure differ enough to be told; those of the
 * same panel in another file. */
bool is_changed(struct interval old, struct interval new,
		const struct report_figure *figure);
const struct report_panel *find_panel(const struct report *report, const char *title);

/* In panel.c: who is first of those with so many threads, as a sentence. */
void write_verdict(FILE *out, const struct report_panel *panel, int threads);

#endif /* PAWL_CLI_REPORT_MATRIX_H */
