/* SPDX-License-Identifier: MIT */
/*
 * 32-bit words, for pthread_spinlock_t. pawl's own locks have none; only the pthread
 * interposer includes this file.
 */
#ifndef PAWL_BACKEND_WORD32_H
#define PAWL_BACKEND_WORD32_H

#include <stdbool.h>

static inline bool pawl_word32_cas_acquire(volatile int *w, int from, int to)
{
	return __atomic_compare_exchange_n(w, &from, to, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static inline void pawl_word32_store_release(volatile int *w, int value)
{
	__atomic_store_n(w, value, __ATOMIC_RELEASE);
}

#endif /* PAWL_BACKEND_WORD32_H */
