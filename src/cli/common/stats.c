/* SPDX-License-Identifier: MIT */
#include "cli/common/stats.h"

#include "cli/common/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The q-quantile, interpolated. */
static double quantile(const double *sorted, size_t n, double q)
{
	double place = q * (double)(n - 1);
	size_t below = (size_t)place;
	double rest = place - (double)below;

	if (below + 1 == n)
		return sorted[below];
	return sorted[below] + rest * (sorted[below + 1] - sorted[below]);
}

/* To be freed. */
static double *sort(const double *samples, size_t n)
{
	double *sorted = malloc(n * sizeof(*sorted));

	if (sorted == NULL)
		give_up("out of memory");
	memcpy(sorted, samples, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	return sorted;
}

struct estimate estimate_median(const double *samples, size_t n)
{
	double *sorted = sort(samples, n);
	struct estimate estimate;

	estimate.value = quantile(sorted, n, 0.5);
	estimate.error = (quantile(sorted, n, 0.75) - quantile(sorted, n, 0.25)) / 2;
	free(sorted);
	return estimate;
}

struct estimate estimate_ratio(struct estimate a, struct estimate b)
{
	double ratio = a.value / b.value;

	return (struct estimate){ratio,
				 ratio * hypot(a.error / a.value, b.error / b.value)};
}

/* The probability that exactly k of n samples lie below the true median. */
static double chance_below(size_t n, size_t k)
{
	double x = (double)n, y = (double)k;

	return exp(lgamma(x + 1) - lgamma(y + 1) - lgamma(x - y + 1) - x * log(2));
}

struct interval median_interval(const double *samples, size_t n)
{
	return median_interval_of(samples, n, 0.95);
}

struct interval median_interval_of(const double *samples, size_t n, double wanted)
{
	double *sorted = sort(samples, n);
	double outside = chance_below(n, 0); /* that the median is below sorted[0] */
	struct interval interval = {.median = quantile(sorted, n, 0.5)};
	size_t k = 0;

	/* Narrows the interval at both ends as long as the confidence allows. */
	while (n > 2 * (k + 1)) {
		double more = outside + chance_below(n, k + 1);

		if (1 - 2 * more < wanted)
			break;
		outside = more;
		k++;
	}
	interval.low = sorted[k];
	interval.high = sorted[n - 1 - k];
	interval.confidence = fmax(1 - 2 * outside, 0);
	free(sorted);
	return interval;
}

bool intervals_differ(struct interval a, struct interval b)
{
	return a.confidence > 0 && b.confidence > 0 && (a.low > b.high || b.low > a.high);
}

struct interval interval_ratio(struct interval a, struct interval b)
{
	return (struct interval){a.median / b.median, a.low / b.high, a.high / b.low,
				 fmin(a.confidence, b.confidence)};
}

/* Ranks from 1; equal values share the mean of their ranks. */
static double rank_of(const double *values, size_t n, size_t which)
{
	size_t i, less = 0, equal = 0;

	for (i = 0; i < n; i++) {
		less += values[i] < values[which];
		equal += values[i] == values[which];
	}
	return (double)less + ((double)equal + 1) / 2;
}

double rank_correlation(const double *a, const double *b, size_t n)
{
	double mean = ((double)n + 1) / 2, both = 0, of_a = 0, of_b = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		double x = rank_of(a, n, i) - mean, y = rank_of(b, n, i) - mean;

		both += x * y;
		of_a += x * x;
		of_b += y * y;
	}
	return both / sqrt(of_a * of_b);
}
