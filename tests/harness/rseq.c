/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "child.h"

#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

bool lose_the_cpu_number(void)
{
#ifdef RSEQ_SIG
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() +
					    __rseq_offset);

	return syscall(SYS_rseq, area, sizeof(*area), RSEQ_FLAG_UNREGISTER, RSEQ_SIG) ==
	       0;
#else
	return false; /* an old C library has none to lose */
#endif
}
