/* SPDX-License-Identifier: MIT */
/*
 * A set of 64-bit fingerprints. States with equal fingerprints are assumed equal: for n
 * states the probability of any collision is about n*n / 2^65, 1 in 40,000 for thirty
 * million.
 */
#ifndef SIM_COMMON_VISITED_H
#define SIM_COMMON_VISITED_H

#include <stdbool.h>
#include <stdint.h>

/* Clears the set and frees its memory. */
void visited_clear(void);

/* Adds a fingerprint and sets *is_new; returns false if there is no memory. */
bool visited_add(uint64_t fingerprint, bool *is_new);
uint64_t visited_count(void);

#endif /* SIM_COMMON_VISITED_H */
