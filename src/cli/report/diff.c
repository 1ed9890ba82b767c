/* SPDX-License-Identifier: MIT */
/*
 * Changes from one file to the next. Two figures differ if their intervals are disjoint,
 * and by more than a threshold: two runs of the same program on the same machine differ
 * by that much.
 */
#include "cli/common/options.h"
#include "cli/report/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double least_difference = 0.02;

/* With less, from fewer than 5 runs, nothing is reported. */
static const double least_confidence = 0.9;

enum verdict { BETTER, WORSE, OTHER }; /* OTHER: neither direction is better */

static const char *const verdicts[] = {"better", "worse", "changed"};

/* A figure that changed, or a failure that a lock newly has or no longer has. */
struct change {
	enum verdict verdict;
	const struct report_panel *panel;
	const struct report_result *result;
	struct report_figure figure; /* without a title: a failure */
	struct interval old, new;
};

struct tally {
	size_t compared, unsure;
	size_t verdicts[OTHER + 1];
	size_t count;
	struct change *changes;
};

const struct report_panel *find_panel(const struct report *report, const char *title)
{
	size_t i;

	for (i = 0; i < report->panel_count; i++)
		if (strcmp(report->panels[i].title, title) == 0)
			return &report->panels[i];
	return NULL;
}

static const struct report_result *find_like(const struct report *report,
					     const char *title,
					     const struct report_result *like)
{
	const struct report_panel *panel = find_panel(report, title);

	return panel != NULL ? find_result(panel, like->lock, like->threads) : NULL;
}

static void add_change(struct tally *tally, struct change change)
{
	struct change *grown = reallocarray(tally->changes, tally->count + 1,
					    sizeof(*grown));

	if (grown == NULL)
		give_up("out of memory");
	tally->changes = grown;
	grown[tally->count++] = change;
	tally->verdicts[change.verdict]++;
}

/* Simulations have no noise: the same input gives the same figures. */
static bool is_sure(const struct report_panel *panel, struct interval value)
{
	return strcmp(panel->file->tool, "sim") == 0 ||
	       value.confidence >= least_confidence;
}

bool is_changed(struct interval old, struct interval new,
		const struct report_figure *figure)
{
	double difference = fabs(new.median - old.median);

	return intervals_differ(old, new) &&
	       difference > least_difference * fabs(old.median) &&
	       difference > figure->least;
}

static void compare_figure(const struct report_panel *panel,
			   const struct report_result *before,
			   const struct report_result *after,
			   const struct report_figure *figure, struct tally *tally)
{
	struct change change = {
		.verdict = OTHER, .panel = panel, .result = after, .figure = *figure};

	/* Waits are timed in a single run, so their variation is unknown. */
	if (figure->group != NULL && strcmp(figure->group, "wait_ns") == 0)
		return;
	if (!find_figure(before, figure, &change.old) ||
	    !find_figure(after, figure, &change.new))
		return;
	tally->compared++;
	if (!is_sure(panel, change.old) || !is_sure(panel, change.new)) {
		tally->unsure++;
		return;
	}
	if (!is_changed(change.old, change.new, figure))
		return;
	if (!figure->is_neither)
		change.verdict = (change.new.median > change.old.median) ==
						 figure->less_is_better
					 ? WORSE
					 : BETTER;
	add_change(tally, change);
}

/* Failures rank before all figures. */
static void compare_trouble(const struct report_panel *panel,
			    const struct report_result *before,
			    const struct report_result *after, struct tally *tally)
{
	bool was = trouble_of(before) != NULL, is = trouble_of(after) != NULL;
	struct change change = {
		.verdict = is ? WORSE : BETTER, .panel = panel, .result = after};

	tally->compared += was || is;
	if (was != is)
		add_change(tally, change);
}

static void compare_panel(const struct report *old, const struct report_panel *panel,
			  struct tally *tally, size_t *missing)
{
	struct report_figure figures[1 + REPORT_FIGURES] = {main_figure(panel)};
	size_t i, j, count = 1 + more_figures(panel, figures + 1);

	for (i = 0; i < panel->count; i++) {
		const struct report_result *after = &panel->results[i];
		const struct report_result *before = find_like(old, panel->title, after);

		if (before == NULL) {
			(*missing)++;
			continue;
		}
		compare_trouble(panel, before, after, tally);
		for (j = 0; j < count; j++)
			compare_figure(panel, before, after, &figures[j], tally);
	}
}

/* A change as text, for terminal and page. */
enum { CHANGE_BYTES = 600 };
static void describe_change(const struct change *change, char text[CHANGE_BYTES])
{
	const struct report_figure *figure = &change->figure;
	struct interval times = interval_ratio(change->new, change->old);
	char before[VALUE_BYTES], after[VALUE_BYTES], ratio[100] = "";
	const char *trouble = trouble_of(change->result);

	if (figure->title == NULL) {
		snprintf(text, CHANGE_BYTES, "%.*s",
			 trouble != NULL ? (int)whole_letters(trouble, 500) : 100,
			 trouble != NULL ? trouble : "no failure any more");
		return;
	}
	format_value(change->old.median, figure->unit, before);
	format_value(change->new.median, figure->unit, after);
	if (isfinite(times.low) && isfinite(times.high))
		snprintf(ratio, sizeof(ratio), ", %.2f (%.2f to %.2f) times",
			 times.median, times.low, times.high);
	snprintf(text, CHANGE_BYTES, "%.*s from %s to %s%s",
		 (int)whole_letters(figure->title, 100), figure->title, before, after,
		 ratio);
}

static void print_change(const struct change *change)
{
	char text[CHANGE_BYTES];

	describe_change(change, text);
	printf("%s: %s, ", verdicts[change->verdict], change->panel->title);
	if (change->result->threads > 0)
		printf("%d thread%s, ", change->result->threads,
		       change->result->threads == 1 ? "" : "s");
	printf("%s: %s\n", change->result->lock, text);
}

static void write_changes(FILE *out, const struct report *new, const struct tally *tally)
{
	char text[CHANGE_BYTES];
	size_t i;

	fprintf(out, "<section id=\"changes\"><h2>Changes</h2>\n");
	if (tally->count == 0)
		fprintf(out, "<p>None beyond noise, of %zu figures.</p>\n",
			tally->compared - tally->unsure);
	else
		fprintf(out, "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>"
			     "</th><th>lock</th><th>threads</th><th>workload</th><th>"
			     "figure</th></tr></thead>\n<tbody>\n");
	for (i = 0; i < tally->count; i++) {
		const struct change *change = &tally->changes[i];

		describe_change(change, text);
		fprintf(out, "<tr data-lock=\"");
		write_text(out, change->result->lock);
		fprintf(out, "\"><td class=\"%s\">%s</td><th scope=\"row\">",
			verdicts[change->verdict], verdicts[change->verdict]);
		write_text(out, change->result->lock);
		fprintf(out, "</th><td>%d</td><td><a href=\"#p%zu\">",
			change->result->threads, (size_t)(change->panel - new->panels));
		write_text(out, change->panel->title);
		fprintf(out, "</a></td><td>");
		write_words(out, text);
		fprintf(out, "</td></tr>\n");
	}
	fprintf(out, "%s</section>\n",
		tally->count > 0 ? "</tbody></table></div>\n" : "");
}

static size_t count_missing(const struct report *old, const struct report *new)
{
	size_t i, j, missing = 0;

	for (i = 0; i < old->panel_count; i++)
		for (j = 0; j < old->panels[i].count; j++)
			missing += find_like(new, old->panels[i].title,
					     &old->panels[i].results[j]) == NULL;
	return missing;
}

/* Figures of different machines can be compared, but the difference is not pawl's. */
static void warn_of_machines(const struct report *old, const struct report *new)
{
	static const char *const keys[] = {"cpu", "cpus", "machine", "kernel", NULL};
	const json_t *a = json_object_get(old->files[0].root, "context");
	const json_t *b = json_object_get(new->files[0].root, "context");
	size_t i;

	for (i = 0; keys[i] != NULL; i++)
		if (!json_equal(json_object_get(a, keys[i]),
				json_object_get(b, keys[i]))) {
			warn("the files are from different machines (%s); measure both "
			     "on one to compare versions of pawl",
			     keys[i]);
			return;
		}
}

static void print_tally(const struct tally *tally)
{
	const size_t *n = tally->verdicts;

	if (tally->count == 0)
		printf("no change beyond noise, of %zu figures\n",
		       tally->compared - tally->unsure);
	else
		printf("%zu worse, %zu better, %zu unchanged beyond noise\n", n[WORSE],
		       n[BETTER], tally->compared - tally->unsure - tally->count);
}

int report_diff(const struct report *old, const struct report *new, FILE *page)
{
	struct tally tally = {0};
	size_t i, added = 0, removed = count_missing(old, new);
	int status;

	for (i = 0; i < new->panel_count; i++)
		compare_panel(old, &new->panels[i], &tally, &added);
	if (tally.compared == 0)
		refuse("'%s' and '%s' have no result in common; compare files of the "
		       "same command",
		       old->files[0].path, new->files[0].path);
	for (i = 0; i < tally.count; i++)
		print_change(&tally.changes[i]);
	fflush(stdout);
	warn_of_machines(old, new);
	if (added + removed > 0)
		warn("not compared: %zu results only in '%s', and %zu only in '%s'",
		     removed, old->files[0].path, added, new->files[0].path);
	if (tally.unsure > 0)
		warn("not judged: %zu of %zu figures, from fewer than 5 runs, or without "
		     "their spreads; raise --runs",
		     tally.unsure, tally.compared);
	print_tally(&tally);
	if (page != NULL) {
		begin_page(page, new, old);
		write_changes(page, new, &tally);
		end_page(page, new, old);
	}
	status = tally.verdicts[WORSE] > 0;
	free(tally.changes);
	return status;
}
