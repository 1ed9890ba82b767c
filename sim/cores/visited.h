/* SPDX-License-Identifier: MIT */
/*
 * A set of 64-bit fingerprints. Two states with the same one are taken for the
 * same: with n states that has a chance of about n*n / 2^65 to happen at all,
 * one in 40,000 for thirty million.
 */
#ifndef CORES_VISITED_H
#define CORES_VISITED_H

#include <stdbool.h>
#include <stdint.h>

/* Empties the set, and gives its memory back. */
void visited_clear(void);

/* Adds a fingerprint. Sets *is_new; returns false if there is no memory left. */
bool visited_add(uint64_t fingerprint, bool *is_new);
uint64_t visited_count(void);

#endif /* CORES_VISITED_H */
