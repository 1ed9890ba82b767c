/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* open_memstream */
#include "cli/report/matrix.h"

#include "cli/common/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Groups of panels. */

static bool has_lock(const struct matrix *matrix, const char *lock)
{
	size_t i;

	for (i = 0; i < matrix->lock_count; i++)
		if (strcmp(matrix->locks[i], lock) == 0)
			return true;
	return false;
}

/* Whether the panel shares most of the matrix's locks. */
static bool belongs(const struct matrix *matrix, const struct report_panel *panel)
{
	size_t i, in = 0;

	for (i = 0; i < panel->count; i++)
		in += has_lock(matrix, panel->results[i].lock);
	return 2 * in > panel->count;
}

static void *grow(void *list, size_t count, size_t size)
{
	void *grown = reallocarray(list, count + 1, size);

	if (grown == NULL)
		give_up("out of memory");
	return grown;
}

static void join(struct matrix *matrix, const struct report_panel *panel)
{
	size_t i;

	matrix->panels = grow(matrix->panels, matrix->panel_count,
			      sizeof(*matrix->panels));
	matrix->panels[matrix->panel_count++] = panel;
	for (i = 0; i < panel->count; i++) {
		if (has_lock(matrix, panel->results[i].lock))
			continue;
		matrix->locks = grow(matrix->locks, matrix->lock_count,
				     sizeof(*matrix->locks));
		matrix->locks[matrix->lock_count++] = panel->results[i].lock;
	}
}

/* The default, pawl's others, glibc's, other libraries'. */
static int class_of(const char *lock)
{
	if (strcmp(lock, "mutex") == 0)
		return 0;
	return is_pawls(lock) ? 1 : is_glibc(lock) ? 2 : 3;
}

/* Within a class, in the order of the file. */
static void sort_locks(struct matrix *matrix)
{
	const char **sorted = report_allocate(matrix->lock_count, sizeof(*sorted));
	size_t i, n = 0;
	int class;

	for (class = 0; class <= 3; class ++)
		for (i = 0; i < matrix->lock_count; i++)
			if (class_of(matrix->locks[i]) == class)
				sorted[n++] = matrix->locks[i];
	free(matrix->locks);
	matrix->locks = sorted;
}

static size_t results_in(const struct matrix *matrix)
{
	size_t i, n = 0;

	for (i = 0; i < matrix->panel_count; i++)
		n += matrix->panels[i]->count;
	return n;
}

struct matrices make_matrices(const struct report *report)
{
	struct matrices all = {0};
	struct matrix first;
	size_t i, j, largest = 0;

	for (i = 0; i < report->panel_count; i++) {
		for (j = 0; j < all.count; j++)
			if (belongs(&all.list[j], &report->panels[i]))
				break;
		if (j == all.count) {
			all.list = grow(all.list, all.count, sizeof(*all.list));
			all.list[all.count++] = (struct matrix){0};
		}
		join(&all.list[j], &report->panels[i]);
	}
	for (j = 0; j < all.count; j++) {
		sort_locks(&all.list[j]);
		if (results_in(&all.list[j]) > results_in(&all.list[largest]))
			largest = j;
	}
	if (all.count > 0) {
		first = all.list[largest];
		memmove(&all.list[1], &all.list[0], largest * sizeof(first));
		all.list[0] = first;
	}
	return all;
}

void free_matrices(struct matrices *matrices)
{
	size_t i;

	for (i = 0; i < matrices->count; i++) {
		free((void *)matrices->list[i].panels);
		free((void *)matrices->list[i].locks);
	}
	free(matrices->list);
}

/* Cells. */

/* The result that the cell is compared with. */
static const struct report_result *find_other(const struct report_panel *panel,
					      const struct report *old, const char *lock,
					      int threads)
{
	if (old != NULL) {
		panel = find_panel(old, panel->title);
		return panel != NULL ? find_result(panel, lock, threads) : NULL;
	}
	return panel->reference != NULL ? find_result(panel, panel->reference, threads)
					: NULL;
}

static enum cell_kind kind_of(const struct report_panel *panel, const struct report *old,
			      const struct cell *cell, struct interval other)
{
	const struct report_figure figure = main_figure(panel);

	if (old != NULL)
		return is_changed(other, cell->value, &figure) ? CELL_RANKED : CELL_CLOSE;
	if (strcmp(cell->result->lock, panel->reference) == 0)
		return CELL_REFERENCE;
	return intervals_differ(cell->value, other) && !panel_takes_no_lock(panel)
		       ? CELL_RANKED
		       : CELL_CLOSE;
}

struct cell make_cell(const struct report_panel *panel, const struct report *old,
		      const char *lock, int threads)
{
	struct cell cell = {.result = find_result(panel, lock, threads)};
	const struct report_result *other = find_other(panel, old, lock, threads);
	const struct report_figure figure = main_figure(panel);
	struct interval value;

	if (cell.result == NULL)
		return cell;
	if (trouble_of(cell.result) != NULL) {
		cell.kind = CELL_TROUBLE;
		return cell;
	}
	if (!find_figure(cell.result, &figure, &cell.value))
		return cell;
	cell.kind = CELL_ALONE;
	if (other == NULL || !find_figure(other, &figure, &value))
		return cell;
	cell.times = times_better(cell.value, value, &figure);
	if (!isfinite(cell.times.low) || !isfinite(cell.times.high) ||
	    !(cell.times.low > 0))
		return cell;
	cell.reference = old != NULL ? "the older file" : panel->reference;
	cell.kind = kind_of(panel, old, &cell, value);
	return cell;
}

/* From 1 for slightly better to 4; -1 to -4 for worse. */
static int level_of(double times)
{
	static const double steps[] = {1.25, 1.6, 2.5};
	double how = times >= 1 ? times : 1 / times;
	int i, level = 1;

	for (i = 0; i < 3; i++)
		level += how >= steps[i];
	return times >= 1 ? level : -level;
}

static void write_class(FILE *out, const struct cell *cell)
{
	int level;

	switch (cell->kind) {
	case CELL_RANKED:
		level = level_of(cell->times.median);
		fprintf(out, "%s%d", level > 0 ? "good" : "bad", abs(level));
		break;
	case CELL_CLOSE:
		fprintf(out, "close");
		break;
	case CELL_REFERENCE:
		fprintf(out, "reference");
		break;
	default:
		fprintf(out, "alone");
	}
}

/* The tooltip: all that is known of the cell. */
static void write_tip(FILE *out, const struct report_panel *panel,
		      const struct cell *cell)
{
	const struct report_figure figure = main_figure(panel);
	char text[VALUE_BYTES];

	write_text(out, cell->result->lock);
	fprintf(out, ", ");
	write_text(out, panel->title);
	if (cell->result->threads > 0)
		fprintf(out, ", %d thread%s", cell->result->threads,
			cell->result->threads == 1 ? "" : "s");
	fprintf(out, ": ");
	if (cell->kind == CELL_TROUBLE) {
		write_text(out, trouble_of(cell->result));
		return;
	}
	format_interval(cell->value, figure.unit, text);
	write_text(out, text);
	if (cell->kind == CELL_CLOSE || cell->kind == CELL_RANKED) {
		fprintf(out, "; %.2f (%.2f to %.2f) times as good as ",
			cell->times.median, cell->times.low, cell->times.high);
		write_text(out, cell->reference);
		fprintf(out, "%s",
			cell->kind == CELL_CLOSE ? ", not told apart from it" : "");
	}
}

static void write_cell_text(FILE *out, const struct cell *cell)
{
	char text[VALUE_BYTES];

	if (cell->kind == CELL_TROUBLE) {
		fprintf(out, "&times;");
	} else if (cell->kind == CELL_ALONE) {
		format_value(cell->value.median, NULL, text);
		write_text(out, text);
	} else if (cell->kind == CELL_REFERENCE) {
		fprintf(out, "1");
	} else {
		fprintf(out, "%.*f",
			cell->times.median < 10	   ? 2
			: cell->times.median < 100 ? 1
						   : 0,
			cell->times.median);
	}
}

static void write_cell(FILE *out, const struct report_panel *panel,
		       const struct cell *cell, const char *lock)
{
	fprintf(out, "<td data-lock=\"");
	write_text(out, lock);
	if (cell->kind == CELL_NONE) {
		fprintf(out, "\"></td>");
		return;
	}
	fprintf(out, "\" class=\"pt ");
	write_class(out, cell);
	fprintf(out, "\" title=\"");
	write_tip(out, panel, cell);
	fprintf(out, "\">");
	write_cell_text(out, cell);
	fprintf(out, "</td>");
}

/* The matrix. */

/* Names are buttons if the browser runs scripts. */
static void write_heads(FILE *out, const struct report *report,
			const struct matrix *matrix)
{
	size_t i;

	fprintf(out, "<thead><tr><th scope=\"col\">workload, threads</th>");
	for (i = 0; i < matrix->lock_count; i++) {
		const char *lock = matrix->locks[i];
		bool is_first_peer = i > 0 && !is_pawls(lock) &&
				     is_pawls(matrix->locks[i - 1]);

		fprintf(out, "<th scope=\"col\"%s data-lock=\"",
			is_first_peer ? " class=\"peers\"" : "");
		write_text(out, lock);
		fprintf(out,
			"\"><button type=\"button\" class=\"pick\"><i class=\"swatch%s\" "
			"style=\"--own:var(--s%d)\"></i><span>",
			is_pawls(lock) ? "" : " hollow", colour_of(report, lock));
		write_text(out, lock);
		fprintf(out, "</span></button></th>");
	}
	fprintf(out, "</tr></thead>\n");
}

/* The rows of a panel share its title. */
static void write_panel_rows(FILE *out, const struct report *report,
			     const struct report *old, const struct matrix *matrix,
			     const struct report_panel *panel)
{
	int *threads = report_allocate(panel->count, sizeof(*threads));
	size_t i, j, n = all_threads_of(panel, threads);

	for (i = 0; i < n; i++) {
		fprintf(out, "<tr%s><th scope=\"row\"><a href=\"#p%zu\"%s>",
			i == 0 ? " class=\"first\"" : "",
			(size_t)(panel - report->panels),
			i == 0 ? "" : " class=\"again\" tabindex=\"-1\"");
		write_text(out, panel->title);
		fprintf(out, "</a>");
		if (threads[i] > 0)
			fprintf(out, " <b>%d<span class=\"again\"> thread%s</span></b>",
				threads[i], threads[i] == 1 ? "" : "s");
		fprintf(out, "</th>");
		for (j = 0; j < matrix->lock_count; j++) {
			struct cell cell = make_cell(panel, old, matrix->locks[j],
						     threads[i]);

			write_cell(out, panel, &cell, matrix->locks[j]);
		}
		fprintf(out, "</tr>\n");
	}
	free(threads);
}

void write_matrix(FILE *out, const struct report *report, const struct report *old,
		  const struct matrix *matrix)
{
	size_t i;

	fprintf(out, "<div class=\"box keys\" role=\"region\" tabindex=\"0\" "
		     "aria-label=\"All workloads by lock; arrow keys read the "
		     "cells\">\n<table class=\"matrix\">\n");
	write_heads(out, report, matrix);
	fprintf(out, "<tbody>\n");
	for (i = 0; i < matrix->panel_count; i++)
		write_panel_rows(out, report, old, matrix, matrix->panels[i]);
	fprintf(out, "</tbody></table></div>\n");
}
