/* SPDX-License-Identifier: MIT */
/*
 * longjmp and its siblings. Old programs jump out of a blocked lock, from the handler of an
 * alarm: the thread must leave the queue first, else the next unlock wakes, or hands the
 * lock to, what is left of its stack. docs/design/interposer.md says what is promised.
 */
#undef _FORTIFY_SOURCE /* with it, <setjmp.h> makes one function of all these */
#define _GNU_SOURCE
#include "preload/cancel.h"
#include "preload/preload.h"

#include <setjmp.h>
#include <signal.h>

/*
 * Which of its words has the stack pointer, and how far to the left glibc has rotated it
 * after an exclusive or with a secret of the process, which is 0 on some CPUs.
 */
#if defined(__x86_64__)
enum { POINTER = 6, ROTATED = 17 };
#define READ_STACK_POINTER(sp) __asm__ volatile("mov %%rsp, %0" : "=r"(sp))
#elif defined(__aarch64__)
enum { POINTER = 13, ROTATED = 0 };
#define READ_STACK_POINTER(sp) __asm__ volatile("mov %0, sp" : "=r"(sp))
#elif defined(__riscv)
enum { POINTER = 13, ROTATED = 0 };
#define READ_STACK_POINTER(sp) __asm__ volatile("mv %0, sp" : "=r"(sp))
#else
#error "where does this CPU's jmp_buf have the stack pointer?"
#endif

static uintptr_t pointer_in(const struct __jmp_buf_tag *env)
{
	uintptr_t word;

	__builtin_memcpy(&word, (const char *)env->__jmpbuf + POINTER * sizeof(word),
			 sizeof(word));
	return ROTATED == 0 ? word
			    : word >> ROTATED | word << (8 * sizeof(word) - ROTATED) % 64;
}

/* The stack pointer after a jump to env. The secret is what differs between a pointer of
 * our own and the word that setjmp makes of it. */
static __attribute__((noinline)) uintptr_t pointer_after(const struct __jmp_buf_tag *env)
{
	jmp_buf here;
	uintptr_t ours;

	(void)_setjmp(here);
	READ_STACK_POINTER(ours);
	return pointer_in(env) ^ pointer_in(here) ^ ours;
}

struct target {
	uintptr_t pointer;
	uintptr_t from,
		to; /* the alternate stack, if this is a handler that runs there */
};

static bool is_alternate(const struct target *target, uintptr_t frame)
{
	return frame >= target->from && frame < target->to;
}

/* A handler on the alternate stack has interrupted frames of the other stack: it comes
 * after them. On one stack it is the lower frame that came later. */
static bool is_left(const void *place, const void *argument)
{
	const struct target *target = argument;
	uintptr_t frame = (uintptr_t)place;
	bool alternate = is_alternate(target, frame);

	if (alternate != is_alternate(target, target->pointer))
		return alternate;
	return frame < target->pointer;
}

static __attribute__((noinline)) void leave_waits(const struct __jmp_buf_tag *env)
{
	struct target target = {.pointer = pointer_after(env)};
	stack_t stack;
	bool asynchronous;
	int type;

	if (sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) != 0) {
		target.from = (uintptr_t)stack.ss_sp;
		target.to = target.from + stack.ss_size;
	}
	asynchronous = cancel_jump(is_left, &target);
	pawl_jump_leaves(is_left, &target);
	if (unlikely(asynchronous))
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
}

static void prepare(const struct __jmp_buf_tag *env)
{
	if (unlikely(pawl_jump_matters()))
		leave_waits(env);
}

void __longjmp_chk(struct __jmp_buf_tag env[1], int value) __attribute__((noreturn));

EXPORT void longjmp(struct __jmp_buf_tag env[1], int value)
{
	prepare(env);
	glibc()->longjmp(env, value);
	__builtin_unreachable();
}

EXPORT void _longjmp(struct __jmp_buf_tag env[1], int value)
{
	longjmp(env, value);
}

EXPORT void siglongjmp(struct __jmp_buf_tag env[1], int value)
{
	prepare(env);
	glibc()->siglongjmp(env, value);
	__builtin_unreachable();
}

EXPORT void __longjmp_chk(struct __jmp_buf_tag env[1], int value)
{
	prepare(env);
	glibc()->longjmp_checked(env, value);
	__builtin_unreachable();
}
