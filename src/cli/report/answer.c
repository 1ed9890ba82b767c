/* SPDX-License-Identifier: MIT */
/* The first screen: the matrix, and three sentences that summarise it. */
#include "cli/report/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Totals over all cells of a lock. */
struct sum {
	const char *lock;
	size_t rows, first; /* rows it was measured in; rows it leads or ties */
	size_t better, worse, close;
	size_t times_count;
	double *times;
	struct place {
		double times;
		const struct report_panel *panel;
		int threads;
	} least, most;
};

/* Totals over all locks. */
struct total {
	size_t rows, cells, close, samples_least, samples_most;
	double confidence;
	const char *reference; /* NULL: there are several */
	bool is_mixed, is_simulated;
	bool has_less; /* in some rows less is better */
};

static void add_cell(struct sum *sum, const struct report_panel *panel, int threads,
		     const struct cell *cell)
{
	struct place place = {cell->times.median, panel, threads};

	if (cell->kind != CELL_CLOSE && cell->kind != CELL_RANKED)
		return;
	sum->close += cell->kind == CELL_CLOSE;
	sum->better += cell->kind == CELL_RANKED && cell->times.median > 1;
	sum->worse += cell->kind == CELL_RANKED && cell->times.median <= 1;
	if (sum->times_count == 0 || place.times < sum->least.times)
		sum->least = place;
	if (sum->times_count == 0 || place.times > sum->most.times)
		sum->most = place;
	sum->times[sum->times_count++] = place.times;
}

static void add_to_total(struct total *total, const struct report_panel *panel,
			 const struct cell *cell)
{
	size_t samples = json_array_size(json_object_get(cell->result->json, "samples"));

	if (cell->kind == CELL_NONE || cell->kind == CELL_TROUBLE)
		return;
	total->cells++;
	total->close += cell->kind == CELL_CLOSE;
	total->confidence = fmin(total->confidence, cell->value.confidence);
	total->has_less |= main_figure(panel).less_is_better;
	total->is_simulated |= strcmp(panel->file->tool, "sim") == 0;
	if (samples > 0 && (total->samples_least == 0 || samples < total->samples_least))
		total->samples_least = samples;
	if (samples > total->samples_most)
		total->samples_most = samples;
	if (cell->reference == NULL)
		return;
	if (total->reference != NULL && strcmp(total->reference, cell->reference) != 0)
		total->is_mixed = true;
	total->reference = cell->reference;
}

/* Counts for each lock whether it leads or ties with this number of threads. */
static void add_ranks(struct sum *sums, size_t count, const struct report_panel *panel,
		      int threads, struct total *total)
{
	struct ranked *ranked = report_allocate(panel->count, sizeof(*ranked));
	const struct report_figure figure = main_figure(panel);
	size_t i, j, n = rank(panel, &figure, threads, ranked);

	if (n > 1 && are_enough(ranked, n) && !panel_takes_no_lock(panel)) {
		total->rows++;
		for (i = 0; i < n; i++)
			for (j = 0; j < count; j++)
				if (strcmp(sums[j].lock, ranked[i].result->lock) == 0) {
					sums[j].rows++;
					sums[j].first += !intervals_differ(
						ranked[0].value, ranked[i].value);
				}
	}
	free(ranked);
}

static void sum_up(const struct matrix *matrix, const struct report *old,
		   struct sum *sums, struct total *total)
{
	size_t i, j, t, n;

	total->confidence = 1;
	for (i = 0; i < matrix->panel_count; i++) {
		const struct report_panel *panel = matrix->panels[i];
		int *threads = report_allocate(panel->count, sizeof(*threads));

		n = all_threads_of(panel, threads);
		for (t = 0; t < n; t++) {
			add_ranks(sums, matrix->lock_count, panel, threads[t], total);
			for (j = 0; j < matrix->lock_count; j++) {
				struct cell cell = make_cell(panel, old, sums[j].lock,
							     threads[t]);

				if (cell.result == NULL)
					continue;
				add_cell(&sums[j], panel, threads[t], &cell);
				add_to_total(total, panel, &cell);
			}
		}
		free(threads);
	}
}

/* The lock that leads most often; among equals, the one measured most. */
static const struct sum *find_best(const struct sum *sums, size_t count)
{
	const struct sum *best = NULL;
	size_t i;

	for (i = 0; i < count; i++)
		if (sums[i].first > 0 && (best == NULL || sums[i].first > best->first))
			best = &sums[i];
	return best;
}

static const struct sum *find_sum(const struct sum *sums, size_t count, const char *lock)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (strcmp(sums[i].lock, lock) == 0)
			return &sums[i];
	return NULL;
}

static void write_reference(FILE *out, const char *reference)
{
	write_text(out, reference);
	if (strcmp(reference, "pthread") == 0)
		fprintf(out, " (glibc)");
}

static void write_place(FILE *out, const struct place *place)
{
	fprintf(out, "%.2f (", place->times);
	write_text(out, place->panel->title);
	if (place->threads > 0)
		fprintf(out, ", %d thread%s", place->threads,
			place->threads == 1 ? "" : "s");
	fprintf(out, ")");
}

/* The best lock: of several rows by count, of one row by its lead. */
static void write_best(FILE *out, const struct matrix *matrix, const struct sum *sums,
		       const struct total *total)
{
	const struct sum *best = find_best(sums, matrix->lock_count);

	fprintf(out, "<li>");
	if (matrix->panel_count == 1 && total->rows <= 1) {
		write_verdict(out, matrix->panels[0], most_threads_of(matrix->panels[0]));
	} else if (best == NULL) {
		fprintf(out, "Nothing can be ranked: too few runs; 6 of each are "
			     "enough.");
	} else {
		fprintf(out, "<b>");
		write_text(out, best->lock);
		fprintf(out,
			"</b> is first, or cannot be told apart from the first, in %zu "
			"of %zu rows.",
			best->first, total->rows);
	}
	fprintf(out, "</li>\n");
}

/* The default lock against the reference, or else the best. */
static void write_default(FILE *out, const struct matrix *matrix, const struct sum *sums,
			  const struct total *total)
{
	const struct sum *best = find_best(sums, matrix->lock_count);
	const struct sum *sum = find_sum(sums, matrix->lock_count, "mutex");
	size_t n;

	if (sum == NULL || sum->times_count == 0)
		sum = best;
	if (sum == NULL || sum->times_count < 2)
		return;
	n = sum->times_count;
	fprintf(out, "<li><b>");
	write_text(out, sum->lock);
	fprintf(out, "</b>%s is %.2f times as good as ",
		strcmp(sum->lock, "mutex") == 0 ? ", the default," : "",
		estimate_median(sum->times, n).value);
	write_reference(out, total->is_mixed ? "the reference" : total->reference);
	fprintf(out, " in the median row, from ");
	write_place(out, &sum->least);
	fprintf(out, " to ");
	write_place(out, &sum->most);
	fprintf(out,
		": better in %zu, worse in %zu, not told apart in %zu of %zu.</li>\n",
		sum->better, sum->worse, sum->close, n);
}

/* How reliable the result is. */
static void write_trust(FILE *out, const struct total *total)
{
	double percent = floor(1000 * total->confidence) / 10;

	fprintf(out, "<li>");
	if (total->samples_most > 1 && total->samples_least == total->samples_most)
		fprintf(out, "Each cell is the median of %zu %s", total->samples_most,
			total->is_simulated ? "seeds" : "runs");
	else
		fprintf(out, "Each cell is a median");
	if (total->confidence > 0)
		fprintf(out,
			" in an interval that contains the true one with %.3g&nbsp;%% %s",
			percent,
			percent < 95 ? "at least, not 95" : "confidence or more");
	else
		fprintf(out, ", some of a single run, which ranks nothing");
	fprintf(out,
		"; %zu of %zu cells are pale: they cannot be told apart from what they "
		"are compared with.</li>\n",
		total->close, total->cells);
}

static void write_changes(FILE *out, const struct sum *sums, size_t count,
			  const struct total *total)
{
	size_t i, better = 0, worse = 0;
	struct place least = {1, NULL, 0}, most = {1, NULL, 0};
	const char *lowest = "", *highest = "";

	for (i = 0; i < count; i++) {
		better += sums[i].better;
		worse += sums[i].worse;
		if (sums[i].worse > 0 && sums[i].least.times < least.times) {
			least = sums[i].least;
			lowest = sums[i].lock;
		}
		if (sums[i].better > 0 && sums[i].most.times > most.times) {
			most = sums[i].most;
			highest = sums[i].lock;
		}
	}
	fprintf(out, "<li>Of %zu results, %zu became better, and %zu worse.</li>\n",
		total->cells, better, worse);
	if (worse > 0) {
		fprintf(out, "<li>The worst is <b>");
		write_text(out, lowest);
		fprintf(out, "</b>: ");
		write_place(out, &least);
		fprintf(out, " times as good as before.</li>\n");
	}
	if (better > 0) {
		fprintf(out, "<li>The best is <b>");
		write_text(out, highest);
		fprintf(out, "</b>: ");
		write_place(out, &most);
		fprintf(out, " times as good as before.</li>\n");
	}
}

/* The legend of colours and numbers. */
static void write_key(FILE *out, const struct total *total, const struct report *old)
{
	static const struct {
		const char *class, *text;
	} steps[] = {{"bad4", "below 0.4"}, {"bad3", "0.4"},   {"bad2", "0.63"},
		     {"bad1", "0.8"},	    {"close", "pale"}, {"good1", "1"},
		     {"good2", "1.25"},	    {"good3", "1.6"},  {"good4", "2.5 and more"}};
	size_t i;

	fprintf(out, "<p class=\"key dim\">Times ");
	if (old != NULL)
		fprintf(out, "the older file");
	else if (total->reference == NULL || total->is_mixed)
		fprintf(out, "the reference of each row");
	else
		write_reference(out, total->reference);
	fprintf(out, "; above 1 is better%s: ",
		total->has_less ? ", so where less is better the ratio is inverted" : "");
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		fprintf(out, "<span class=\"%s\">%s</span> ", steps[i].class,
			steps[i].text);
	fprintf(out, "</p>\n");
}

void write_answer(FILE *out, const struct report *report, const struct report *old)
{
	struct matrices all = make_matrices(report);
	const struct matrix *matrix = all.list;
	struct total total = {0};
	struct sum *sums;
	size_t i, results = 0;

	if (all.count == 0)
		return;
	for (i = 0; i < matrix->panel_count; i++)
		results += matrix->panels[i]->count;
	sums = report_allocate(matrix->lock_count, sizeof(*sums));
	for (i = 0; i < matrix->lock_count; i++) {
		sums[i].lock = matrix->locks[i];
		sums[i].times = report_allocate(results, sizeof(double));
	}
	sum_up(matrix, old, sums, &total);
	write_matrix(out, report, old, matrix);
	write_key(out, &total, old);
	fprintf(out, "<ul class=\"answer\">\n");
	if (old != NULL) {
		write_changes(out, sums, matrix->lock_count, &total);
	} else {
		write_best(out, matrix, sums, &total);
		write_default(out, matrix, sums, &total);
		write_trust(out, &total);
	}
	fprintf(out, "</ul>\n");
	for (i = 0; i < matrix->lock_count; i++)
		free(sums[i].times);
	free(sums);
	free_matrices(&all);
}

void write_other_matrices(FILE *out, const struct report *report,
			  const struct report *old)
{
	struct matrices all = make_matrices(report);
	size_t i;

	if (all.count > 1)
		fprintf(out, "<section id=\"others\"><h2>Other objects</h2>\n");
	for (i = 1; i < all.count; i++)
		write_matrix(out, report, old, &all.list[i]);
	if (all.count > 1)
		fprintf(out, "</section>\n");
	free_matrices(&all);
}
