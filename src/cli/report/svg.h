/* SPDX-License-Identifier: MIT */
/* Lines, marks and words of a drawing that is part of a page. Places are in pixels,
 * from the left and from above. */
#ifndef PAWL_CLI_REPORT_SVG_H
#define PAWL_CLI_REPORT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Variables of the page; from 1 on, that of a style. */
enum { SVG_INK = -3, SVG_FAINT, SVG_GRID };

enum { SVG_FONT = 11 };

struct svg_pen {
	int colour;
	double width;
	const char *dash; /* lengths that are drawn and left out; NULL: solid */
};

struct svg_point {
	double x, y;
};

enum svg_shape {
	SVG_CIRCLE,
	SVG_SQUARE,
	SVG_TRIANGLE,
	SVG_DIAMOND,
	SVG_TIP, /* a triangle on its head */
	SVG_PENTAGON,
	SVG_CROSS,
	SVG_SHAPES
};

/* Which end of a text is at its place. */
enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

/* Writes, once before all drawings, the <svg> that has the marks they use. */
void svg_define_marks(FILE *out);

/* Begins a drawing that is called `label` to those who cannot see it. */
void svg_begin(FILE *out, const char *label, double width, double height);
void svg_end(FILE *out);

/* `title`, unless NULL, is what a browser shows to who points at the line. */
void svg_path(FILE *out, const struct svg_pen *pen, const struct svg_point *points,
	      size_t count, const char *title);
void svg_line(FILE *out, const struct svg_pen *pen, struct svg_point from,
	      struct svg_point to);
void svg_mark(FILE *out, int colour, enum svg_shape shape, bool is_hollow, double size,
	      struct svg_point at);
/* The first `most` bytes of a text, or a little less, its middle at this height. */
void svg_text(FILE *out, int colour, enum svg_anchor anchor, struct svg_point at,
	      const char *text, size_t most);

#endif /* PAWL_CLI_REPORT_SVG_H */
