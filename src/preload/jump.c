/* SPDX-License-Identifier: MIT */
/*
 * longjmp and its siblings. Old programs jump out of a blocked lock, from the
 * handler of an alarm: the thread must leave the queue first, lest the next
 * unlock wake, or hand the lock to, what is left of its stack.
 */
#undef _FORTIFY_SOURCE /* with it, <setjmp.h> makes one function of all these */
#include "preload/preload.h"
#include "sync/queues.h"

#include <setjmp.h>

void __longjmp_chk(struct __jmp_buf_tag env[1], int value) __attribute__((noreturn));

EXPORT void longjmp(struct __jmp_buf_tag env[1], int value)
{
	pawl_mutex_abandon();
	glibc()->longjmp(env, value);
	__builtin_unreachable();
}

EXPORT void _longjmp(struct __jmp_buf_tag env[1], int value)
{
	longjmp(env, value);
}

EXPORT void siglongjmp(struct __jmp_buf_tag env[1], int value)
{
	pawl_mutex_abandon();
	glibc()->siglongjmp(env, value);
	__builtin_unreachable();
}

EXPORT void __longjmp_chk(struct __jmp_buf_tag env[1], int value)
{
	pawl_mutex_abandon();
	glibc()->longjmp_checked(env, value);
	__builtin_unreachable();
}
