/* SPDX-License-Identifier: MIT */
/* All figures of a panel as a table. */
#include "cli/report/report.h"
#include "cli/report/plot.h"

#include <string.h>

static void write_cell(FILE *out, const struct report_result *result,
		       const struct report_figure *figure)
{
	struct interval value;
	char text[VALUE_BYTES];

	fprintf(out, "<td>");
	if (find_figure(result, figure, &value)) {
		format_interval(value, NULL, text);
		write_text(out, text);
	}
}

static void write_head(FILE *out, const struct report_figure *figure)
{
	fprintf(out, "<th>");
	write_words(out, figure->title);
	if (figure->unit != NULL) {
		fprintf(out, ", ");
		write_text(out, figure->unit);
	}
	fprintf(out, "</th>");
}

static void write_table_row(FILE *out, const struct report_result *result,
			    const struct report_figure *figures, size_t count)
{
	const char *trouble = trouble_of(result);
	size_t i;

	fprintf(out, "<tr data-lock=\"");
	write_text(out, result->lock);
	fprintf(out, "\"><th scope=\"row\">");
	write_text(out, result->lock);
	fprintf(out, "</th>");
	if (result->threads > 0)
		fprintf(out, "<td>%d", result->threads);
	if (trouble != NULL) {
		fprintf(out, "<td colspan=\"9\" class=\"trouble\">");
		write_text(out, trouble);
	} else {
		for (i = 0; i < count; i++)
			write_cell(out, result, &figures[i]);
	}
	fprintf(out, "</tr>\n");
}

void write_numbers(FILE *out, const struct report_panel *panel,
		   const struct report_figure *figure)
{
	struct report_figure figures[1 + REPORT_FIGURES] = {*figure};
	size_t i, count = 1 + more_figures(panel, figures + 1);

	fprintf(out, "<details><summary>All numbers</summary>\n"
		     "<div class=\"wide\" tabindex=\"0\"><table><thead><tr>"
		     "<th>lock</th>");
	if (most_threads_of(panel) > 0)
		fprintf(out, "<th>threads</th>");
	for (i = 0; i < count; i++)
		write_head(out, &figures[i]);
	fprintf(out, "</tr></thead>\n<tbody>\n");
	for (i = 0; i < panel->count; i++)
		write_table_row(out, &panel->results[i], figures, count);
	fprintf(out, "</tbody></table></div></details>\n");
}
