/* SPDX-License-Identifier: MIT */
/*
 * Critical sections of the runtime: what a thread must not leave half done, such as a
 * change to a bucket's list under the bucket's lock. A signal handler may interrupt one and
 * return. A handler that jumps out of one would keep the lock for ever, so the jump asks
 * here first.
 */
#include "sleep/parking.h"

/* Volatile: a handler of the same thread looks between any two instructions. */
static __thread volatile unsigned depth __attribute__((tls_model("initial-exec")));
static __thread const void *volatile outermost __attribute__((tls_model("initial-exec")));

void pawl_critical_enter(void)
{
	if (depth == 0)
		outermost = __builtin_frame_address(0);
	depth++;
}

void pawl_critical_leave(void)
{
	depth--;
}

const void *pawl_critical_frame(void)
{
	return depth != 0 ? outermost : NULL;
}
