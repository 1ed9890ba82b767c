/* SPDX-License-Identifier: MIT */
/* Shared by the Linux files. */
#ifndef PAWL_OS_LINUX_H
#define PAWL_OS_LINUX_H

#include "os/os.h"

/* The 32 bits of the word that the futex compares. */
static inline const uint32_t *low_half(const pawl_atomic64 *word)
{
	const bool big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	return (const uint32_t *)&word->raw + big_endian;
}

static inline struct timespec time_on(bool realtime)
{
	struct timespec now;

	clock_gettime(realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
	return now;
}

#endif /* PAWL_OS_LINUX_H */
