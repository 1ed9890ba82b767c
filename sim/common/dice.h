/* SPDX-License-Identifier: MIT */
/* Pseudo-random numbers for random executions: the same seed and run give the same
 * numbers. */
#ifndef SIM_COMMON_DICE_H
#define SIM_COMMON_DICE_H

#include <stdint.h>

/* A random number below n. */
static inline unsigned dice_below(uint64_t *dice, unsigned n)
{
	*dice = *dice * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*dice >> 33) % n;
}

/* Hashed, so that neighbouring seeds and runs are independent. */
static inline uint64_t dice_for(uint64_t seed, uint64_t run)
{
	uint64_t dice = (seed + 1) * 0x9e3779b97f4a7c15u ^ run;

	dice_below(&dice, 1);
	dice ^= dice >> 29;
	dice_below(&dice, 1);
	return dice;
}

#endif /* SIM_COMMON_DICE_H */
