/* SPDX-License-Identifier: MIT */
/* Lines, marks and words of a drawing that is part of a page. Places are in pixels,
 * from the left and from above. */
#ifndef PAWL_CLI_REPORT_SVG_H
#define PAWL_CLI_REPORT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Variables of the page; SVG_OWN is that of the lock whose group it is in. */
enum svg_colour { SVG_INK, SVG_FAINT, SVG_GRID, SVG_OWN };

/* So many are there for locks, --s1 and so on. */
enum { SVG_COLOURS = 12 };

enum { SVG_FONT = 11 };

struct svg_pen {
	enum svg_colour colour;
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

/* Begins what belongs to a lock, in its colour; one that stands back has it only when
 * somebody asks for that lock. */
void svg_begin_lock(FILE *out, const char *lock, int colour, bool stands_back);
void svg_end_lock(FILE *out);

void svg_path(FILE *out, const struct svg_pen *pen, const struct svg_point *points,
	      size_t count);
void svg_line(FILE *out, const struct svg_pen *pen, struct svg_point from,
	      struct svg_point to);
/* `title`, unless NULL, is what who points at the mark is told. */
void svg_mark(FILE *out, enum svg_shape shape, bool is_hollow, double size,
	      struct svg_point at, const char *title);
/* The first `most` bytes of a text, or a little less, its middle at this height. */
void svg_text(FILE *out, enum svg_colour colour, enum svg_anchor anchor,
	      struct svg_point at, const char *text, size_t most);

#endif /* PAWL_CLI_REPORT_SVG_H */
