/* SPDX-License-Identifier: MIT */
/*
 * Histogram of waiting times: eight buckets per power of two of nanoseconds, so a
 * percentile is exact to within an eighth.
 */
#ifndef PAWL_BENCH_WAITS_H
#define PAWL_BENCH_WAITS_H

#include <stdint.h>
#include <time.h>

enum { WAITS_BUCKETS = 62 * 8 };

struct waits {
	uint64_t count[WAITS_BUCKETS];
	uint64_t longest;
};

static inline uint64_t waits_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A value of waits_now() as a struct timespec. */
static inline struct timespec waits_time(uint64_t ns)
{
	struct timespec time;

	time.tv_sec = (time_t)(ns / 1000000000u);
	time.tv_nsec = (long)(ns % 1000000000u);
	return time;
}

/* 0 to 15 have a bucket each; above, the three bits after the leading one select it. */
static inline unsigned waits_bucket(uint64_t ns)
{
	unsigned power;

	if (ns < 16)
		return (unsigned)ns;
	power = 63 - (unsigned)__builtin_clzll(ns);
	return (power - 2) * 8 + (unsigned)((ns >> (power - 3)) & 7);
}

static inline void waits_add(struct waits *waits, uint64_t ns)
{
	waits->count[waits_bucket(ns)]++;
	if (ns > waits->longest)
		waits->longest = ns;
}

void waits_merge(struct waits *into, const struct waits *from);

/* The wait, in nanoseconds, that the given share (0 to 1) of all waits did not exceed. */
uint64_t waits_percentile(const struct waits *waits, double part);

#endif /* PAWL_BENCH_WAITS_H */
