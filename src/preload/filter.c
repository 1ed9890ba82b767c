/* SPDX-License-Identifier: MIT */
/*
 * Programs that put themselves behind a filter of system calls, as browsers do. The
 * filter was written for a program that never calls membarrier or sched_getscheduler, and may
 * end the process at the first one; nobody can ask beforehand. So from the moment that a
 * filter is about to come, no more are made: to the runtime that looks like a system that has
 * come to refuse them. Wakers pass full fences instead, and threads have no priorities.
 *
 * Order: [B] pairs with [F]: a thread that begins a call and one that renounces them do not
 * both miss the other. [A] pairs with [E]: the calls that were under way are over.
 */
#define _GNU_SOURCE
#include "preload/preload.h"
#include "sleep/parking.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pawl_atomic64 renounced;
static pawl_atomic64 inside; /* threads that may be in such a call now */

bool barrier_begin(void)
{
	pawl_fetch_add_relaxed(&inside, 1);		/* Relaxed: the fence orders it */
	pawl_full_fence();				/* [B] */
	if (likely(pawl_load_relaxed(&renounced) == 0)) /* Relaxed: likewise */
		return true;
	barrier_end();
	return false;
}

void barrier_end(void)
{
	pawl_fetch_add_release(&inside, (uint64_t)-1); /* [E] */
}

void barrier_forked(void)
{
	inside = (pawl_atomic64)PAWL_ZERO; /* they are not here */
}

/*
 * Nobody new comes in, and a barrier takes some microseconds; but who is in one may be
 * off the CPU, for as long as we keep it busy if we outrank him. So this sleeps. Whoever
 * is not out after a second is not seen out: a handler that interrupted its own thread
 * in a barrier would wait for ever.
 */
static void renounce_barriers(void)
{
	enum { NAP_NS = 100 * 1000, NAPS = 10000 };
	const pawl_atomic64 nobody = PAWL_ZERO;
	int naps;

	pawl_store_relaxed(&renounced, 1); /* Relaxed: the fence orders it */
	pawl_full_fence();		   /* [F] */
	for (naps = 0; naps < NAPS && pawl_load_acquire(&inside) != 0; naps++) { /* [A] */
		struct pawl_deadline soon = pawl_deadline_in(NAP_NS);

		pawl_os_sleep(&nobody, 0, &soon);
	}
}

EXPORT long syscall(long number, ...)
{
	long a[6];
	va_list arguments;
	int i;

	va_start(arguments, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (unlikely(number == SYS_seccomp) &&
	    (a[0] == SECCOMP_SET_MODE_FILTER || a[0] == SECCOMP_SET_MODE_STRICT))
		renounce_barriers();
	return glibc()->syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

EXPORT int prctl(int option, ...)
{
	unsigned long a[4];
	va_list arguments;
	int i;

	va_start(arguments, option);
	for (i = 0; i < 4; i++)
		a[i] = va_arg(arguments, unsigned long);
	va_end(arguments);
	if (option == PR_SET_SECCOMP)
		renounce_barriers();
	return glibc()->prctl(option, a[0], a[1], a[2], a[3]);
}
