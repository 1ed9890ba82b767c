/* SPDX-License-Identifier: MIT */
/* What pawl try says about its measurements. */
#include "cli/common/options.h"
#include "cli/common/stats.h"
#include "cli/try/try.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Less than this is never called a difference: environment, layout and whatever
 * else is the same in all runs of a program under a lock shift it that much. */
static const double least_difference = 0.01;

/* Nor is anything that fewer runs show: their intervals mean little. */
enum { RUNS_TO_RANK = 5 };

/* Intervals wider than this, to either side, say little. */
static const double widest_error = 0.10;

static const struct {
	const char *title, *key; /* in the table, in JSON */
	const char *phrase;	 /* in a sentence */
	double unit;
} figures[] = {
	[WALL] = {"wall s", "wall_s", "wall time", 1},
	[CPU] = {"CPU s", "cpu_s", "CPU time", 1},
	[SWITCHES] = {"switches", "context_switches", "context switches", 1},
	[MEMORY] = {"peak MB", "max_rss", "peak memory", 1e6},
	[METRIC] = {"metric", "metric", "metric", 1},
};

static bool is_ranked(const struct candidate *candidate)
{
	return candidate->runs > 0 && *candidate->trouble == '\0';
}

/*
 * How many times b's figure a's is. Both were run once in each round, one after
 * the other, so that the ratios of rounds know nothing of what changed between
 * rounds. Runs stand in the order of rounds as long as there is no trouble.
 */
static struct interval compare(const struct candidate *a, const struct candidate *b,
			       enum figure figure)
{
	size_t i, n = a->runs < b->runs ? a->runs : b->runs;
	double *ratios = calloc(n, sizeof(*ratios));
	struct interval times;

	if (ratios == NULL)
		give_up("out of memory");
	for (i = 0; i < n; i++)
		ratios[i] = a->samples[figure][i] / b->samples[figure][i];
	times = median_interval(ratios, n);
	free(ratios);
	return times;
}

/* Beyond noise: -1 if a's figure is below b's, 1 if it is above, else 0. */
static int sign_of(struct interval times)
{
	if (times.high < 1 - least_difference)
		return -1;
	return times.low > 1 + least_difference;
}

/* Whether it was counted, and no lock was ever asked for. */
static bool takes_no_lock(const struct trial *trial)
{
	bool is_counted = false;
	size_t i;

	for (i = 0; i < trial->count; i++) {
		if (trial->candidates[i].acquisitions > 0 ||
		    trial->candidates[i].rwlocks > 0)
			return false;
		is_counted |= trial->candidates[i].counted;
	}
	return is_counted;
}

/* As sign_of: 1 if a is better than b by what decides, -1 if it is worse. */
static int judge(const struct trial *trial, const struct candidate *a,
		 const struct candidate *b)
{
	int sign = sign_of(compare(a, b, trial->deciding));

	if (a->runs < RUNS_TO_RANK || b->runs < RUNS_TO_RANK || takes_no_lock(trial))
		return 0;
	return trial->more_is_better ? sign : -sign;
}

/* The table. */

static void format_figure(const struct candidate *candidate, enum figure figure,
			  char *cell, size_t size)
{
	struct interval s = median_interval(candidate->samples[figure], candidate->runs);
	double error = fmax(s.high - s.median, s.median - s.low) / figures[figure].unit;
	double value = s.median / figures[figure].unit;
	int digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;

	snprintf(cell, size, "%.*f ± %.*f", digits, value, digits, error);
}

/* As printf("%*s"), which counts bytes where the eye counts letters. */
static void print_right(int width, const char *text)
{
	int letters = 0;
	const char *c;

	for (c = text; *c != '\0'; c++)
		letters += ((unsigned char)*c & 0xc0) != 0x80;
	printf("  %*s%s", width > letters ? width - letters : 0, "", text);
}

static void print_row(const struct trial *trial, const struct candidate *candidate)
{
	static const char *const words[] = {"worse", "", "better"};
	int f, last = trial->deciding == METRIC ? METRIC : MEMORY;
	char cell[64];

	printf("  %-16s", candidate->name);
	for (f = 0; f <= last; f++) {
		format_figure(candidate, (enum figure)f, cell, sizeof(cell));
		print_right(16, cell);
	}
	if (candidate != trial->candidates) {
		struct interval times = compare(candidate, trial->candidates,
						trial->deciding);

		printf("  %6.3f (%.3f to %.3f) %s", times.median, times.low, times.high,
		       words[judge(trial, candidate, trial->candidates) + 1]);
	}
	printf("\n");
}

static void print_table(const struct trial *trial)
{
	const struct candidate *glibc = trial->candidates;
	int f, last = trial->deciding == METRIC ? METRIC : MEMORY;
	size_t i;

	printf("  %-16s", "lock");
	for (f = 0; f <= last; f++)
		print_right(16, figures[f].title);
	printf("  %s, times glibc's\n", figures[trial->deciding].phrase);
	for (i = 0; i < trial->count; i++)
		if (is_ranked(&glibc[i]))
			print_row(trial, &glibc[i]);
	for (i = 0; i < trial->count; i++)
		if (*glibc[i].trouble != '\0')
			printf("  %-16s  not ranked: %s\n", glibc[i].name,
			       glibc[i].trouble);
	printf("\n");
}

static void print_count(const char *what, double taken, double contended,
			const char *lock)
{
	if (taken > 0)
		printf("The program takes %s %.0f times, and had to wait for %.0f of "
		       "these (%.2g %%) under %s.\n",
		       what, taken, contended, 100 * contended / taken, lock);
}

/* How much there is to be gained: by the first lock that was counted. */
static void print_counts(const struct trial *trial)
{
	const struct candidate *c = trial->candidates;
	size_t i;

	for (i = 0; i < trial->count && !c[i].counted; i++)
		;
	if (i == trial->count)
		return;
	print_count("mutexes", c[i].acquisitions, c[i].contended, c[i].name);
	print_count("read-write locks", c[i].rwlocks, c[i].rwlocks_contended, c[i].name);
}

/* The verdict. */

/* Prints the names of those that have `sign` in judgements, as "a, b and c". */
static void print_names(const struct trial *trial, const int *judgements, int sign)
{
	size_t i, left = 0;

	for (i = 1; i < trial->count; i++)
		left += judgements[i] == sign;
	for (i = 1; i < trial->count; i++)
		if (judgements[i] == sign) {
			left--;
			printf("%s%s", trial->candidates[i].name,
			       left > 1	   ? ", "
			       : left == 1 ? " and "
					   : "");
		}
}

static size_t count_of(const struct trial *trial, const int *judgements, int sign)
{
	size_t i, n = 0;

	for (i = 1; i < trial->count; i++)
		n += judgements[i] == sign;
	return n;
}

/* Who comes first among the ranked locks, by the median ratio to glibc. */
static const struct candidate *find_best(const struct trial *trial)
{
	const struct candidate *best = NULL;
	double least = INFINITY;
	size_t i;

	for (i = 1; i < trial->count; i++) {
		const struct candidate *c = &trial->candidates[i];
		double cost;

		if (!is_ranked(c))
			continue;
		cost = compare(c, trial->candidates, trial->deciding).median;
		if (trial->more_is_better)
			cost = -cost;
		if (cost < least) {
			least = cost;
			best = c;
		}
	}
	return best;
}

/* The largest difference that any of the intervals leaves possible. */
static double unseen(const struct trial *trial)
{
	double most = 0;
	size_t i;

	for (i = 1; i < trial->count; i++)
		if (is_ranked(&trial->candidates[i])) {
			struct interval times = compare(&trial->candidates[i],
							trial->candidates,
							trial->deciding);

			most = fmax(most, fmax(times.high - 1, 1 - times.low));
		}
	return most;
}

enum { NOT_RANKED = 9 };

static void print_winner(const struct trial *trial, const struct candidate *best)
{
	struct interval times = compare(best, trial->candidates, trial->deciding);
	int judgements[trial->count];
	size_t i, ties;

	printf("%s is best for this program: its %s is %.3f (%.3f to %.3f) times that "
	       "under glibc",
	       best->name, figures[trial->deciding].phrase, times.median, times.low,
	       times.high);
	for (i = 1; i < trial->count; i++) {
		const struct candidate *c = &trial->candidates[i];

		judgements[i] = !is_ranked(c) || c == best ? NOT_RANKED
							   : judge(trial, c, best);
	}
	ties = count_of(trial, judgements, 0);
	if (ties > 0) {
		printf("; ");
		print_names(trial, judgements, 0);
		printf(" cannot be told apart from it");
	}
	printf(".\n");
}

static void print_verdict(const struct trial *trial)
{
	const char *phrase = figures[trial->deciding].phrase;
	const struct candidate *best = find_best(trial);
	int judgements[trial->count]; /* against glibc */
	size_t i, ranked = 0, worse;

	for (i = 1; i < trial->count; i++) {
		const struct candidate *c = &trial->candidates[i];

		judgements[i] = is_ranked(c) ? judge(trial, c, trial->candidates)
					     : NOT_RANKED;
		ranked += is_ranked(c);
	}
	worse = count_of(trial, judgements, -1);
	if (ranked == 0)
		printf("Nothing to rank: under no lock was the program run to its end as "
		       "under glibc.\n");
	else if (takes_no_lock(trial))
		printf("Nothing to rank: the program takes no lock that pawl stands in "
		       "for, and none can make it faster.\n");
	else if (best->runs < RUNS_TO_RANK)
		printf("Too few runs to tell a difference from chance: ask for --runs "
		       "%d or more.\n",
		       RUNS_TO_RANK);
	else if (judge(trial, best, trial->candidates) > 0)
		print_winner(trial, best);
	else if (worse == ranked)
		printf("glibc is best for this program: under every lock its %s is "
		       "worse.\n",
		       phrase);
	else if (unseen(trial) > widest_error && worse == 0)
		printf("No difference can be told: the %s varies so much that up to %.0f "
		       "%% might go unseen.\n",
		       phrase, ceil(100 * unseen(trial)));
	else if (worse > 0) {
		printf("No lock is better than glibc for this program; ");
		print_names(trial, judgements, -1);
		printf(worse == 1 ? " is worse.\n" : " are worse.\n");
	} else
		printf("No difference: no lock changes the %s of this program beyond "
		       "noise; more than %.0f %% would have been seen.\n",
		       phrase, ceil(100 * unseen(trial)));
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
		warn("the %s varies by %.0f %% under %s; raise --runs, give the program "
		     "more to do, or quiet the machine",
		     figures[trial->deciding].phrase, 100 * most, worst->name);
}

void report_trial(const struct trial *trial)
{
	char **word;

	for (word = trial->program; *word != NULL; word++)
		printf("%s%s", word == trial->program ? "" : " ", *word);
	printf(": %zu runs of each\n", trial->candidates[0].runs);
	print_table(trial);
	print_counts(trial);
	fflush(stdout);
	warn_of_errors(trial);
	print_verdict(trial);
}

/* JSON. */

static json_t *describe_figure(const struct candidate *candidate, int figure)
{
	struct interval s = median_interval(candidate->samples[figure], candidate->runs);
	json_t *samples = json_array();
	size_t i;

	for (i = 0; i < candidate->runs; i++)
		json_array_append_new(samples, json_real(candidate->samples[figure][i]));
	return json_pack("{s:f, s:f, s:f, s:o}", "median", s.median, "low", s.low, "high",
			 s.high, "samples", samples);
}

static json_t *describe_candidate(const struct trial *trial,
				  const struct candidate *candidate)
{
	json_t *result = json_pack("{s:s, s:s}", "workload", "try", "lock",
				   candidate->name);
	int f, last = trial->deciding == METRIC ? METRIC : MEMORY;

	if (trial->deciding == METRIC)
		json_object_set_new(result, "better",
				    json_string(trial->more_is_better ? "more" : "less"));
	if (*candidate->trouble != '\0')
		json_object_set_new(result, "trouble", json_string(candidate->trouble));
	if (candidate->counted) {
		json_object_set_new(result, "acquisitions",
				    json_real(candidate->acquisitions));
		json_object_set_new(result, "contended", json_real(candidate->contended));
		json_object_set_new(result, "rwlock_acquisitions",
				    json_real(candidate->rwlocks));
		json_object_set_new(result, "rwlock_contended",
				    json_real(candidate->rwlocks_contended));
	}
	for (f = 0; f <= last && candidate->runs > 0; f++)
		json_object_set_new(result, figures[f].key,
				    describe_figure(candidate, f));
	return result;
}

json_t *describe_trial(const struct trial *trial)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < trial->count; i++)
		json_array_append_new(list,
				      describe_candidate(trial, &trial->candidates[i]));
	return list;
}
