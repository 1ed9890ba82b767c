/* SPDX-License-Identifier: MIT */
/* gnuplot, and how its drawings become part of a page. */
#ifndef PAWL_CLI_REPORT_SVG_H
#define PAWL_CLI_REPORT_SVG_H

#include <stddef.h>
#include <stdio.h>

/* Colours that stand for variables of the page, as scripts name them; '#0000nn'
 * is that of style nn. */
#define INK   "rgb '#000064'"
#define FAINT "rgb '#000065'"
#define GRID  "rgb '#000066'"

/* Draws what the script says, as an <svg> of that size, and frees the script. */
void draw(FILE *out, const char *label, int width, int height, char *script,
	  size_t length);

/* Writes, once before all drawings, the <svg> that has the marks they use. */
void write_marks(FILE *out);

/* Gives up if there is no gnuplot. */
void require_gnuplot(void);

#endif /* PAWL_CLI_REPORT_SVG_H */
