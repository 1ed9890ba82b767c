/* SPDX-License-Identifier: MIT */
/* Published results against those that pawl sim --preset papers simulates. */
#include "cli/report/report.h"
#include "cli/report/svg.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 720, LEFT = 90, RIGHT = 20, ROW = 64, LEVELS = 6, FARTHEST = 2 };

static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

static double number_at(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static bool holds(const json_t *claim)
{
	return json_is_true(json_object_get(claim, "holds"));
}

/* The position of `ratio` on a scale from 1 / FARTHEST to FARTHEST. */
static double place_of(double ratio)
{
	double where = ratio > 0 ? log(ratio) / log(FARTHEST) : -1;

	where = fmax(-1, fmin(1, where));
	return LEFT + (where + 1) / 2 * (WIDTH - LEFT - RIGHT);
}

/* A claim's row is that of its paper, in order of appearance. */
static size_t row_of(const json_t *claims, const json_t *claim, size_t *rows)
{
	const char *papers[16];
	const json_t *other;
	size_t i, row, mine = 0;

	*rows = 0;
	json_array_foreach(claims, i, other)
	{
		for (row = 0; row < *rows; row++)
			if (strcmp(papers[row], text_at(other, "paper")) == 0)
				break;
		if (row == *rows && row < sizeof(papers) / sizeof(papers[0]))
			papers[(*rows)++] = text_at(other, "paper");
		if (other == claim)
			mine = row < *rows ? row : *rows - 1;
	}
	return mine;
}

static void draw(FILE *out, const json_t *claims)
{
	static const double ratios[] = {0.5, 0.7, 1, 1.4, 2};
	const struct svg_pen faint = {SVG_GRID, 1, NULL}, middle = {SVG_INK, 1, "2 3"};
	const json_t *claim;
	double bottom;
	size_t i, rows;

	row_of(claims, NULL, &rows);
	bottom = (double)rows * ROW;
	svg_begin(out, "simulated over published, a mark for each claim", WIDTH,
		  bottom + 24);
	for (i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++) {
		struct svg_point top = {place_of(ratios[i]), 0}, end = {top.x, bottom};
		char text[16];

		svg_line(out, ratios[i] == 1 ? &middle : &faint, top, end);
		snprintf(text, sizeof(text), "%g", ratios[i]);
		svg_text(out, SVG_FAINT, SVG_MIDDLE,
			 (struct svg_point){top.x, bottom + 12}, text, sizeof(text));
	}
	json_array_foreach(claims, i, claim)
	{
		double y = (double)row_of(claims, claim, &rows) * ROW;
		struct svg_point at = {place_of(number_at(claim, "simulated") /
						number_at(claim, "expected")),
				       y + 7 + (double)(i % LEVELS) * 10};
		char title[256];

		if (i == 0 || strcmp(text_at(json_array_get(claims, i - 1), "paper"),
				     text_at(claim, "paper")) != 0)
			svg_text(out, SVG_INK, SVG_START,
				 (struct svg_point){0, y + ROW / 2.0},
				 text_at(claim, "paper"), 12);
		snprintf(title, sizeof(title), "%s, %s: %s; published %s %.4g, %.4g",
			 text_at(claim, "paper"), text_at(claim, "where"),
			 text_at(claim, "claim"), text_at(claim, "relation"),
			 number_at(claim, "expected"), number_at(claim, "simulated"));
		svg_begin_lock(out, "", holds(claim) ? 1 : 2, false);
		svg_mark(out, holds(claim) ? SVG_CIRCLE : SVG_CROSS, false, 4, at, title);
		svg_end_lock(out);
	}
	svg_end(out);
}

static void write_row(FILE *out, const json_t *claim)
{
	static const char *const columns[] = {"paper", "where", "claim", "machine"};
	size_t i;

	fprintf(out, "<tr>");
	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		fprintf(out, "<td>");
		write_text(out, text_at(claim, columns[i]));
	}
	fprintf(out, "<td>");
	write_text(out, text_at(claim, "relation"));
	fprintf(out, " %.4g<td>%.4g<td%s", number_at(claim, "expected"),
		number_at(claim, "simulated"),
		holds(claim) ? ">yes" : " class=\"trouble\">no");
	if (!holds(claim) && *text_at(claim, "reason") != '\0') {
		fprintf(out, ": ");
		write_text(out, text_at(claim, "reason"));
	}
	fprintf(out, "</tr>\n");
}

void write_papers_sentence(FILE *out, const struct report_file *file)
{
	const json_t *claims = json_object_get(file->root, "claims"), *claim;
	size_t i, held = 0, count = json_array_size(claims);

	json_array_foreach(claims, i, claim) held += holds(claim);
	fprintf(out,
		"<ul class=\"answer\">\n"
		"<li>Of the papers' published results, <b>%zu of %zu</b> hold in "
		"simulation, %.0f&nbsp;%%.</li>\n"
		"</ul>\n",
		held, count, 100 * (double)held / (double)count);
}

void write_papers(FILE *out, const struct report_file *file, size_t number)
{
	const json_t *claims = json_object_get(file->root, "claims"), *claim;
	size_t i;

	fprintf(out,
		"<section id=\"f%zu\"><h2>Published and simulated results</h2>\n"
		"<p class=\"dim\">Simulated over published; values below 0.5 and above 2 "
		"are at the edge. Crosses are claims that do not hold; one that says "
		"\"at least\" or \"at most\" may hold far from 1.</p>\n",
		number);
	draw(out, claims);
	fprintf(out, "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>paper</th>"
		     "<th>where</th><th>claim</th><th>machine</th><th>published</th>"
		     "<th>simulated</th><th>holds</th></tr></thead>\n<tbody>\n");
	json_array_foreach(claims, i, claim) write_row(out, claim);
	fprintf(out, "</tbody></table></div></section>\n");
}
