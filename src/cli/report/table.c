/* SPDX-License-Identifier: MIT */
/* All that was measured of a panel, in numbers. */
#include "cli/report/report.h"
#include "cli/report/plot.h"

#include <string.h>

static void write_cell(FILE *out, const struct report_result *result,
		       const struct report_figure *figure)
{
	struct interval value;
	char text[NUMBER_BYTES];

	fprintf(out, "<td>");
	if (find_figure(result, figure, &value)) {
		format_number(value.median, text);
		fprintf(out, "%s", text);
		if (value.high > value.low) {
			format_number(value.low, text);
			fprintf(out, " <small>%s to ", text);
			format_number(value.high, text);
			fprintf(out, "%s</small>", text);
		}
	}
}

/* A figure of which no result has anything gets no column, and the one that
 * stands first already gets no other. */
static bool is_column(const struct report_panel *panel,
		      const struct report_figure *figure,
		      const struct report_figure *first)
{
	struct interval value;
	size_t i;

	if (first->key != NULL && strcmp(first->key, figure->key) == 0)
		return false;
	for (i = 0; i < panel->count; i++)
		if (find_figure(&panel->results[i], figure, &value))
			return true;
	return false;
}

const struct report_figure report_columns[] = {
	{.key = "wall_s", .title = "Wall time", .unit = "s", .less_is_better = true},
	{.key = "cpu_s", .title = "CPU time", .unit = "s", .less_is_better = true},
	{.key = "context_switches", .title = "Context switches", .less_is_better = true},
	{.key = "max_rss",
	 .title = "Peak memory",
	 .unit = "bytes",
	 .less_is_better = true},
	{.group = "per_episode", .key = "misses", .title = "misses"},
	{.group = "per_episode", .key = "invalidations", .title = "invalidations"},
	{.group = "per_episode", .key = "remote_misses", .title = "remote misses"},
	{.group = "per_episode", .key = "rmw", .title = "RMWs"},
	{.key = "fairness", .title = "fairness"},
	{.group = "wait_ns", .key = "p50", .title = "wait p50, ns"},
	{.group = "wait_ns", .key = "p99", .title = "p99"},
	{.group = "wait_ns", .key = "p999", .title = "p99.9"},
	{.group = "wait_ns", .key = "max", .title = "max"},
	{.key = "cpu_ns_per_op", .title = "CPU ns/op"},
	{.key = "context_switches_per_s", .title = "switches/s"},
	{.key = NULL, .title = NULL},
};

static void write_table_row(FILE *out, const struct report_panel *panel,
			    const struct report_result *result,
			    const struct report_figure *figure)
{
	const struct report_figure *column;
	const char *trouble = trouble_of(result);

	fprintf(out, "<tr><th scope=\"row\">");
	write_text(out, result->lock);
	fprintf(out, "</th>");
	if (result->threads > 0)
		fprintf(out, "<td>%d", result->threads);
	if (trouble != NULL) {
		fprintf(out, "<td colspan=\"9\" class=\"trouble\">");
		write_text(out, trouble);
		fprintf(out, "</tr>\n");
		return;
	}
	write_cell(out, result, figure);
	for (column = report_columns; column->title != NULL; column++)
		if (is_column(panel, column, figure))
			write_cell(out, result, column);
	fprintf(out, "</tr>\n");
}

void write_numbers(FILE *out, const struct report_panel *panel,
		   const struct report_figure *figure)
{
	const struct report_figure *column;
	size_t i;

	fprintf(out, "<details><summary>All numbers</summary>\n"
		     "<div class=\"wide\"><table><thead><tr><th>lock</th>");
	if (most_threads_of(panel) > 0)
		fprintf(out, "<th>threads</th>");
	fprintf(out, "<th>");
	write_text(out, figure->title);
	if (figure->unit != NULL) {
		fprintf(out, ", ");
		write_text(out, figure->unit);
	}
	fprintf(out, "</th>");
	for (column = report_columns; column->title != NULL; column++)
		if (is_column(panel, column, figure))
			fprintf(out, "<th>%s</th>", column->title);
	fprintf(out, "</tr></thead>\n<tbody>\n");
	for (i = 0; i < panel->count; i++)
		write_table_row(out, panel, &panel->results[i], figure);
	fprintf(out, "</tbody></table></div></details>\n");
}
