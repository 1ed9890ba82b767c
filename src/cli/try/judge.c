/* SPDX-License-Identifier: MIT */
/* Compares candidates. */
#include "cli/try/try.h"

#include "cli/common/options.h"

#include <math.h>
#include <stdlib.h>

bool is_ranked(const struct candidate *candidate)
{
	return candidate->runs > 0 && *candidate->trouble == '\0';
}

/*
 * Pairs the runs of each round, so that changes between rounds cancel. Runs are in the
 * order of rounds as long as none fails, and a dropped candidate does not return.
 */
struct interval times_of(const struct trial *trial, const struct candidate *a,
			 const struct candidate *b)
{
	size_t i, n = a->runs < b->runs ? a->runs : b->runs;
	double *ratios = calloc(n, sizeof(*ratios));
	struct interval times;

	if (ratios == NULL)
		give_up("out of memory");
	for (i = 0; i < n; i++)
		ratios[i] = a->samples[trial->deciding][i] /
			    b->samples[trial->deciding][i];
	times = median_interval_of(ratios, n, trial->confidence);
	free(ratios);
	return times;
}

/* -1 if the interval is below 1, 1 if above, 0 if it contains 1. */
static int sign_of(struct interval times)
{
	if (times.high < 1 - LEAST_DIFFERENCE)
		return -1;
	return times.low > 1 + LEAST_DIFFERENCE;
}

static bool has_enough_runs(const struct candidate *a, const struct candidate *b)
{
	return a->runs >= RUNS_TO_RANK && b->runs >= RUNS_TO_RANK;
}

int judge(const struct trial *trial, const struct candidate *a, const struct candidate *b)
{
	int sign;

	if (!has_enough_runs(a, b) || takes_no_lock(trial))
		return 0;
	sign = sign_of(times_of(trial, a, b));
	return trial->more_is_better ? sign : -sign;
}

bool may_be_better(const struct trial *trial, const struct candidate *a,
		   const struct candidate *b)
{
	struct interval times = times_of(trial, a, b);

	if (!has_enough_runs(a, b))
		return true;
	return trial->more_is_better ? times.high > 1 + LEAST_DIFFERENCE
				     : times.low < 1 - LEAST_DIFFERENCE;
}

bool are_equal(const struct trial *trial, const struct candidate *a,
	       const struct candidate *b)
{
	struct interval times = times_of(trial, a, b);

	return has_enough_runs(a, b) && times.low >= 1 - LEAST_DIFFERENCE &&
	       times.high <= 1 + LEAST_DIFFERENCE;
}

bool takes_no_lock(const struct trial *trial)
{
	const struct counts *counts = &trial->look.counts;

	return counts->any && counts->acquisitions == 0 && counts->rwlocks == 0;
}

struct candidate *find_best(const struct trial *trial)
{
	struct candidate *best = NULL;
	double least = INFINITY;
	size_t i;

	for (i = 1; i < trial->count; i++) {
		struct candidate *c = &trial->candidates[i];
		double cost;

		if (!is_ranked(c) || c->dropped != NOT_DROPPED)
			continue;
		cost = times_of(trial, c, trial->candidates).median;
		if (trial->more_is_better)
			cost = -cost;
		if (cost < least) {
			least = cost;
			best = c;
		}
	}
	return best;
}

double unseen(const struct trial *trial)
{
	double most = 0;
	size_t i;

	for (i = 1; i < trial->count; i++)
		if (is_ranked(&trial->candidates[i])) {
			struct interval times = times_of(trial, &trial->candidates[i],
							 trial->candidates);

			most = fmax(most, fmax(times.high - 1, 1 - times.low));
		}
	return most;
}
