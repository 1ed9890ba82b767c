/* SPDX-License-Identifier: MIT */
/* Statistics of a few samples, robust against single disturbed runs. */
#ifndef PAWL_CLI_STATS_H
#define PAWL_CLI_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* A value and its error, in the same unit. */
struct estimate {
	double value;
	double error;
};

/*
 * The median, and half the interquartile range; the error of a single sample is unknown
 * and given as 0. n must not be 0.
 */
struct estimate estimate_median(const double *samples, size_t n);

/* a / b, with relative errors added in quadrature. */
struct estimate estimate_ratio(struct estimate a, struct estimate b);

/*
 * A median, and an interval that contains the true one with this confidence, from 0 to 1.
 * Rankings use the intervals, never the medians alone.
 */
struct interval {
	double median, low, high;
	double confidence;
};

/*
 * Non-parametric: the narrowest pair of samples, symmetric in rank, that contains the
 * true median with 95 % confidence or more. Fewer than 6 samples have no such pair: then
 * the least and the greatest, with the confidence that they give (5: 94 %, 3: 75 %, 1:
 * none). n must not be 0.
 */
struct interval median_interval(const double *samples, size_t n);

/* The same with another confidence than 95 %. */
struct interval median_interval_of(const double *samples, size_t n, double confidence);

/* Whether the intervals are disjoint. If not, that does not prove that the medians are
 * equal. */
bool intervals_differ(struct interval a, struct interval b);

/* a / b, for positive intervals. */
struct interval interval_ratio(struct interval a, struct interval b);

/* Spearman's rank correlation of n pairs: from 1 to -1, the reverse order; NAN if all
 * values of one side are equal. */
double rank_correlation(const double *a, const double *b, size_t n);

#endif /* PAWL_CLI_STATS_H */
