/* SPDX-License-Identifier: MIT */
/*
 * The plots of a panel. A plot over threads labels the few lines that matter and draws
 * the others in the background; rows show every lock by name.
 */
#include "cli/report/matrix.h"
#include "cli/report/plot.h"

#include "workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void open_figure(FILE *out)
{
	fprintf(out, "<figure>\n");
}

/* The caption of the plot above. */
static void close_figure(FILE *out, const struct report_figure *figure, int threads,
			 const char *note)
{
	fprintf(out, "<figcaption><b>");
	write_words(out, figure->title);
	fprintf(out, "</b>");
	if (figure->unit != NULL) {
		fprintf(out, ", ");
		write_text(out, figure->unit);
	}
	if (threads > 0)
		fprintf(out, ", %d thread%s", threads, threads == 1 ? "" : "s");
	if (*note != '\0')
		fprintf(out, ". %s", note);
	fprintf(out, "</figcaption>\n</figure>\n");
}

/* Lines. */

static void gather_line(const struct report_panel *panel,
			const struct report_figure *figure, const int *threads, size_t n,
			struct plot_line *line)
{
	double *x = report_allocate(n, sizeof(*x));
	struct interval *y = report_allocate(n, sizeof(*y));
	size_t i, j;

	for (i = 0; i < n; i++)
		for (j = 0; j < panel->count; j++) {
			const struct report_result *result = &panel->results[j];

			if (result->threads == threads[i] &&
			    strcmp(result->lock, line->name) == 0 &&
			    find_figure(result, figure, &y[line->count]))
				x[line->count++] = threads[i];
		}
	line->x = x;
	line->y = y;
}

static void free_line(struct plot_line *line)
{
	free((void *)(uintptr_t)line->x);
	free((void *)(uintptr_t)line->y);
}

/* One line for each lock of the panel that has the figure. */
static size_t gather_lines(const struct report_panel *panel,
			   const struct report_figure *figure, const int *threads,
			   size_t n, struct plot_line *lines)
{
	size_t i, j, count = 0;

	for (i = 0; i < panel->count; i++) {
		const char *lock = panel->results[i].lock;

		for (j = 0; j < count && strcmp(lines[j].name, lock) != 0; j++)
			;
		if (j < count)
			continue;
		lines[count].name = lock;
		lines[count].is_peer = is_peer_in(panel, lock);
		gather_line(panel, figure, threads, n, &lines[count]);
		if (lines[count].count > 0)
			count++;
		else
			free_line(&lines[count]);
	}
	return count;
}

/* A marker shape that is not taken; fixed for the first two. */
static int shape_of(const char *lock, const bool *taken)
{
	int shape = strcmp(lock, "mutex") == 0 ? 0 : is_glibc(lock) ? 1 : 2;

	while (taken[shape])
		shape = (shape + 1) % PLOT_SHAPES;
	return shape;
}

/* Chooses the labelled lines; returns the number of others. */
static size_t style_lines(const struct report *report, const struct report_panel *panel,
			  const struct report_figure *figure, struct plot_line *lines,
			  size_t count)
{
	const char *names[LINES_NAMED];
	size_t i, j, n = name_lines(panel, figure, names);
	bool shapes[PLOT_SHAPES] = {false};

	for (j = 0; j < count; j++)
		lines[j].colour = colour_of(report, lines[j].name);
	for (i = 0; i < n; i++)
		for (j = 0; j < count; j++)
			if (strcmp(lines[j].name, names[i]) == 0) {
				lines[j].is_named = true;
				lines[j].shape = shape_of(names[i], shapes);
				shapes[lines[j].shape] = true;
			}
	return count - n;
}

/* Plots over threads; nothing if there is only one number of threads. */
static void write_lines(FILE *out, const struct report *report,
			const struct report_panel *panel,
			const struct report_figure *figure)
{
	struct plot_line *lines = report_allocate(panel->count, sizeof(*lines));
	int *threads = report_allocate(panel->count, sizeof(*threads));
	struct plot_about about = {.label = figure->title, .unit = figure->unit};
	size_t i, n = all_threads_of(panel, threads), count, others;
	char note[80] = "";

	count = gather_lines(panel, figure, threads, n, lines);
	if (n > 1 && threads[0] > 0 && count > 0) {
		others = style_lines(report, panel, figure, lines, count);
		if (others > 0)
			snprintf(note, sizeof(note), "Grey: %zu more", others);
		open_figure(out);
		plot_lines(out, &about, lines, count);
		close_figure(out, figure, 0, note);
	}
	for (i = 0; i < count; i++)
		free_line(&lines[i]);
	free(lines);
	free(threads);
}

/* Rows. */

static struct plot_row make_row(const struct report *report,
				const struct report_panel *panel,
				const struct ranked *ranked)
{
	const char *lock = ranked->result->lock;

	return (struct plot_row){.name = lock,
				 .colour = colour_of(report, lock),
				 .is_peer = is_peer_in(panel, lock),
				 .marks = 1,
				 .value = ranked->value};
}

static void write_rows(FILE *out, const struct report *report,
		       const struct report_panel *panel,
		       const struct report_figure *figure)
{
	struct ranked *ranked = report_allocate(panel->count, sizeof(*ranked));
	int threads = most_threads_of(panel);
	size_t i, n = rank(panel, figure, threads, ranked);
	struct plot_row *rows = report_allocate(n, sizeof(*rows));
	struct plot_about about = {.label = figure->title,
				   .unit = figure->unit,
				   .threads = threads,
				   .are_shares = figure->key != NULL &&
						 strcmp(figure->key, "fairness") == 0};

	for (i = 0; i < n; i++) {
		rows[i] = make_row(report, panel, &ranked[i]);
		rows[i].is_reference = panel->reference != NULL &&
				       strcmp(rows[i].name, panel->reference) == 0;
	}
	if (n > 0) {
		open_figure(out);
		plot_rows(out, &about, rows, n);
		close_figure(out, figure, threads,
			     figure->less_is_better ? "Less is better" : "");
	}
	free(rows);
	free(ranked);
}

/* The percentiles of each lock's waits in one row, sorted by the 99th. */
static void write_waits(FILE *out, const struct report *report,
			const struct report_panel *panel)
{
	static const char *const keys[PLOT_MARKS] = {"p50", "p99", "p999", "max"};
	static const char *const names[PLOT_MARKS] = {
		"median wait", "99 % of the waits up to", "99.9 % up to", "longest wait"};
	const struct report_figure title = {.title = "Waits", .unit = "each timed"};
	struct report_figure p99 = figure_named("wait_ns", "p99");
	struct ranked *ranked = report_allocate(panel->count, sizeof(*ranked));
	struct plot_about about = {
		.label = "Waits", .unit = "ns", .threads = most_threads_of(panel)};
	size_t i, j, n = rank(panel, &p99, about.threads, ranked);
	struct plot_row *rows = report_allocate(n, sizeof(*rows));

	for (i = 0; i < n; i++) {
		rows[i] = make_row(report, panel, &ranked[i]);
		rows[i].marks = PLOT_MARKS;
		rows[i].names = names;
		for (j = 0; j < PLOT_MARKS; j++) {
			struct report_figure one = figure_named("wait_ns", keys[j]);
			struct interval value = {.median = NAN};

			find_figure(ranked[i].result, &one, &value);
			rows[i].values[j] = fmax(value.median, 1); /* log scale */
		}
	}
	if (n > 0) {
		open_figure(out);
		plot_rows(out, &about, rows, n);
		close_figure(
			out, &title, about.threads,
			"&#9632;&nbsp;median, &#9675;&nbsp;99&nbsp;%, "
			"&#9671;&nbsp;99.9&nbsp;%, &times;&nbsp;longest, in one run");
	}
	free(rows);
	free(ranked);
}

static void write_troubles(FILE *out, const struct report_panel *panel)
{
	size_t i;

	for (i = 0; i < panel->count; i++) {
		const char *trouble = trouble_of(&panel->results[i]);

		if (trouble == NULL)
			continue;
		fprintf(out, "<p class=\"trouble\">Not ranked: <b>");
		write_text(out, panel->results[i].lock);
		fprintf(out, "</b>, ");
		write_text(out, trouble);
		fprintf(out, "</p>\n");
	}
}

static void write_times(FILE *out, const struct ranked *a, const struct ranked *b,
			const struct report_figure *figure)
{
	struct interval times = times_better(a->value, b->value, figure);

	if (isfinite(times.low) && isfinite(times.high))
		fprintf(out, "%.2f <small>(%.2f to %.2f)</small> times as good as ",
			times.median, times.low, times.high);
	else
		fprintf(out, "before ");
	write_text(out, b->result->lock);
}

/* The winner and its lead, or a tie. */
static void write_rank(FILE *out, const struct report_panel *panel,
		       const struct report_figure *figure, const struct ranked *ranked,
		       size_t n)
{
	size_t i, ties = count_ties(ranked, n);
	const struct ranked *other = &ranked[1];

	for (i = 1; i < n; i++)
		if (panel->reference != NULL &&
		    strcmp(ranked[i].result->lock, panel->reference) == 0)
			other = &ranked[i];
	if (ties > 1)
		fprintf(out, "the first %zu are too close to rank", ties);
	if (ties == 1 || intervals_differ(ranked[0].value, other->value)) {
		fprintf(out, "%s<b>", ties == 1 ? "" : "; ");
		write_text(out, ranked[0].result->lock);
		fprintf(out, "</b> is %s", ties == 1 ? "first, " : "");
		write_times(out, &ranked[0], other, figure);
	}
	fprintf(out, ".");
}

void write_verdict(FILE *out, const struct report_panel *panel, int threads)
{
	struct ranked *ranked = report_allocate(panel->count, sizeof(*ranked));
	const struct report_figure figure = main_figure(panel);
	size_t n = rank(panel, &figure, threads, ranked);

	if (n > 1) {
		if (threads > 0)
			fprintf(out, "%d thread%s: ", threads, threads == 1 ? "" : "s");
		if (panel_takes_no_lock(panel))
			fprintf(out, "the program takes no lock that pawl replaces: "
				     "nothing to rank.");
		else if (!are_enough(ranked, n))
			fprintf(out, "too few runs to rank; 6 of each are enough.");
		else
			write_rank(out, panel, &figure, ranked, n);
	} else {
		fprintf(out, "There is nothing to compare with.");
	}
	free(ranked);
}

/* The workload's description. */
static void write_about(FILE *out, const struct report_panel *panel)
{
	const char *name = json_string_value(
		json_object_get(panel->results[0].json, "workload"));
	const struct workload *const *w;

	for (w = workloads; *w != NULL; w++)
		if (strcmp((*w)->name, name) == 0) {
			fprintf(out, "<p class=\"dim\">");
			write_text(out, (*w)->about);
			fprintf(out, "</p>\n");
		}
}

/* Rows of the other figures. */
static void write_more_rows(FILE *out, const struct report *report,
			    const struct report_panel *panel)
{
	static const char *const costs[] = {"wall_s", "cpu_s", "context_switches",
					    "max_rss"};
	const struct report_figure fairness = figure_named(NULL, "fairness");
	struct report_figure first = main_figure(panel), figures[REPORT_FIGURES];
	size_t i, n;

	if (strcmp(panel->file->tool, "try") == 0) {
		for (i = strcmp(first.key, costs[0]) == 0; i < 4; i++) {
			figures[0] = figure_named(NULL, costs[i]);
			write_rows(out, report, panel, &figures[0]);
		}
	} else if (strcmp(panel->file->tool, "bench") == 0) {
		write_waits(out, report, panel);
		if (most_threads_of(panel) > 1)
			write_rows(out, report, panel, &fairness);
		n = own_figures(panel, figures);
		for (i = 0; i < n; i++)
			write_rows(out, report, panel, &figures[i]);
	}
}

void write_panel(FILE *out, const struct report *report, const struct report_panel *panel)
{
	struct report_figure figure = main_figure(panel), lines[LINE_FIGURES];
	size_t i, n = line_figures(panel, lines);

	fprintf(out, "<section class=\"panel\" id=\"p%zu\">\n<h2>",
		(size_t)(panel - report->panels));
	write_text(out, panel->title);
	if (report->file_count > 1) {
		fprintf(out, " <small>");
		write_text(out, panel->file->path);
		fprintf(out, "</small>");
	}
	fprintf(out, "</h2>\n");
	if (strcmp(panel->file->tool, "bench") == 0)
		write_about(out, panel);
	fprintf(out, "<p>"); /* the same as the plots, with the most threads */
	write_verdict(out, panel, most_threads_of(panel));
	fprintf(out, "</p>\n");
	write_troubles(out, panel);
	fprintf(out, "<div class=\"grid\">\n");
	write_lines(out, report, panel, &figure);
	write_rows(out, report, panel, &figure);
	for (i = 1; i < n; i++)
		write_lines(out, report, panel, &lines[i]);
	write_more_rows(out, report, panel);
	fprintf(out, "</div>\n");
	write_numbers(out, panel, &figure);
	fprintf(out, "</section>\n");
}
