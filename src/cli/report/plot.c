/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* open_memstream */
#include "cli/report/plot.h"

#include "cli/common/options.h"
#include "cli/report/report.h"
#include "cli/report/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In pixels, or what a browser makes of them. */
enum {
	WIDTH = 400,
	LINES_HEIGHT = 290,
	ROW_HEIGHT = 17,
	TOP = 10,
	BOTTOM = 40,	  /* with a title below the axis */
	ROWS_BOTTOM = 24, /* without */
	TICK_ROOM = 50,	  /* left of a value axis */
	FONT = 11,
	LABEL_GAP = 14, /* between labels, one above the other */
	TICKS_MAX = 16,
	NAME_LETTERS = 24, /* of a name are shown */
};

/* More than any letter of FONT is wide on the average. */
static const double letter_width = 6.7;

/* Scales. */

struct scale {
	double low, high;
	bool is_log;
	size_t count;
	double ticks[TICKS_MAX];
};

/* The least of 1, 2 and 5, times a power of ten, that is not below `step`. */
static double round_up(double step)
{
	double power = pow(10, floor(log10(step)));

	if (step <= power)
		return power;
	return step <= 2 * power ? 2 * power : step <= 5 * power ? 5 * power : 10 * power;
}

/* Decades, or every so many of them. */
static void scale_by_decades(struct scale *scale, double low, double high)
{
	int first = (int)floor(log10(low) + 1e-9), last = (int)ceil(log10(high) - 1e-9);
	int step = (last - first + 6) / 7, i;

	scale->is_log = true;
	scale->low = pow(10, first) * 0.9999; /* rounding must not lose a tick */
	scale->high = pow(10, last) * 1.0001;
	for (i = first; i <= last; i += step)
		scale->ticks[scale->count++] = pow(10, i);
}

/* From 0, unless what matters would be lost in a corner. */
static void scale_by_steps(struct scale *scale, double low, double high, bool from_zero)
{
	double step;
	size_t i, last;

	if (low > high) /* no value at all */
		low = high = 0;
	if (low >= 0 && (from_zero || low < 0.7 * high))
		low = 0;
	if (high - low <= 1e-9 * fabs(high)) /* one value only, or as good as that */
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

/* Where a value lies, from 0 to 1. */
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

/* What the longest of the names takes. */
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

/* The script. */

/* A name as a word of gnuplot's: without what could end or expand it. */
static void write_name(FILE *script, const char *name)
{
	const char *c, *end = name + whole_letters(name, NAME_LETTERS);

	fputc('\'', script);
	for (c = name; c < end; c++)
		fputc((unsigned char)*c < ' ' || strchr("'\"`\\%", *c) != NULL ? '?' : *c,
		      script);
	fputc('\'', script);
}

/* The scale of an axis, 'x' or 'y'. */
static void write_scale(FILE *script, char axis, const struct scale *scale)
{
	char text[NUMBER_BYTES];
	size_t i;

	fprintf(script, "set %crange [%.9g:%.9g]\nset %ctics (", axis, scale->low,
		scale->high, axis);
	for (i = 0; i < scale->count; i++) {
		format_number(scale->ticks[i], text);
		fprintf(script, "%s'%s' %.9g", i > 0 ? ", " : "", text, scale->ticks[i]);
	}
	fprintf(script, ")\n");
	if (scale->is_log)
		fprintf(script, "set logscale %c\n", axis);
}

static void write_frame(FILE *script, int height, int bottom, double left, double right)
{
	fprintf(script,
		"set terminal svg size %d,%d dynamic noenhanced font 'sans-serif,%d'\n"
		"set lmargin at screen %.5f\nset rmargin at screen %.5f\n"
		"set tmargin at screen %.5f\nset bmargin at screen %.5f\n"
		"set tics nomirror scale 0.4 textcolor " INK "\n"
		"set border 0\nset key off\n",
		WIDTH, height, FONT, left / WIDTH, 1 - right / WIDTH,
		1 - (double)TOP / height, (double)bottom / height);
}

static FILE *open_script(char **script, size_t *length)
{
	FILE *file = open_memstream(script, length);

	if (file == NULL)
		give_up("out of memory");
	return file;
}

/* Lines. */

/* Where a label goes, in pixels from below. */
struct place {
	const struct plot_line *line;
	double wanted, given;
};

static int from_above(const void *a, const void *b)
{
	double x = ((const struct place *)a)->wanted,
	       y = ((const struct place *)b)->wanted;

	return (x < y) - (x > y);
}

/* Moves labels apart: down where they meet, then up from the bottom. */
static void spread(struct place *places, size_t n, double low, double high)
{
	size_t i;

	qsort(places, n, sizeof(*places), from_above);
	for (i = 0; i < n; i++) {
		double limit = i == 0 ? high : places[i - 1].given - LABEL_GAP;

		places[i].given = fmin(places[i].wanted, limit);
	}
	for (i = n; i-- > 0;) {
		double limit = i + 1 == n ? low : places[i + 1].given + LABEL_GAP;

		places[i].given = fmax(places[i].given, limit);
	}
}

/* The lines' ends are named, with a thin line from one to the other. */
static void write_labels(FILE *script, const struct plot_line *lines, size_t count,
			 const struct scale *scale, double right)
{
	struct place *places = calloc(count, sizeof(*places));
	double height = LINES_HEIGHT - TOP - BOTTOM;
	size_t i, n = 0;

	if (places == NULL)
		give_up("out of memory");
	for (i = 0; i < count; i++)
		if (lines[i].style > 0 && lines[i].count > 0) {
			const struct interval *last = &lines[i].y[lines[i].count - 1];

			places[n].line = &lines[i];
			places[n++].wanted = BOTTOM +
					     height * place_on(scale, last->median);
		}
	spread(places, n, BOTTOM + 4, LINES_HEIGHT - TOP);
	for (i = 0; i < n; i++) {
		const struct plot_line *line = places[i].line;
		double edge = WIDTH - right;

		fprintf(script, "set label ");
		write_name(script, line->name);
		fprintf(script,
			" at screen %.5f, screen %.5f textcolor rgb '#0000%02x'\n"
			"set arrow from first %.9g, first %.9g to screen %.5f, screen "
			"%.5f nohead lw 0.5 lc " FAINT "\n",
			(edge + 13) / WIDTH, places[i].given / LINES_HEIGHT,
			(unsigned)line->style, line->x[line->count - 1],
			line->y[line->count - 1].median, (edge + 11) / WIDTH,
			places[i].given / LINES_HEIGHT);
	}
	free(places);
}

/* The least number of threads above so many; infinite if there is none. */
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

/* Powers of two apart, numbers of threads get room; ticks only where they have
 * room, too. */
static void write_threads_axis(FILE *script, const struct plot_line *lines, size_t count,
			       double width)
{
	double low = INFINITY, high = 0, shown = -1, tick;
	bool is_first = true;
	size_t i, j;

	for (i = 0; i < count; i++)
		for (j = 0; j < lines[i].count; j++)
			widen(lines[i].x[j], &low, &high);
	fprintf(script, "set logscale x 2\nset xrange [%g:%g]\nset xtics (", low * 0.9999,
		high * 1.0001);
	for (tick = low; tick <= high; tick = next_above(lines, count, tick)) {
		double place = log(tick / low) / log(high / low) * width;

		if (!is_first && place - shown < 26)
			continue;
		fprintf(script, "%s'%.0f' %g", is_first ? "" : ", ", tick, tick);
		is_first = false;
		shown = place;
	}
	fprintf(script, ")\nset xlabel 'threads' offset 0,0.7 textcolor " INK "\n");
}

static void write_line_data(FILE *script, const struct plot_line *lines, size_t count)
{
	size_t i, j;

	for (i = 0; i < count; i++) {
		fprintf(script, "$d%zu << END\n", i);
		for (j = 0; j < lines[i].count; j++)
			fprintf(script, "%g %.9g %.9g %.9g\n", lines[i].x[j],
				lines[i].y[j].median, lines[i].y[j].low,
				lines[i].y[j].high);
		fprintf(script, "END\n");
	}
}

/* Peers are dashed, with hollow marks; ours are solid, with filled ones. The
 * title is what a browser shows to who points at the line. */
static void write_line(FILE *script, const struct plot_line *line, size_t i)
{
	static const int filled[PLOT_SHAPES] = {7, 5, 9, 13, 11, 15};
	int mark = filled[line->shape] - line->is_peer;

	if (line->style == 0)
		fprintf(script, "$d%zu using 1:2 with lines lw 0.8 lc " FAINT " title ",
			i);
	else
		fprintf(script,
			"$d%zu using 1:($3 < $4 ? $2 : NaN):3:4 with yerrorbars lw 0.9 "
			"pt 0 "
			"lc rgb '#0000%02x' title '', $d%zu using 1:2 with linespoints "
			"lw "
			"1.6 dt %s pt %d ps 0.6 lc rgb '#0000%02x' title ",
			i, (unsigned)line->style, i, line->is_peer ? "(4,3)" : "solid",
			mark, (unsigned)line->style);
	write_name(script, line->name);
}

static struct scale scale_of_lines(const struct plot_line *lines, size_t count)
{
	double low = INFINITY, high = -INFINITY;
	size_t i, j;

	for (i = 0; i < count; i++)
		for (j = 0; j < lines[i].count; j++) {
			const struct interval *y = &lines[i].y[j];

			/* Of what stands back, no bars are shown. */
			widen(lines[i].style > 0 ? y->low : y->median, &low, &high);
			widen(lines[i].style > 0 ? y->high : y->median, &low, &high);
		}
	return scale_for(low, high, true);
}

void plot_lines(FILE *out, const char *label, const struct plot_line *lines, size_t count)
{
	struct scale scale = scale_of_lines(lines, count);
	size_t i, longest = 0, parts = 0, length;
	double right;
	char *script;
	FILE *file = open_script(&script, &length);
	int pass;

	for (i = 0; i < count; i++)
		if (lines[i].style > 0 && strlen(lines[i].name) > longest)
			longest = strlen(lines[i].name);
	right = 18 + name_room(longest);
	write_frame(file, LINES_HEIGHT, BOTTOM, TICK_ROOM, right);
	fprintf(file, "set bars 0.6\nset grid ytics lt 1 lw 0.8 "
		      "lc " GRID "\n");
	write_scale(file, 'y', &scale);
	write_threads_axis(file, lines, count, WIDTH - TICK_ROOM - right);
	write_labels(file, lines, count, &scale, right);
	write_line_data(file, lines, count);
	fprintf(file, "plot ");
	for (pass = 0; pass < 2; pass++) /* what stands back comes first */
		for (i = 0; i < count; i++)
			if ((lines[i].style > 0) == (pass == 1)) {
				fprintf(file, parts > 0 ? ", " : "");
				write_line(file, &lines[i], i);
				parts++;
			}
	fprintf(file, "\n");
	fclose(file);
	draw(out, label, WIDTH, LINES_HEIGHT, script, length);
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

/* The data of mark `mark` of the rows that are peers, or that are not. */
static void write_row_data(FILE *script, const struct plot_row *rows, size_t count)
{
	size_t i, j;
	int peers;

	for (peers = 0; peers < 2; peers++) {
		fprintf(script, "$d%d << END\n", peers);
		for (i = 0; i < count; i++) {
			const struct plot_row *row = &rows[i];

			if (row->is_peer != peers)
				continue;
			fprintf(script, "%zu", count - i);
			if (row->marks == 1)
				fprintf(script, " %.9g %.9g %.9g", row->value.median,
					row->value.low, row->value.high);
			else
				for (j = 0; j < row->marks; j++)
					fprintf(script, " %.9g", row->values[j]);
			fprintf(script, "\n");
		}
		fprintf(script, "END\n");
	}
}

/* The plot commands. */
static void write_row_plots(FILE *script, size_t marks, const bool *has)
{
	static const int shapes[PLOT_MARKS] = {5, 6, 12, 2};
	size_t n = 0, m;
	int peers;

	fprintf(script, "plot ");
	for (peers = 0; peers < 2; peers++) {
		if (!has[peers])
			continue;
		if (marks == 1) {
			fprintf(script,
				"%s$d%d using ($3 < $4 ? $2 : NaN):1:3:4 with xerrorbars "
				"lw "
				"1.4 pt 0 lc rgb '#0000%02x', $d%d using 2:1 with "
				"points lw "
				"1.4 pt %d ps 0.6 lc rgb '#0000%02x'",
				n > 0 ? ", " : "", peers, peers + 1, peers, peers ? 6 : 7,
				peers + 1);
			n += 2;
			continue;
		}
		fprintf(script,
			"%s$d%d using 2:1:(column(%zu)-column(2)):(0) with vectors "
			"nohead lw "
			"1 dt %s lc rgb '#0000%02x'",
			n++ > 0 ? ", " : "", peers, marks + 1, peers ? "(4,3)" : "solid",
			peers + 1);
		for (m = 0; m < marks; m++, n++)
			fprintf(script,
				", $d%d using %zu:1 with points pt %d ps 0.5 lw 1.4 lc "
				"rgb "
				"'#0000%02x'",
				peers, m + 2, shapes[m], peers + 1);
	}
	fprintf(script, "\n");
}

void plot_rows(FILE *out, const char *label, const struct plot_row *rows, size_t count,
	       bool are_shares)
{
	struct scale scale = scale_of_rows(rows, count, are_shares);
	int height = TOP + ROWS_BOTTOM + ROW_HEIGHT * (int)count;
	bool has[2] = {false, false};
	size_t i, longest = 0, length;
	char *script;
	FILE *file = open_script(&script, &length);

	for (i = 0; i < count; i++) {
		if (strlen(rows[i].name) > longest)
			longest = strlen(rows[i].name);
		has[rows[i].is_peer] = true;
	}
	write_frame(file, height, ROWS_BOTTOM, 10 + name_room(longest), 24);
	fprintf(file, "set grid xtics lt 1 lw 0.8 lc " GRID "\nset ytics scale 0\n"
		      "set bars 0.6\n");
	write_scale(file, 'x', &scale);
	fprintf(file, "set yrange [0.4:%zu.6]\nset ytics (", count);
	for (i = 0; i < count; i++) {
		fprintf(file, i > 0 ? ", " : "");
		write_name(file, rows[i].name);
		fprintf(file, " %zu", count - i);
	}
	fprintf(file, ")\n");
	for (i = 0; i < count; i++)
		if (rows[i].is_reference)
			fprintf(file,
				"set arrow from first %.9g, graph 0 to first %.9g, graph "
				"1 "
				"nohead lw 0.8 dt (2,2) lc " FAINT "\n",
				rows[i].value.median, rows[i].value.median);
	write_row_data(file, rows, count);
	write_row_plots(file, rows[0].marks, has);
	fclose(file);
	draw(out, label, WIDTH, height, script, length);
}
