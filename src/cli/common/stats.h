/* SPDX-License-Identifier: MIT */
/* What a handful of samples say: robust against the odd disturbed run. */
#ifndef PAWL_CLI_STATS_H
#define PAWL_CLI_STATS_H

#include <stdbool.h>
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

/*
 * A median, and between what the true one lies: with this confidence, from 0 to
 * 1. What is ranked is ranked by these, never by the medians alone.
 */
struct interval {
	double median, low, high;
	double confidence;
};

/*
 * From the order of the samples alone, so that nothing is assumed of how they are
 * distributed: the narrowest pair of samples, as far from the least as from the
 * greatest, that encloses the true median with 95 % confidence or more. Of fewer
 * than 6 samples no pair does: then the least and the greatest, with the
 * confidence that they give (5: 94 %, 3: 75 %, 1: none). n must not be 0.
 */
struct interval median_interval(const double *samples, size_t n);

/* The same with another confidence than 95 %. */
struct interval median_interval_of(const double *samples, size_t n, double confidence);

/* Whether a and b differ: neither reaches into the other. That they do not is no
 * proof that they are equal. */
bool intervals_differ(struct interval a, struct interval b);

/* a / b, for positive ones: from the least it may be to the most. */
struct interval interval_ratio(struct interval a, struct interval b);

/* How well two rankings of the same n agree: from 1, alike, to -1, the one is the other
 * turned round (Spearman); NAN if all are equal in one of them. */
double rank_correlation(const double *a, const double *b, size_t n);

#endif /* PAWL_CLI_STATS_H */
