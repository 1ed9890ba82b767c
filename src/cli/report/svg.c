/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* strndup */
#include "cli/report/svg.h"

#include "cli/common/options.h"
#include "cli/report/report.h"

#include <stdlib.h>
#include <string.h>

/* Outlines around (0, 0), about 2 wide. */
static const char *const outlines[SVG_SHAPES] = {
	[SVG_CIRCLE] = "M-1,0a1,1 0 1 0 2,0a1,1 0 1 0 -2,0z",
	[SVG_SQUARE] = "M-1,-1h2v2h-2z",
	[SVG_TRIANGLE] = "M0,-1.33L-1.33,0.67H1.33z",
	[SVG_DIAMOND] = "M0,-1.41L1.41,0L0,1.41L-1.41,0z",
	[SVG_TIP] = "M0,1.33L-1.33,-0.67H1.33z",
	[SVG_PENTAGON] = "M0,-1.33L1.26,-0.41L0.78,1.08H-0.78L-1.26,-0.41z",
	[SVG_CROSS] = "M-1,-1L1,1M1,-1L-1,1",
};

static const char *variable(enum svg_colour colour)
{
	static const char *const names[] = {"--ink", "--faint", "--grid", "--c"};

	return names[colour];
}

void svg_define_marks(FILE *out)
{
	int shape;

	fprintf(out, "<svg width=\"0\" height=\"0\" class=\"marks\" aria-hidden=\"true\">"
		     "<defs>\n");
	for (shape = 0; shape < SVG_SHAPES; shape++)
		fprintf(out,
			"<path id=\"m%d\" fill=\"currentColor\" d=\"%s\"/>"
			"<path id=\"h%d\" fill=\"none\" stroke=\"currentColor\" "
			"stroke-width=\"0.4\" d=\"%s\"/>\n",
			shape, outlines[shape], shape, outlines[shape]);
	fprintf(out, "</defs></svg>\n");
}

void svg_begin(FILE *out, const char *label, double width, double height)
{
	fprintf(out,
		"<svg class=\"plot\" viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"",
		width, height);
	write_words(out, label);
	fprintf(out, "\">\n<g fill=\"none\" font-size=\"%d\">\n", SVG_FONT);
}

void svg_end(FILE *out)
{
	fprintf(out, "</g></svg>\n");
}

void svg_begin_lock(FILE *out, const char *lock, int colour, bool stands_back)
{
	fprintf(out, "<g class=\"l%s\" style=\"--own:var(--s%d)\" data-lock=\"",
		stands_back ? " back" : "", colour);
	write_text(out, lock);
	fprintf(out, "\">\n");
}

void svg_end_lock(FILE *out)
{
	fprintf(out, "</g>\n");
}

void svg_path(FILE *out, const struct svg_pen *pen, const struct svg_point *points,
	      size_t count)
{
	size_t i;

	fprintf(out, "<path stroke=\"var(%s)\" stroke-width=\"%g\"",
		variable(pen->colour), pen->width);
	if (pen->dash != NULL)
		fprintf(out, " stroke-dasharray=\"%s\"", pen->dash);
	fprintf(out, " d=\"");
	for (i = 0; i < count; i++)
		fprintf(out, "%c%.2f,%.2f", i == 0 ? 'M' : 'L', points[i].x, points[i].y);
	fprintf(out, "\"/>\n");
}

void svg_line(FILE *out, const struct svg_pen *pen, struct svg_point from,
	      struct svg_point to)
{
	const struct svg_point points[] = {from, to};

	svg_path(out, pen, points, 2);
}

void svg_mark(FILE *out, enum svg_shape shape, bool is_hollow, double size,
	      struct svg_point at, const char *title)
{
	fprintf(out,
		"<use href=\"#%c%d\" transform=\"translate(%.2f,%.2f) scale(%g)\" "
		"color=\"var(--c)\"%s>",
		is_hollow || shape == SVG_CROSS ? 'h' : 'm', (int)shape, at.x, at.y, size,
		title != NULL ? " class=\"pt\"" : "");
	if (title != NULL) {
		fprintf(out, "<title>");
		write_text(out, title);
		fprintf(out, "</title>");
	}
	fprintf(out, "</use>\n");
}

void svg_text(FILE *out, enum svg_colour colour, enum svg_anchor anchor,
	      struct svg_point at, const char *text, size_t most)
{
	static const char *const anchors[] = {"start", "middle", "end"};
	char *shown = strndup(text, whole_letters(text, most));

	if (shown == NULL)
		give_up("out of memory");
	fprintf(out, "<text text-anchor=\"%s\" x=\"%.2f\" y=\"%.2f\" fill=\"var(%s)\">",
		anchors[anchor], at.x,
		at.y + SVG_FONT * 0.33, /* half the height of a capital */
		variable(colour));
	write_text(out, shown);
	fprintf(out, "</text>\n");
	free(shown);
}
