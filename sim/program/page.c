/* SPDX-License-Identifier: MIT */
/* Failing executions as a self-contained HTML page. Threads are lanes, steps are boxes,
 * and arrows lead from a write to the threads that read it. */
#include "picture.h"

#include <string.h>

enum {
	EDGE = 12,     /* outer margin */
	HEAD = 34,     /* height of the lanes' names */
	LANE_GAP = 72, /* space for arrows */
	ROW_GAP = 10,
	PADDING = 8, /* inside a box */
	LINE = 17,
	LETTER = 15, /* twice the width of a letter, at 12 pixels */
	BEND = 34,   /* of an arrow */
};

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n"
	"<link rel=\"icon\" href=\"data:,\">\n<title>pawl check</title>\n<style>\n"
	":root{--paper:#fff;--ink:#1c1e21;--dim:#5b6068;--faint:#c3c7cd;--box:#f3f5f7;"
	"--order:#0b5fc4;--value:#8f6400;--wrong:#b3261e}\n"
	"@media(prefers-color-scheme:dark){:root{--paper:#15171a;--ink:#e4e6e9;"
	"--dim:#a0a6ae;--faint:#5a6069;--box:#22262b;--order:#6fb1ff;--value:#e5bd55;"
	"--wrong:#ff8a80}}\n"
	"body{margin:0;padding:1rem;background:var(--paper);color:var(--ink);"
	"font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,"
	"\"Liberation Sans\",Arial,sans-serif}\n"
	"h1{font-size:1.4rem;margin:.5rem 0}\nh2{font-size:1.1rem;margin:1.5rem 0 "
	".25rem}\n"
	"p{margin:.25rem 0 .5rem}\n.wrong{color:var(--wrong);font-weight:600}\n"
	".wide{overflow-x:auto}\n"
	"pre,svg text{font-family:ui-monospace,\"Liberation Mono\",Menlo,Consolas,"
	"monospace;font-size:12px}\n"
	"pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--box);"
	"padding:.5rem}\n"
	"svg{display:block}\nsvg text{fill:var(--ink)}\nsvg .place,svg .source{"
	"fill:var(--dim)}\nsvg .lane text{font-weight:600}\n"
	"svg .lane line{stroke:var(--faint)}\n"
	"svg rect{fill:var(--box);stroke:var(--faint)}\n"
	"svg .fails rect{stroke:var(--wrong);stroke-width:2}\n"
	"svg .arrow{fill:none;stroke-width:1.5}\n"
	"svg .order{stroke:var(--order)}\nsvg .value{stroke:var(--value);"
	"stroke-dasharray:5 3}\n"
	"#order path{fill:var(--order)}\n#value path{fill:var(--value)}\n"
	"b.order{color:var(--order)}\nb.value{color:var(--value)}\n"
	"</style>\n</head>\n<body>\n";

static const char legend[] =
	"<p>A lane is a thread, time goes down. An arrow leads from a write to what "
	"reads "
	"it: <b class=\"order\">solid</b> if that also orders the threads, so that all "
	"before the write is known to the reader; <b class=\"value\">dashed</b> if only "
	"the value came.</p>\n"
	"<svg width=\"0\" height=\"0\" style=\"position:absolute\"><defs>\n"
	"<marker id=\"order\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
	"markerWidth=\"7\" "
	"markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker>\n"
	"<marker id=\"value\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
	"markerWidth=\"7\" "
	"markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker>\n"
	"</defs></svg>\n";

static void write_text(FILE *out, const char *text)
{
	static const char special[] = "&<>\"";
	static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;"};

	for (; *text != 0; text++) {
		const char *at = strchr(special, *text);

		if (at != NULL)
			fputs(names[at - special], out);
		else
			fputc(*text, out);
	}
}

/* The layout. */
struct drawing {
	const struct picture *picture;
	int left[MAX_THREADS], width[MAX_THREADS];
	int top[MAX_TRACE], height[MAX_TRACE];
	int right, bottom;
};

static int most(int a, int b)
{
	return a > b ? a : b;
}

static void lay_out(struct drawing *d, const struct picture *picture)
{
	int t, i;

	d->picture = picture;
	for (t = 0; t < MAX_THREADS; t++)
		d->width[t] = 14; /* in letters */
	d->bottom = HEAD;
	for (i = 0; i < picture->count; i++) {
		const struct row *row = &picture->rows[i];
		size_t n = strlen(row->place), text = strlen(row->text),
		       source = strlen(row->source);

		n = n > text ? n : text;
		n = n > source ? n : source;
		d->width[row->thread] = most(d->width[row->thread], (int)n);
		d->top[i] = d->bottom;
		d->height[i] = PADDING +
			       LINE * ((row->place[0] != 0) + 1 + (row->source[0] != 0));
		d->bottom += d->height[i] + ROW_GAP;
	}
	d->right = EDGE;
	for (t = 0; t < MAX_THREADS; t++) {
		if (!picture->moves[t])
			continue;
		d->width[t] = d->width[t] * LETTER / 2 + 2 * PADDING;
		d->left[t] = d->right;
		d->right += d->width[t] + LANE_GAP;
	}
	d->right += EDGE - LANE_GAP;
}

static void draw_lanes(FILE *out, const struct drawing *d)
{
	int t;

	for (t = 0; t < MAX_THREADS; t++) {
		int middle = d->left[t] + d->width[t] / 2;

		if (!d->picture->moves[t])
			continue;
		fprintf(out,
			"<g class=\"lane\"><text x=\"%d\" y=\"20\" "
			"text-anchor=\"middle\">thread %d</text>"
			"<line x1=\"%d\" x2=\"%d\" y1=\"26\" y2=\"%d\"/></g>\n",
			middle, t, middle, middle, d->bottom);
	}
}

static void draw_line(FILE *out, const char *class, int x, int *y, const char *text)
{
	if (text[0] == 0)
		return;
	fprintf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\" xml:space=\"preserve\">",
		class, x, *y);
	write_text(out, text);
	fputs("</text>", out);
	*y += LINE;
}

static void draw_box(FILE *out, const struct drawing *d, int i)
{
	const struct row *row = &d->picture->rows[i];
	int left = d->left[row->thread], y = d->top[i] + LINE;

	fprintf(out,
		"<g class=\"step%s\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
		"rx=\"4\"/>",
		row->fails ? " fails" : "", left, d->top[i], d->width[row->thread],
		d->height[i]);
	draw_line(out, "place", left + PADDING, &y, row->place);
	draw_line(out, "text", left + PADDING, &y, row->text);
	draw_line(out, "source", left + PADDING, &y, row->source);
	fputs("</g>\n", out);
}

/* From the side of one box to the facing side of the other. */
static void draw_arrow(FILE *out, const struct drawing *d, int from, int to)
{
	const struct row *a = &d->picture->rows[from], *b = &d->picture->rows[to];
	bool rightwards = d->left[b->thread] > d->left[a->thread];
	int x1 = d->left[a->thread] + (rightwards ? d->width[a->thread] : 0);
	int x2 = d->left[b->thread] + (rightwards ? 0 : d->width[b->thread]);
	int y1 = d->top[from] + d->height[from] / 2, y2 = d->top[to] + d->height[to] / 2;
	int bend = rightwards ? BEND : -BEND;
	const char *kind = b->ordered ? "order" : "value";

	fprintf(out,
		"<path class=\"arrow %s\" marker-end=\"url(#%s)\" "
		"d=\"M%d %dC%d %d %d %d %d %d\"/>\n",
		kind, kind, x1, y1, x1 + bend, y1, x2 - bend, y2, x2, y2);
}

static void draw(FILE *out, const struct picture *picture)
{
	static struct drawing d;
	int i;

	lay_out(&d, picture);
	fprintf(out,
		"<div class=\"wide\"><svg role=\"img\" aria-label=\"the failing "
		"execution\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
		d.right, d.bottom + EDGE, d.right, d.bottom + EDGE);
	draw_lanes(out, &d);
	for (i = 0; i < picture->count; i++)
		draw_box(out, &d, i);
	for (i = 0; i < picture->count; i++)
		if (picture->rows[i].from >= 0)
			draw_arrow(out, &d, picture->rows[i].from, i);
	fputs("</svg></div>\n", out);
}

void page_begin(FILE *out, const char *name)
{
	fputs(head, out);
	fputs("<h1>", out);
	write_text(out, name);
	fputs("</h1>\n", out);
	fputs(legend, out);
}

void page_add(FILE *out, const struct failure *failure)
{
	fputs("<h2>", out);
	write_text(out, failure->subject);
	fprintf(out, ", %s memory</h2>\n<p class=\"wrong\">%s: ", failure->model,
		failure->verdict);
	write_text(out, failure->message);
	fputs("</p>\n", out);
	if (failure->picture != NULL)
		draw(out, failure->picture);
	if (failure->again != NULL) {
		fputs("<p>Repeat it with</p>\n<pre>", out);
		write_text(out, failure->again);
		fputs("</pre>\n", out);
	}
}

void page_end(FILE *out, bool passed)
{
	if (passed)
		fputs("<p>All checks passed.</p>\n", out);
	fputs("</body>\n</html>\n", out);
}
