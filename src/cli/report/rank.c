/* SPDX-License-Identifier: MIT */
/* Rankings, and the choice of lines that a plot labels. */
#include "cli/report/report.h"

#include <stdlib.h>
#include <string.h>

static bool less_first;

static int by_value(const void *a, const void *b)
{
	double x = ((const struct ranked *)a)->value.median;
	double y = ((const struct ranked *)b)->value.median;

	return less_first ? (x > y) - (x < y) : (x < y) - (x > y);
}

size_t rank(const struct report_panel *panel, const struct report_figure *figure,
	    int threads, struct ranked *ranked)
{
	size_t i, n = 0;

	for (i = 0; i < panel->count; i++)
		if (panel->results[i].threads == threads &&
		    find_figure(&panel->results[i], figure, &ranked[n].value))
			ranked[n++].result = &panel->results[i];
	less_first = figure->less_is_better;
	qsort(ranked, n, sizeof(*ranked), by_value);
	return n;
}

size_t count_ties(const struct ranked *ranked, size_t n)
{
	size_t i, ties = 1;

	for (i = 1; i < n; i++)
		ties += !intervals_differ(ranked[0].value, ranked[i].value);
	return ties;
}

bool are_enough(const struct ranked *ranked, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (ranked[i].value.confidence <= 0)
			return false;
	return true;
}

bool panel_takes_no_lock(const struct report_panel *panel)
{
	bool is_counted = false;
	size_t i;

	for (i = 0; i < panel->count; i++) {
		const json_t *json = panel->results[i].json;
		const json_t *count = json_object_get(json, "acquisitions");
		const json_t *more = json_object_get(json, "rwlock_acquisitions");

		if (json_number_value(count) > 0 || json_number_value(more) > 0)
			return false;
		is_counted |= json_is_number(count);
	}
	return is_counted;
}

size_t line_figures(const struct report_panel *panel,
		    struct report_figure figures[LINE_FIGURES])
{
	size_t n = 0;

	figures[n++] = main_figure(panel);
	if (strcmp(panel->file->tool, "sim") == 0) {
		figures[n++] = figure_named("per_episode", "misses");
		figures[n++] = figure_named("per_episode", "invalidations");
	}
	return n;
}

/* The locks that a reader looks for first: the default and the reference. */
static bool stands_out(const struct report_panel *panel, const char *lock)
{
	return strcmp(lock, "mutex") == 0 ||
	       (panel->reference != NULL && strcmp(lock, panel->reference) == 0);
}

/* These, the worst, and the best of the others with the most threads. */
size_t name_lines(const struct report_panel *panel, const struct report_figure *figure,
		  const char *names[LINES_NAMED])
{
	struct ranked *ranked = report_allocate(panel->count, sizeof(*ranked));
	size_t n = rank(panel, figure, most_threads_of(panel), ranked), named = 0, i;
	int pass;

	for (pass = 0; pass < 3; pass++)
		for (i = 0; i < n && named < LINES_NAMED; i++) {
			const char *lock = ranked[i].result->lock;
			int turn = stands_out(panel, lock) ? 0 : i + 1 == n ? 1 : 2;

			if (turn == pass)
				names[named++] = lock;
		}
	free(ranked);
	return named;
}
