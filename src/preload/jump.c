/* SPDX-License-Identifier: MIT */
/*
 * longjmp and its siblings. Old programs jump out of a blocked lock, from the
 * handler of an alarm: the thread must leave the queue first, lest the next
 * unlock wake, or hand the lock to, what is left of its stack. setjmp and its siblings
 * tell who may jump; they end in a jump, for what they keep is their caller's frame.
 */
#undef _FORTIFY_SOURCE /* with it, <setjmp.h> makes one function of all these */
#include "preload/preload.h"
#include "sync/queues.h"

#include <setjmp.h>
#undef setjmp
#undef _setjmp
#undef sigsetjmp

EXPORT JUMPS int __sigsetjmp(struct __jmp_buf_tag env[1], int mask)
{
	pawl_jumps_prepare();
	JUMP_TO glibc()->sigsetjmp(env, mask);
}

EXPORT JUMPS int setjmp(struct __jmp_buf_tag env[1])
{
	pawl_jumps_prepare();
	JUMP_TO glibc()->setjmp(env);
}

EXPORT JUMPS int _setjmp(struct __jmp_buf_tag env[1])
{
	pawl_jumps_prepare();
	JUMP_TO glibc()->setjmp_bare(env);
}

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
