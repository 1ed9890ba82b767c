/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include "options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value below which a share q lies, interpolated between neighbours. */
static double quantile(const double *sorted, size_t n, double q)
{
	double place = q * (double)(n - 1);
	size_t below = (size_t)place;
	double rest = place - (double)below;

	if (below + 1 == n)
		return sorted[below];
	return sorted[below] + rest * (sorted[below + 1] - sorted[below]);
}

struct estimate estimate_median(const double *samples, size_t n)
{
	double *sorted = malloc(n * sizeof(*sorted));
	struct estimate estimate;

	if (sorted == NULL)
		give_up("out of memory");
	memcpy(sorted, samples, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
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
