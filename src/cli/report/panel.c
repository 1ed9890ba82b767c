/* SPDX-License-Identifier: MIT */
/*
 * What is drawn of a panel. A plot over threads names the few lines that matter
 * and keeps the others in the background; rows beneath each other show every lock
 * by name.
 */
#include "cli/common/options.h"
#include "cli/report/report.h"
#include "cli/report/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many lines can be told apart. */
enum { LINES_NAMED = PLOT_SHAPES };

static const struct report_figure fairness = {
	.key = "fairness", .title = "Fairness", .unit = "least / most progressed thread"};

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count + 1, size);

	if (memory == NULL)
		give_up("out of memory");
	return memory;
}

/* What the others are compared with, if it is there. */
static bool is_reference(const char *lock)
{
	return strcmp(lock, "pthread") == 0 || strcmp(lock, "glibc") == 0;
}

/* One of pawl's locks, or a variant that a workload has of its own. */
static bool is_peer(const struct report_panel *panel, const char *lock)
{
	size_t i;

	if (is_pawls(lock))
		return false;
	for (i = 0; i < panel->count; i++)
		if (is_pawls(panel->results[i].lock))
			return true;
	return false;
}

/* A row of numbers, sorted. */
struct ranked {
	const struct report_result *result;
	struct interval value;
};

static bool less_first;

static int by_value(const void *a, const void *b)
{
	double x = ((const struct ranked *)a)->value.median;
	double y = ((const struct ranked *)b)->value.median;

	return less_first ? (x > y) - (x < y) : (x < y) - (x > y);
}

/* The results at so many threads that have the figure, best first. */
static size_t rank(const struct report_panel *panel, const struct report_figure *figure,
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

static void open_figure(FILE *out)
{
	fprintf(out, "<figure>\n");
}

/* Says what the plot above shows. */
static void close_figure(FILE *out, const struct report_figure *figure, int threads,
			 const char *note)
{
	fprintf(out, "<figcaption><b>");
	write_text(out, figure->title);
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
	double *x = allocate(n, sizeof(*x));
	struct interval *y = allocate(n, sizeof(*y));
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
		lines[count].is_peer = is_peer(panel, lock);
		gather_line(panel, figure, threads, n, &lines[count]);
		if (lines[count].count > 0)
			count++;
		else
			free_line(&lines[count]);
	}
	return count;
}

/* The line's style, not one of those taken: 1 and 2 are for who is looked for
 * first, the others have the same in most plots, by their names. */
static int style_of(const char *lock, const bool *taken)
{
	enum { FIRST = 3 };
	unsigned sum = 0;
	const char *c;

	if (strcmp(lock, "mutex") == 0)
		return 1;
	if (is_reference(lock))
		return 2;
	for (c = lock; *c != '\0'; c++)
		sum = 31 * sum + (unsigned char)*c;
	while (taken[FIRST + sum % LINES_NAMED])
		sum++;
	return FIRST + (int)(sum % LINES_NAMED);
}

static bool stands_out(const char *lock)
{
	return strcmp(lock, "mutex") == 0 || is_reference(lock);
}

/* The shape of its marks, in the same way: there are as many as named lines. */
static int shape_of(int style, const bool *taken)
{
	int shape = style <= 2 ? style - 1 : 2;

	while (taken[shape])
		shape = (shape + 1) % LINES_NAMED;
	return shape;
}

/* Names the default, the reference, the worst, and the best of the others with
 * the most threads; returns how many are not named. */
static size_t choose_styles(const struct report_panel *panel,
			    const struct report_figure *figure, struct plot_line *lines,
			    size_t count)
{
	struct ranked *ranked = allocate(panel->count, sizeof(*ranked));
	size_t n = rank(panel, figure, most_threads_of(panel), ranked), named = 0, i, j;
	bool styles[LINES_NAMED + 3] = {false}, shapes[LINES_NAMED] = {false};
	int pass;

	for (pass = 0; pass < 3; pass++)
		for (i = 0; i < n && named < LINES_NAMED; i++) {
			const char *lock = ranked[i].result->lock;
			int turn = stands_out(lock) ? 0 : i + 1 == n ? 1 : 2;

			for (j = 0; turn == pass && j < count; j++)
				if (strcmp(lines[j].name, lock) == 0) {
					lines[j].style = style_of(lock, styles);
					styles[lines[j].style] = true;
					lines[j].shape = shape_of(lines[j].style, shapes);
					shapes[lines[j].shape] = true;
					named++;
				}
		}
	free(ranked);
	return count - named;
}

/* Over threads; nothing, if there is but one number of them. */
static void write_lines(FILE *out, const struct report_panel *panel,
			const struct report_figure *figure)
{
	struct plot_line *lines = allocate(panel->count, sizeof(*lines));
	int *threads = allocate(panel->count, sizeof(*threads));
	size_t i, n = all_threads_of(panel, threads), count, others;
	char note[80] = "";

	count = gather_lines(panel, figure, threads, n, lines);
	if (n > 1 && threads[0] > 0 && count > 0) {
		others = choose_styles(panel, figure, lines, count);
		if (others > 0)
			snprintf(note, sizeof(note), "Grey: %zu more, as in the table",
				 others);
		open_figure(out);
		plot_lines(out, figure->title, lines, count);
		close_figure(out, figure, 0, note);
	}
	for (i = 0; i < count; i++)
		free_line(&lines[i]);
	free(lines);
	free(threads);
}

/* Rows. */

static void write_rows(FILE *out, const struct report_panel *panel,
		       const struct report_figure *figure)
{
	struct ranked *ranked = allocate(panel->count, sizeof(*ranked));
	int threads = most_threads_of(panel);
	size_t i, n = rank(panel, figure, threads, ranked);
	struct plot_row *rows = allocate(n, sizeof(*rows));

	for (i = 0; i < n; i++) {
		rows[i].name = ranked[i].result->lock;
		rows[i].is_peer = is_peer(panel, rows[i].name);
		rows[i].is_reference = is_reference(rows[i].name);
		rows[i].marks = 1;
		rows[i].value = ranked[i].value;
	}
	if (n > 0) {
		open_figure(out);
		plot_rows(out, figure->title, rows, n, figure == &fairness);
		close_figure(out, figure, threads,
			     figure->less_is_better ? "Less is better" : "");
	}
	free(rows);
	free(ranked);
}

static const struct report_figure waits[PLOT_MARKS] = {
	{.group = "wait_ns", .key = "p50", .title = "p50"},
	{.group = "wait_ns", .key = "p99", .title = "p99"},
	{.group = "wait_ns", .key = "p999", .title = "p99.9"},
	{.group = "wait_ns", .key = "max", .title = "max"},
};

/* The percentiles of a lock's waits in one row, by the 99th. */
static void write_waits(FILE *out, const struct report_panel *panel)
{
	static const struct report_figure title = {.title = "Waits", .unit = "ns"};
	struct ranked *ranked = allocate(panel->count, sizeof(*ranked));
	struct report_figure p99 = waits[1];
	int threads = most_threads_of(panel);
	struct plot_row *rows;
	size_t i, j, n;

	p99.less_is_better = true;
	n = rank(panel, &p99, threads, ranked);
	rows = allocate(n, sizeof(*rows));
	for (i = 0; i < n; i++) {
		rows[i].name = ranked[i].result->lock;
		rows[i].is_peer = is_peer(panel, rows[i].name);
		rows[i].marks = PLOT_MARKS;
		for (j = 0; j < PLOT_MARKS; j++) {
			struct interval value = {.median = NAN};

			find_figure(ranked[i].result, &waits[j], &value);
			rows[i].values[j] = fmax(value.median, 1); /* log scale */
		}
	}
	if (n > 0) {
		open_figure(out);
		plot_rows(out, "Waits", rows, n, false);
		close_figure(out, &title, threads,
			     "&#9632;&nbsp;median, &#9675;&nbsp;99&nbsp;%, "
			     "&#9671;&nbsp;99.9&nbsp;%, &times;&nbsp;longest");
	}
	free(rows);
	free(ranked);
}

/* What else a workload measures, under names of its own. */
static void write_extra(FILE *out, const struct report_panel *panel)
{
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(panel->results[0].json, "figures"), key,
			    value)
	{
		char title[64], *c;
		struct report_figure figure = {
			.group = "figures", .key = key, .title = title};

		snprintf(title, sizeof(title), "%.*s",
			 (int)whole_letters(key, sizeof(title) - 1), key);
		for (c = title; *c != '\0'; c++)
			if (*c == '_')
				*c = ' ';
		write_rows(out, panel, &figure);
	}
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

/* So many of the ranked, the first included, have intervals that touch its own. */
static size_t count_ties(const struct ranked *ranked, size_t n)
{
	size_t i, ties = 1;

	for (i = 1; i < n; i++)
		ties += !intervals_differ(ranked[0].value, ranked[i].value);
	return ties;
}

/* One run says nothing about the next. */
static bool are_enough(const struct ranked *ranked, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (ranked[i].value.confidence <= 0)
			return false;
	return true;
}

static void write_times(FILE *out, const struct ranked *a, const struct ranked *b)
{
	struct interval times = interval_ratio(a->value, b->value);

	if (isfinite(times.low) && isfinite(times.high))
		fprintf(out, "%.2f <small>(%.2f to %.2f)</small> times ", times.median,
			times.low, times.high);
	else
		fprintf(out, "before ");
	write_text(out, b->result->lock);
}

/* Whether it was counted, under some lock, that the program takes none. */
static bool takes_no_lock(const struct report_panel *panel)
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

/* Who is first, by how much; or that none is. */
static void write_rank(FILE *out, const struct ranked *ranked, size_t n)
{
	size_t i, ties = count_ties(ranked, n);
	const struct ranked *other = &ranked[1];

	for (i = 1; i < n; i++)
		if (is_reference(ranked[i].result->lock))
			other = &ranked[i];
	if (ties > 1)
		fprintf(out, "the first %zu are too close to rank", ties);
	if (ties == 1 || intervals_differ(ranked[0].value, other->value)) {
		fprintf(out, "%s<b>", ties == 1 ? "" : "; ");
		write_text(out, ranked[0].result->lock);
		fprintf(out, "</b> is %s", ties == 1 ? "first, " : "");
		write_times(out, &ranked[0], other);
	}
	fprintf(out, ".");
}

/* The verdict: as the plots, with the most threads. */
static void write_sentence(FILE *out, const struct report_panel *panel,
			   const struct report_figure *figure)
{
	struct ranked *ranked = allocate(panel->count, sizeof(*ranked));
	int threads = most_threads_of(panel);
	size_t n = rank(panel, figure, threads, ranked);

	if (n > 1) {
		fprintf(out, "<p>");
		if (threads > 0)
			fprintf(out, "%d thread%s: ", threads, threads == 1 ? "" : "s");
		if (takes_no_lock(panel))
			fprintf(out, "the program takes no lock that pawl stands in for: "
				     "nothing to rank.");
		else if (!are_enough(ranked, n))
			fprintf(out, "too few runs to rank; 5 of each are enough.");
		else
			write_rank(out, ranked, n);
		fprintf(out, "</p>\n");
	}
	free(ranked);
}

void write_panel(FILE *out, const struct report_panel *panel)
{
	static const struct report_figure misses = {.group = "per_episode",
						    .key = "misses",
						    .title = "Misses",
						    .unit = "per episode",
						    .less_is_better = true};
	static const struct report_figure invalidations = {.group = "per_episode",
							   .key = "invalidations",
							   .title = "Invalidations",
							   .unit = "per episode",
							   .less_is_better = true};
	struct report_figure figure = main_figure(panel);
	size_t i;

	fprintf(out, "<section class=\"panel\">\n<h2>");
	write_text(out, panel->title);
	fprintf(out, " <small>");
	write_text(out, panel->file->path);
	fprintf(out, "</small></h2>\n");
	write_sentence(out, panel, &figure);
	write_troubles(out, panel);
	fprintf(out, "<div class=\"grid\">\n");
	write_lines(out, panel, &figure);
	write_rows(out, panel, &figure);
	if (strcmp(panel->file->tool, "sim") == 0) {
		write_lines(out, panel, &misses);
		write_lines(out, panel, &invalidations);
	} else if (strcmp(panel->file->tool, "try") == 0) {
		for (i = strcmp(figure.key, "wall_s") == 0; i < REPORT_COSTS; i++)
			write_rows(out, panel, &report_columns[i]);
	} else {
		write_waits(out, panel);
		if (most_threads_of(panel) > 1)
			write_rows(out, panel, &fairness);
		write_extra(out, panel);
	}
	fprintf(out, "</div>\n");
	write_numbers(out, panel, &figure);
	fprintf(out, "</section>\n");
}
