/* SPDX-License-Identifier: MIT */
/*
 * What changed from one file to the next. Two figures differ if their intervals
 * stay apart, and by more than what is never called a difference: two runs of
 * the same program, on the same machine, differ by that much.
 */
#include "cli/common/options.h"
#include "cli/report/report.h"
#include "cli/report/plot.h"

#include <math.h>
#include <string.h>

static const double least_difference = 0.02;

/* With less, from fewer than 5 runs, nothing is said. */
static const double least_confidence = 0.9;

struct tally {
	size_t compared, better, worse, unsure;
};

static const struct report_panel *find_panel(const struct report *report,
					     const char *title)
{
	size_t i;

	for (i = 0; i < report->panel_count; i++)
		if (strcmp(report->panels[i].title, title) == 0)
			return &report->panels[i];
	return NULL;
}

static const struct report_result *find_result(const struct report *report,
					       const char *title,
					       const struct report_result *like)
{
	const struct report_panel *panel = find_panel(report, title);
	size_t i;

	for (i = 0; panel != NULL && i < panel->count; i++)
		if (panel->results[i].threads == like->threads &&
		    strcmp(panel->results[i].lock, like->lock) == 0)
			return &panel->results[i];
	return NULL;
}

static void print_change(const struct report_panel *panel,
			 const struct report_result *result,
			 const struct report_figure *figure, struct interval old,
			 struct interval new, bool is_worse)
{
	struct interval times = interval_ratio(new, old);
	char before[NUMBER_BYTES], after[NUMBER_BYTES];

	format_number(old.median, before);
	format_number(new.median, after);
	printf("%s: %s, ", is_worse ? "worse" : "better", panel->title);
	if (result->threads > 0)
		printf("%d thread%s, ", result->threads, result->threads == 1 ? "" : "s");
	printf("%s: %s%s%s, from %s to %s", result->lock, figure->title,
	       figure->unit != NULL ? " in " : "",
	       figure->unit != NULL ? figure->unit : "", before, after);
	if (isfinite(times.median))
		printf(", %.2f (%.2f to %.2f) times", times.median, times.low,
		       times.high);
	printf("\n");
}

/* Simulations have no noise: the same input gives the same figures. */
static bool is_sure(const struct report_panel *panel, struct interval value)
{
	return strcmp(panel->file->tool, "sim") == 0 ||
	       value.confidence >= least_confidence;
}

static void compare_figure(const struct report_panel *panel,
			   const struct report_result *before,
			   const struct report_result *after,
			   const struct report_figure *figure, struct tally *tally)
{
	struct interval old, new;
	bool is_worse;

	if (!find_figure(before, figure, &old) || !find_figure(after, figure, &new))
		return;
	tally->compared++;
	if (!is_sure(panel, old) || !is_sure(panel, new)) {
		tally->unsure++;
		return;
	}
	if (!intervals_differ(old, new) ||
	    fabs(new.median - old.median) <= least_difference * fabs(old.median))
		return;
	is_worse = (new.median > old.median) == figure->less_is_better;
	tally->worse += is_worse;
	tally->better += !is_worse;
	print_change(panel, after, figure, old, new, is_worse);
}

/* Worse than any figure. */
static void compare_trouble(const struct report_panel *panel,
			    const struct report_result *before,
			    const struct report_result *after, struct tally *tally)
{
	const char *trouble = trouble_of(after);

	if (trouble == NULL && trouble_of(before) == NULL)
		return;
	tally->compared++;
	if (trouble != NULL && trouble_of(before) == NULL) {
		tally->worse++;
		printf("worse: %s, %s: %s\n", panel->title, after->lock, trouble);
	} else if (trouble == NULL) {
		tally->better++;
		printf("better: %s, %s: no more trouble\n", panel->title, after->lock);
	}
}

static void compare_panel(const struct report *old, const struct report_panel *panel,
			  struct tally *tally, size_t *missing)
{
	static const struct report_figure counted[] = {
		{.group = "per_episode",
		 .key = "misses",
		 .title = "misses per episode",
		 .less_is_better = true},
		{.group = "per_episode",
		 .key = "invalidations",
		 .title = "invalidations per episode",
		 .less_is_better = true},
	};
	struct report_figure figure = main_figure(panel);
	size_t i, j;

	for (i = 0; i < panel->count; i++) {
		const struct report_result *after = &panel->results[i];
		const struct report_result *before = find_result(old, panel->title,
								 after);

		if (before == NULL) {
			(*missing)++;
			continue;
		}
		compare_trouble(panel, before, after, tally);
		compare_figure(panel, before, after, &figure, tally);
		for (j = 0; j < sizeof(counted) / sizeof(counted[0]); j++)
			compare_figure(panel, before, after, &counted[j], tally);
	}
}

static size_t count_missing(const struct report *old, const struct report *new)
{
	size_t i, j, missing = 0;

	for (i = 0; i < old->panel_count; i++)
		for (j = 0; j < old->panels[i].count; j++)
			missing += find_result(new, old->panels[i].title,
					       &old->panels[i].results[j]) == NULL;
	return missing;
}

/* Figures of two machines can be compared, but say nothing about pawl. */
static void warn_of_machines(const struct report *old, const struct report *new)
{
	static const char *const keys[] = {"cpu", "cpus", "machine", "kernel", NULL};
	const json_t *a = json_object_get(old->files[0].root, "context");
	const json_t *b = json_object_get(new->files[0].root, "context");
	size_t i;

	for (i = 0; keys[i] != NULL; i++)
		if (!json_equal(json_object_get(a, keys[i]),
				json_object_get(b, keys[i]))) {
			warn("the files come from different machines (%s); measure both "
			     "on one to compare versions of pawl",
			     keys[i]);
			return;
		}
}

int report_diff(const struct report *old, const struct report *new)
{
	struct tally tally = {0};
	size_t i, added = 0, removed = count_missing(old, new);

	for (i = 0; i < new->panel_count; i++)
		compare_panel(old, &new->panels[i], &tally, &added);
	if (tally.compared == 0)
		refuse("'%s' and '%s' have no result in common; compare files of the "
		       "same "
		       "command",
		       old->files[0].path, new->files[0].path);
	fflush(stdout);
	warn_of_machines(old, new);
	if (added + removed > 0)
		warn("not compared: %zu results that only '%s' has, and %zu that only "
		     "'%s' has",
		     removed, old->files[0].path, added, new->files[0].path);
	if (tally.unsure > 0)
		warn("not judged: %zu of %zu figures, from fewer than 5 runs; raise "
		     "--runs",
		     tally.unsure, tally.compared);
	if (tally.worse + tally.better == 0)
		printf("nothing changed beyond noise, of %zu figures\n",
		       tally.compared - tally.unsure);
	else
		printf("%zu worse, %zu better, %zu unchanged beyond noise\n", tally.worse,
		       tally.better,
		       tally.compared - tally.unsure - tally.worse - tally.better);
	return tally.worse > 0;
}
