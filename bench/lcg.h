/* SPDX-License-Identifier: MIT */
/*
 * The random numbers of the workloads: Knuth's 64-bit linear congruential generator. It
 * can jump ahead, so that billions of steps are replayed in 64.
 */
#ifndef PAWL_BENCH_LCG_H
#define PAWL_BENCH_LCG_H

#include <stddef.h>
#include <stdint.h>

#define LCG_MULTIPLIER UINT64_C(6364136223846793005)
#define LCG_INCREMENT  UINT64_C(1442695040888963407)

static inline uint64_t lcg_next(uint64_t state)
{
	return state * LCG_MULTIPLIER + LCG_INCREMENT;
}

/* Step by step; lcg_jump computes the same result directly. */
static inline uint64_t lcg_walk(uint64_t state, uint32_t steps)
{
	while (steps-- > 0)
		state = lcg_next(state);
	return state;
}

/* Composes the step with itself, by the bits of `steps`. */
static inline uint64_t lcg_jump(uint64_t state, uint64_t steps)
{
	uint64_t multiplier = LCG_MULTIPLIER, increment = LCG_INCREMENT;

	for (; steps > 0; steps >>= 1) {
		if (steps & 1)
			state = state * multiplier + increment;
		increment *= multiplier + 1;
		multiplier *= multiplier;
	}
	return state;
}

/* A number in [0, n), from the high bits, which are the most random. */
static inline uint32_t lcg_below(uint64_t state, uint32_t n)
{
	return (uint32_t)(((state >> 32) * n) >> 32);
}

/* Shuffles the n numbers (Fisher and Yates); returns the next state. */
static inline uint64_t lcg_shuffle(size_t *order, size_t n, uint64_t state)
{
	size_t i;

	for (i = n; i > 1; i--) {
		size_t j, kept = order[i - 1];

		state = lcg_next(state);
		j = lcg_below(state, (uint32_t)i);
		order[i - 1] = order[j];
		order[j] = kept;
	}
	return state;
}

#endif /* PAWL_BENCH_LCG_H */
