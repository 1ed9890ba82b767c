/* SPDX-License-Identifier: MIT */
/* Lines, marks and text of a drawing within a page. Positions are in pixels from the top
 * left. */
#ifndef PAWL_CLI_REPORT_SVG_H
#define PAWL_CLI_REPORT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Variables of the page; SVG_OWN is the colour of the enclosing lock's group. */
enum svg_colour { SVG_INK, SVG_FAINT, SVG_GRID, SVG_OWN };

/* Colours for locks: --s1 and so on. */
enum { SVG_COLOURS = 12 };

enum { SVG_FONT = 11 };

struct svg_pen {
	enum svg_colour colour;
	double width;
	const char *dash; /* stroke-dasharray; NULL: solid */
};

struct svg_point {
	double x, y;
};

enum svg_shape {
	SVG_CIRCLE,
	SVG_SQUARE,
	SVG_TRIANGLE,
	SVG_DIAMOND,
	SVG_TIP, /* triangle pointing down */
	SVG_PENTAGON,
	SVG_CROSS,
	SVG_SHAPES
};

/* The end of a text that is at its position. */
enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

/* Writes the <svg> with the marks' definitions, once before all drawings. */
void svg_define_marks(FILE *out);

/* Begins a drawing with the label `label` for screen readers. */
void svg_begin(FILE *out, const char *label, double width, double height);
void svg_end(FILE *out);

/* Begins the group of a lock, in its colour; one in the background gets the colour only
 * when the reader selects the lock. */
void svg_begin_lock(FILE *out, const char *lock, int colour, bool stands_back);
void svg_end_lock(FILE *out);

void svg_path(FILE *out, const struct svg_pen *pen, const struct svg_point *points,
	      size_t count);
void svg_line(FILE *out, const struct svg_pen *pen, struct svg_point from,
	      struct svg_point to);
/* `title` is the mark's tooltip, or NULL. */
void svg_mark(FILE *out, enum svg_shape shape, bool is_hollow, double size,
	      struct svg_point at, const char *title);
/* At most the first `most` bytes of a text, vertically centred. */
void svg_text(FILE *out, enum svg_colour colour, enum svg_anchor anchor,
	      struct svg_point at, const char *text, size_t most);

#endif /* PAWL_CLI_REPORT_SVG_H */
