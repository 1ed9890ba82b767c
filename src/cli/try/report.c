/* SPDX-License-Identifier: MIT */
/* Prints the results of pawl try. */
#include "cli/try/try.h"

#include "cli/common/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With a larger relative error a ranking means little. */
static const double widest_error = 0.10;

/* The table. */

static void format_figure(const struct candidate *candidate, enum figure figure,
			  char *cell, size_t size)
{
	struct interval s = median_interval(candidate->samples[figure], candidate->runs);
	double unit = figure_texts[figure].unit;
	double error = fmax(s.high - s.median, s.median - s.low) / unit;
	double value = s.median / unit;
	int digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;

	snprintf(cell, size, "%.*f ± %.*f", digits, value, digits, error);
}

/* As printf("%*s"), which counts bytes instead of characters. */
static void print_right(int width, const char *text)
{
	int letters = 0;
	const char *c;

	for (c = text; *c != '\0'; c++)
		letters += ((unsigned char)*c & 0xc0) != 0x80;
	printf("  %*s%s", width > letters ? width - letters : 0, "", text);
}

static const char *word_for(const struct trial *trial, const struct candidate *candidate)
{
	static const char *const words[] = {"worse", "", "better"};

	if (candidate->dropped == DROPPED_AS_EQUAL)
		return "no better";
	return words[judge(trial, candidate, trial->candidates) + 1];
}

static void print_row(const struct trial *trial, const struct candidate *candidate)
{
	int f, last = trial->deciding == METRIC ? METRIC : MEMORY;
	char cell[64];

	printf("  %-16s  %4zu", candidate->name, candidate->runs);
	for (f = 0; f <= last; f++) {
		format_figure(candidate, (enum figure)f, cell, sizeof(cell));
		print_right(16, cell);
	}
	if (candidate != trial->candidates) {
		struct interval times = times_of(trial, candidate, trial->candidates);

		printf("  %6.3f (%.3f to %.3f) %s", times.median, times.low, times.high,
		       word_for(trial, candidate));
	}
	printf("\n");
}

static void print_table(const struct trial *trial)
{
	const struct candidate *glibc = trial->candidates;
	int f, last = trial->deciding == METRIC ? METRIC : MEMORY;
	size_t i;

	printf("  %-16s  %4s", "lock", "runs");
	for (f = 0; f <= last; f++)
		print_right(16, figure_texts[f].title);
	printf("  %s, times glibc's\n", figure_texts[trial->deciding].phrase);
	for (i = 0; i < trial->count; i++)
		if (is_ranked(&glibc[i]))
			print_row(trial, &glibc[i]);
}

static void print_troubles(const struct trial *trial)
{
	size_t i;

	for (i = 0; i < trial->count; i++)
		if (*trial->candidates[i].trouble != '\0')
			printf("  %-16s  not ranked: %s\n", trial->candidates[i].name,
			       trial->candidates[i].trouble);
}

/* The first sample. */

static void print_count(const char *what, double taken, double contended,
			const char *lock)
{
	if (taken > 0)
		printf("The program takes %s %.0f times, and had to wait for %.0f of "
		       "these (%.2g %%) under %s.\n",
		       what, taken, contended, 100 * contended / taken, lock);
}

static void print_look(const struct look *look)
{
	const struct counts *c = &look->counts;

	if (look->lock == NULL || !c->any)
		return;
	print_count("mutexes", c->acquisitions, c->contended, look->lock);
	print_count("read-write locks", c->rwlocks, c->rwlocks_contended, "pawl's");
	printf("Its threads waited for %.1f ms: %.1f ms for mutexes, %.1f ms for "
	       "read-write locks, %.1f ms for mutexes after a signal; that is %.2f %% of "
	       "%.2f s of wall time, and %.2f %% of the threads' time.\n",
	       1e3 * (c->mutex_s + c->rwlock_s + c->after_signal_s), 1e3 * c->mutex_s,
	       1e3 * c->rwlock_s, 1e3 * c->after_signal_s, 100 * look->wall_share,
	       look->wall_s, 100 * look->thread_share);
}

static void warn_of_errors(const struct trial *trial)
{
	const struct candidate *worst = NULL;
	double most = widest_error;
	size_t i;

	for (i = 0; i < trial->count; i++) {
		const struct candidate *c = &trial->candidates[i];
		struct interval s;

		if (!is_ranked(c))
			continue;
		s = median_interval(c->samples[trial->deciding], c->runs);
		if ((s.high - s.low) / 2 > most * fabs(s.median)) {
			most = (s.high - s.low) / 2 / fabs(s.median);
			worst = c;
		}
	}
	if (worst != NULL)
		warn("the %s varies by %.0f %% under %s; raise --budget, give the "
		     "program more work, or stop other programs",
		     figure_texts[trial->deciding].phrase, 100 * most, worst->name);
}

static void print_title(const struct request *request)
{
	char **word;

	if (request->server != NULL)
		printf("%s, under the load of %s:\n", request->server, request->load);
	for (word = request->program; word != NULL && *word != NULL; word++)
		printf("%s%s", word == request->program ? "" : " ", *word);
	if (request->program != NULL)
		printf(":\n");
}

void report_trial(const struct trial *trial)
{
	bool was_raced = !trial->look.ends_it && trial->wanted_s == 0;
	char *sentence = verdict_sentence(trial);

	print_title(trial->request);
	if (was_raced)
		print_table(trial);
	print_troubles(trial);
	printf("\n");
	print_look(&trial->look);
	fflush(stdout);
	if (was_raced)
		warn_of_errors(trial);
	printf("%s\n", sentence);
	free(sentence);
}
