/* SPDX-License-Identifier: MIT */
/* Words of four bytes, for the pthread interposer: each is the lower half of a word of eight
 * whose upper half is 0. */
#ifndef PAWL_BACKEND_WORD32_H
#define PAWL_BACKEND_WORD32_H

#include <sim/seam.h>

static inline bool pawl_word32_cas_acquire(volatile int *w, int from, int to)
{
	return sim_cas((uint64_t *)(uintptr_t)w, (uint32_t)from, (uint32_t)to,
		       SIM_ACQUIRE, SIM_RELAXED);
}

static inline void pawl_word32_store_release(volatile int *w, int value)
{
	sim_store((uint64_t *)(uintptr_t)w, (uint32_t)value, SIM_RELEASE);
}

#endif /* PAWL_BACKEND_WORD32_H */
