/* SPDX-License-Identifier: MIT */
/*
 * One colour for each lock, on the whole page. There are more locks than distinguishable
 * colours, so some share one; but, as far as possible, none that a plot labels together.
 */
#include "cli/common/options.h"
#include "cli/report/report.h"
#include "cli/report/svg.h"

#include <stdlib.h>
#include <string.h>

static struct report_style *find_style(const struct report *report, const char *lock)
{
	size_t i;

	for (i = 0; i < report->style_count; i++)
		if (strcmp(report->styles[i].lock, lock) == 0)
			return &report->styles[i];
	return NULL;
}

int colour_of(const struct report *report, const char *lock)
{
	const struct report_style *style = find_style(report, lock);

	return style != NULL ? style->colour : 1;
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Counts in uses[colour] the locks of that colour that share a plot with this lock. */
static void count_neighbours(const struct report *report, const char *lock,
			     size_t uses[SVG_COLOURS + 1])
{
	struct report_figure figures[LINE_FIGURES];
	const char *names[LINES_NAMED];
	size_t i, j, f, n, figure_count;

	for (i = 0; i < report->panel_count; i++) {
		figure_count = line_figures(&report->panels[i], figures);
		for (f = 0; f < figure_count; f++) {
			n = name_lines(&report->panels[i], &figures[f], names);
			if (!is_among(lock, names, n))
				continue;
			for (j = 0; j < n; j++)
				uses[colour_of(report, names[j])]++;
		}
	}
}

/* The colour that the fewest neighbours have; among equals, the fewest locks. */
static int choose_colour(const struct report *report, const char *lock)
{
	size_t uses[SVG_COLOURS + 1] = {0}, all[SVG_COLOURS + 1] = {0}, i;
	int colour, best = 3;

	if (strcmp(lock, "mutex") == 0)
		return 1;
	if (is_glibc(lock))
		return 2;
	count_neighbours(report, lock, uses);
	for (i = 0; i < report->style_count; i++)
		all[report->styles[i].colour]++;
	for (colour = 3; colour <= SVG_COLOURS; colour++)
		if (uses[colour] < uses[best] ||
		    (uses[colour] == uses[best] && all[colour] < all[best]))
			best = colour;
	return best;
}

static void add_style(struct report *report, const char *lock)
{
	struct report_style *styles;
	int colour;

	if (find_style(report, lock) != NULL)
		return;
	colour = choose_colour(report, lock);
	styles = reallocarray(report->styles, report->style_count + 1, sizeof(*styles));
	if (styles == NULL)
		give_up("out of memory");
	report->styles = styles;
	styles[report->style_count++] = (struct report_style){lock, colour};
}

/* Labelled locks first: they must be distinguishable. */
void choose_styles(struct report *report)
{
	struct report_figure figures[LINE_FIGURES];
	const char *names[LINES_NAMED];
	size_t i, j, f, n;

	for (i = 0; i < report->panel_count; i++)
		for (f = 0; f < line_figures(&report->panels[i], figures); f++) {
			n = name_lines(&report->panels[i], &figures[f], names);
			for (j = 0; j < n; j++)
				add_style(report, names[j]);
		}
	for (i = 0; i < report->panel_count; i++)
		for (j = 0; j < report->panels[i].count; j++)
			add_style(report, report->panels[i].results[j].lock);
}
