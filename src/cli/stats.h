/* SPDX-License-Identifier: MIT */
/* What a handful of samples say: robust against the odd disturbed run. */
#ifndef PAWL_CLI_STATS_H
#define PAWL_CLI_STATS_H

#include <stddef.h>

/* A value and its error, both in the same unit. */
struct estimate {
	double value;
	double error;
};

/*
 * The median, and half of what lies between the quartiles; the error of a
 * single sample is not known and given as 0. n must not be 0.
 */
struct estimate estimate_median(const double *samples, size_t n);

/* a / b, with relative errors added in quadrature. */
struct estimate estimate_ratio(struct estimate a, struct estimate b);

#endif /* PAWL_CLI_STATS_H */
