/* SPDX-License-Identifier: MIT */
#include "cli/report/plot.h"

#include "cli/report/report.h"
#include "cli/report/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In pixels, that is, SVG units. */
enum {
	WIDTH = 400,
	LINES_HEIGHT = 290,
	ROW_HEIGHT = 17,
	TOP = 10,
	BOTTOM = 40,	  /* with an axis title */
	ROWS_BOTTOM = 24, /* without */
	TICK_ROOM = 50,	  /* left of a value axis */
	TICK = 3,	  /* length of a tick */
	TICK_GAP = 12,	  /* from an axis to the middle of its numbers */
	TITLE_GAP = 29,	  /* ... of its title */
	LABEL_GAP = 14,	  /* between labels, vertically */
	TICKS_MAX = 16,
	NAME_LETTERS = 24, /* shown of a name */
};

/* An upper bound of the mean width of a letter. */
static const double letter_width = 6.7;

/* Half widths of marks and of the caps of bars. */
static const double mark_size = 2.7, small_mark = 2.25, dot_size = 1.2, cap = 2.6;

/* Scales. */

struct scale {
	double low, high;
	bool is_log;
	size_t count;
	double ticks[TICKS_MAX];
};

/* The least of 1, 2 and 5 times a power of ten that is at least `step`. */
static double round_up(double step)
{
	double power = pow(10, floor(log10(step)));

	if (step <= power)
		return power;
	return step <= 2 * power ? 2 * power : step <= 5 * power ? 5 * power : 10 * power;
}

/* Decades, or every n-th. */
static void scale_by_decades(struct scale *scale, double low, double high)
{
	int first = (int)floor(log10(low) + 1e-9), last = (int)ceil(log10(high) - 1e-9);
	int step = (last - first + 6) / 7, i;

	scale->is_log = true;
	scale->low = pow(10, first) * 0.9999; /* rounding must not drop a tick */
	scale->high = pow(10, last) * 1.0001;
	for (i = first; i <= last; i += step)
		scale->ticks[scale->count++] = pow(10, i);
}

/* From 0, unless the data would then be squeezed into a corner. */
static void scale_by_steps(struct scale *scale, double low, double high, bool from_zero)
{
	double step;
	size_t i, last;

	if (low > high) /* no values */
		low = high = 0;
	if (low >= 0 && (from_zero || low < 0.7 * high))
		low = 0;
	if (high - low <= 1e-9 * fabs(high)) /* a single value, or nearly */
		high = low + (low == 0 ? 1 : fabs(low) * 0.1);
	step = round_up((high - low) / 5);
	scale->low = floor(low / step + 1e-9) * step;
	scale->high = ceil(high / step - 1e-9) * step;
	last = (size_t)round((scale->high - scale->low) / step);
	for (i = 0; i <= last && scale->count < TICKS_MAX; i++) {
		double tick = scale->low + (double)i * step;

		scale->ticks[scale->count++] = fabs(tick) < step / 2 ? 0 : tick;
	}
}

static struct scale scale_for(double low, double high, bool from_zero)
{
	struct scale scale = {.count = 0};

	if (low > 0 && high > 30 * low)
		scale_by_decades(&scale, low, high);
	else
		scale_by_steps(&scale, low, high, from_zero);
	return scale;
}

/* Position of a value, from 0 to 1. */
static double place_on(const struct scale *scale, double value)
{
	if (scale->is_log)
		return log(value / scale->low) / log(scale->high / scale->low);
	return (value - scale->low) / (scale->high - scale->low);
}

void format_number(double value, char text[NUMBER_BYTES])
{
	static const struct {
		double unit;
		const char *letter;
	} prefixes[] = {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {0, ""}};
	size_t i = 0;

	while (prefixes[i].unit > 0 && fabs(value) < prefixes[i].unit * 0.99999)
		i++;
	snprintf(text, NUMBER_BYTES, "%.3g%s",
		 prefixes[i].unit > 0 ? value / prefixes[i].unit : value,
		 prefixes[i].letter);
}

/* The width of the longest name. */
static double name_room(size_t longest)
{
	return letter_width * (double)(longest < NAME_LETTERS ? longest : NAME_LETTERS);
}

static void widen(double value, double *low, double *high)
{
	if (!isfinite(value))
		return;
	*low = fmin(*low, value);
	*high = fmax(*high, value);
}

/* The area of the data. */
struct frame {
	double left, right, top, bottom;
};

static double across(const struct frame *frame, const struct scale *scale, double value)
{
	return frame->left + (frame->right - frame->left) * place_on(scale, value);
}

static double upwards(const struct frame *frame, const struct scale *scale, double value)
{
	return frame->bottom - (frame->bottom - frame->top) * place_on(scale, value);
}

static const struct svg_pen grid = {SVG_GRID, 0.8, NULL};
static const struct svg_pen tick_pen = {SVG_INK, 1, NULL};

static void write_label(FILE *out, enum svg_anchor anchor, double x, double y,
			const char *text)
{
	svg_text(out, SVG_INK, anchor, (struct svg_point){x, y}, text, NUMBER_BYTES);
}

/* A number at an axis; times have their unit, which varies. */
static void write_tick(FILE *out, const struct plot_about *about, enum svg_anchor anchor,
		       double x, double y, double value)
{
	char text[VALUE_BYTES];
	bool is_time = about->unit != NULL &&
		       (strcmp(about->unit, "ns") == 0 || strcmp(about->unit, "s") == 0 ||
			strcmp(about->unit, "ms") == 0);

	format_value(value, is_time ? about->unit : NULL, text);
	write_label(out, anchor, x, y, text);
}

/* Tooltip of a mark: lock, threads, and the value with its interval. */
enum { TITLE_BYTES = 400 };
static void format_title(const struct plot_about *about, const char *name, double threads,
			 const char *mark, struct interval value, char *title)
{
	char text[VALUE_BYTES], many[40] = "";

	format_interval(value, about->unit, text);
	if (threads > 0)
		snprintf(many, sizeof(many), ", %.0f thread%s", threads,
			 threads > 1 ? "s" : "");
	snprintf(title, TITLE_BYTES, "%.*s%s%s%s: %s", (int)whole_letters(name, 200),
		 name, many, mark != NULL ? ", " : "", mark != NULL ? mark : "", text);
}

/* Lines. */

/* Position of a label, in pixels from the top. */
struct place {
	const struct plot_line *line;
	double wanted, given;
};

static int from_above(const void *a, const void *b)
{
	double x = ((const struct place *)a)->wanted,
	       y = ((const struct place *)b)->wanted;

	return (x > y) - (x < y);
}

/* Moves labels apart: down where they overlap, then up from the bottom. */
static void spread(struct place *places, size_t n, double top, double bottom)
{
	size_t i;

	qsort(places, n, sizeof(*places), from_above);
	for (i = 0; i < n; i++) {
		double limit = i == 0 ? top : places[i - 1].given + LABEL_GAP;

		places[i].given = fmax(places[i].wanted, limit);
	}
	for (i = n; i-- > 0;) {
		double limit = i + 1 == n ? bottom : places[i + 1].given - LABEL_GAP;

		places[i].given = fmin(places[i].given, limit);
	}
}

/* Labels at the lines' ends, connected by thin lines. */
static void write_labels(FILE *out, const struct plot_line *lines, size_t count,
			 const struct frame *frame, const struct scale *x,
			 const struct scale *y)
{
	static const struct svg_pen pen = {SVG_FAINT, 0.5, NULL};
	struct place *places = report_allocate(count, sizeof(*places));
	size_t i, n = 0;

	for (i = 0; i < count; i++)
		if (lines[i].is_named && lines[i].count > 0) {
			const struct interval *last = &lines[i].y[lines[i].count - 1];

			places[n].line = &lines[i];
			places[n++].wanted = upwards(frame, y, last->median);
		}
	spread(places, n, frame->top, frame->bottom - 4);
	for (i = 0; i < n; i++) {
		const struct plot_line *line = places[i].line;
		size_t last = line->count - 1;

		svg_begin_lock(out, line->name, line->colour, false);
		svg_line(out, &pen,
			 (struct svg_point){across(frame, x, line->x[last]),
					    upwards(frame, y, line->y[last].median)},
			 (struct svg_point){frame->right + 11, places[i].given});
		svg_text(out, SVG_OWN, SVG_START,
			 (struct svg_point){frame->right + 13, places[i].given},
			 line->name, NAME_LETTERS);
		svg_end_lock(out);
	}
	free(places);
}

/* The least number of threads above this one; infinite if there is none. */
static double next_above(const struct plot_line *lines, size_t count, double threads)
{
	double next = INFINITY;
	size_t i, j;

	for (i = 0; i < count; i++)
		for (j = 0; j < lines[i].count; j++)
			if (lines[i].x[j] > threads)
				next = fmin(next, lines[i].x[j]);
	return next;
}

/* Logarithmic in the number of threads; a single number is in the middle. */
static struct scale scale_of_threads(const struct plot_line *lines, size_t count)
{
	double low = INFINITY, high = 0;
	size_t i, j;

	for (i = 0; i < count; i++)
		for (j = 0; j < lines[i].count; j++)
			widen(lines[i].x[j], &low, &high);
	return (struct scale){.low = low * 0.9999, .high = high * 1.0001, .is_log = true};
}

/* Only ticks that have room. */
static void write_threads_axis(FILE *out, const struct plot_line *lines, size_t count,
			       const struct frame *frame, const struct scale *scale)
{
	double tick, shown = -INFINITY;
	char text[NUMBER_BYTES];

	for (tick = next_above(lines, count, 0); tick < INFINITY;
	     tick = next_above(lines, count, tick)) {
		double x = across(frame, scale, tick);

		if (x - shown < 26)
			continue;
		shown = x;
		svg_line(out, &tick_pen, (struct svg_point){x, frame->bottom},
			 (struct svg_point){x, frame->bottom - TICK});
		snprintf(text, sizeof(text), "%.0f", tick);
		write_label(out, SVG_MIDDLE, x, frame->bottom + TICK_GAP, text);
	}
	write_label(out, SVG_MIDDLE, (frame->left + frame->right) / 2,
		    frame->bottom + TITLE_GAP, "threads");
}

/* Ticks on the left, and grid lines. */
static void write_value_axis(FILE *out, const struct plot_about *about,
			     const struct frame *frame, const struct scale *scale)
{
	size_t i;

	for (i = 0; i < scale->count; i++) {
		double y = upwards(frame, scale, scale->ticks[i]);

		svg_line(out, &grid, (struct svg_point){frame->left, y},
			 (struct svg_point){frame->right, y});
		svg_line(out, &tick_pen, (struct svg_point){frame->left, y},
			 (struct svg_point){frame->left + TICK, y});
		write_tick(out, about, SVG_END, frame->left - 8, y, scale->ticks[i]);
	}
}

/* An error bar between two points, with caps. */
static void write_bar(FILE *out, const struct svg_pen *pen, struct svg_point from,
		      struct svg_point to)
{
	bool upright = fabs(from.x - to.x) < fabs(from.y - to.y);
	double x = upright ? cap : 0, y = upright ? 0 : cap;

	svg_line(out, pen, from, to);
	svg_line(out, pen, (struct svg_point){from.x - x, from.y - y},
		 (struct svg_point){from.x + x, from.y + y});
	svg_line(out, pen, (struct svg_point){to.x - x, to.y - y},
		 (struct svg_point){to.x + x, to.y + y});
}

/* Peers are dashed, with hollow marks; pawl's are solid, with filled ones. */
static void write_line(FILE *out, const struct plot_about *about,
		       const struct plot_line *line, const struct frame *frame,
		       const struct scale *x, const struct scale *y)
{
	const struct svg_pen pen = {SVG_OWN, line->is_named ? 1.6 : 0.8,
				    line->is_peer ? "4,3" : NULL};
	const struct svg_pen bar = {SVG_OWN, 0.9, NULL};
	struct svg_point *points = report_allocate(line->count, sizeof(*points));
	char title[TITLE_BYTES];
	size_t i;

	for (i = 0; i < line->count; i++)
		points[i] = (struct svg_point){across(frame, x, line->x[i]),
					       upwards(frame, y, line->y[i].median)};
	svg_begin_lock(out, line->name, line->colour, !line->is_named);
	svg_path(out, &pen, points, line->count);
	for (i = 0; i < line->count; i++) {
		if (line->is_named && line->y[i].low < line->y[i].high)
			write_bar(out, &bar,
				  (struct svg_point){points[i].x,
						     upwards(frame, y, line->y[i].low)},
				  (struct svg_point){points[i].x,
						     upwards(frame, y, line->y[i].high)});
		format_title(about, line->name, line->x[i], NULL, line->y[i], title);
		svg_mark(out, line->is_named ? (enum svg_shape)line->shape : SVG_CIRCLE,
			 line->is_peer, line->is_named ? mark_size : dot_size, points[i],
			 title);
	}
	svg_end_lock(out);
	free(points);
}

static struct scale scale_of_lines(const struct plot_line *lines, size_t count)
{
	double low = INFINITY, high = -INFINITY;
	size_t i, j;

	for (i = 0; i < count; i++)
		for (j = 0; j < lines[i].count; j++) {
			const struct interval *y = &lines[i].y[j];

			/* Background lines have no error bars. */
			widen(lines[i].is_named ? y->low : y->median, &low, &high);
			widen(lines[i].is_named ? y->high : y->median, &low, &high);
		}
	return scale_for(low, high, true);
}

void plot_lines(FILE *out, const struct plot_about *about, const struct plot_line *lines,
		size_t count)
{
	struct scale y = scale_of_lines(lines, count), x = scale_of_threads(lines, count);
	struct frame frame = {
		.left = TICK_ROOM, .top = TOP, .bottom = LINES_HEIGHT - BOTTOM};
	size_t i, longest = 0;
	int pass;

	for (i = 0; i < count; i++)
		if (lines[i].is_named && strlen(lines[i].name) > longest)
			longest = strlen(lines[i].name);
	frame.right = WIDTH - 18 - name_room(longest);
	svg_begin(out, about->label, WIDTH, LINES_HEIGHT);
	write_value_axis(out, about, &frame, &y);
	write_threads_axis(out, lines, count, &frame, &x);
	write_labels(out, lines, count, &frame, &x, &y);
	for (pass = 0; pass < 2; pass++) /* background first */
		for (i = 0; i < count; i++)
			if (lines[i].is_named == (pass == 1))
				write_line(out, about, &lines[i], &frame, &x, &y);
	svg_end(out);
}

/* Rows. */

static struct scale scale_of_rows(const struct plot_row *rows, size_t count,
				  bool are_shares)
{
	double low = INFINITY, high = -INFINITY;
	struct scale scale = {.count = 0};
	size_t i, j;

	if (are_shares) {
		scale_by_steps(&scale, 0, 1, true);
		return scale;
	}
	for (i = 0; i < count; i++) {
		if (rows[i].marks == 1) {
			widen(rows[i].value.low, &low, &high);
			widen(rows[i].value.high, &low, &high);
		} else {
			for (j = 0; j < rows[i].marks; j++)
				widen(rows[i].values[j], &low, &high);
		}
	}
	return scale_for(low, high, false);
}

/* One mark and its interval. */
static void write_value(FILE *out, const struct plot_about *about,
			const struct plot_row *row, const struct frame *frame,
			const struct scale *scale, double y)
{
	static const struct svg_pen bar = {SVG_OWN, 1.4, NULL};
	char title[TITLE_BYTES];

	if (row->value.low < row->value.high)
		write_bar(out, &bar,
			  (struct svg_point){across(frame, scale, row->value.low), y},
			  (struct svg_point){across(frame, scale, row->value.high), y});
	format_title(about, row->name, about->threads, NULL, row->value, title);
	svg_mark(out, SVG_CIRCLE, row->is_peer, mark_size,
		 (struct svg_point){across(frame, scale, row->value.median), y}, title);
}

/* Several marks joined by a line. */
static void write_values(FILE *out, const struct plot_about *about,
			 const struct plot_row *row, const struct frame *frame,
			 const struct scale *scale, double y)
{
	static const struct {
		enum svg_shape shape;
		bool is_hollow;
	} marks[PLOT_MARKS] = {{SVG_SQUARE, false},
			       {SVG_CIRCLE, true},
			       {SVG_DIAMOND, true},
			       {SVG_CROSS, true}};
	const struct svg_pen pen = {SVG_OWN, 1, row->is_peer ? "4,3" : NULL};
	char title[TITLE_BYTES];
	size_t i;

	svg_line(
		out, &pen, (struct svg_point){across(frame, scale, row->values[0]), y},
		(struct svg_point){across(frame, scale, row->values[row->marks - 1]), y});
	for (i = 0; i < row->marks; i++) {
		format_title(about, row->name, about->threads, row->names[i],
			     (struct interval){.median = row->values[i]}, title);
		svg_mark(out, marks[i].shape, marks[i].is_hollow, small_mark,
			 (struct svg_point){across(frame, scale, row->values[i]), y},
			 title);
	}
}

void plot_rows(FILE *out, const struct plot_about *about, const struct plot_row *rows,
	       size_t count)
{
	static const struct svg_pen dotted = {SVG_FAINT, 0.8, "2,2"};
	struct scale scale = scale_of_rows(rows, count, about->are_shares);
	int height = TOP + ROWS_BOTTOM + ROW_HEIGHT * (int)count;
	struct frame frame = {
		.right = WIDTH - 24, .top = TOP, .bottom = height - ROWS_BOTTOM};
	size_t i, longest = 0;

	for (i = 0; i < count; i++)
		if (strlen(rows[i].name) > longest)
			longest = strlen(rows[i].name);
	frame.left = 10 + name_room(longest);
	svg_begin(out, about->label, WIDTH, height);
	for (i = 0; i < scale.count; i++) {
		double x = across(&frame, &scale, scale.ticks[i]);

		svg_line(out, &grid, (struct svg_point){x, frame.top},
			 (struct svg_point){x, frame.bottom});
		write_tick(out, about, SVG_MIDDLE, x, frame.bottom + TICK_GAP,
			   scale.ticks[i]);
	}
	for (i = 0; i < count; i++)
		if (rows[i].is_reference) {
			double x = across(&frame, &scale, rows[i].value.median);

			svg_line(out, &dotted, (struct svg_point){x, frame.top},
				 (struct svg_point){x, frame.bottom});
		}
	for (i = 0; i < count; i++) {
		double y = frame.top + ROW_HEIGHT * ((double)i + 0.5);

		svg_begin_lock(out, rows[i].name, rows[i].colour, false);
		svg_text(out, SVG_INK, SVG_END, (struct svg_point){frame.left - 8, y},
			 rows[i].name, NAME_LETTERS);
		(rows[i].marks == 1 ? write_value : write_values)(out, about, &rows[i],
								  &frame, &scale, y);
		svg_end_lock(out);
	}
	svg_end(out);
}
