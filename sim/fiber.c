/* SPDX-License-Identifier: MIT */
/*
 * Fibers with a hand-written switch for each architecture: swapcontext makes two system
 * calls per switch, and the checker makes millions of switches.
 */
#define _GNU_SOURCE /* the names of registers */
#include "fiber.h"
#include "seam.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

struct sim_fiber {
	void *here;  /* stack pointer while the fiber is suspended */
	void *there; /* stack pointer of the resumer while the fiber runs */
	void (*run)(void *argument);
	void *argument;
	char *stack;
	size_t stack_size;
	void *fake_stack; /* AddressSanitizer's fake stack of this fiber */
	const void *resumer_stack;
	size_t resumer_stack_size;
};

/*
 * Saves the callee-saved registers on the current stack, stores the stack pointer in
 * *save, and restores the registers saved at `load`.
 */
void sim_fiber_switch(void **save, void *load) __asm__("sim_fiber_switch");
/* Return address of a new fiber's first switch. */
void sim_fiber_entry(void) __asm__("sim_fiber_entry");

enum {
	SAVED_WORDS =
#if defined(__x86_64__)
		7, /* rbx rbp r12-r15, return address */
#elif defined(__aarch64__)
		20, /* x19-x28, x29, x30, d8-d15 */
#elif defined(__riscv) && __riscv_xlen == 64
		26, /* s0-s11, ra, fs0-fs11, and one for alignment */
#else
#error "fibers are written for x86-64, aarch64 and riscv64"
#endif
};

#if defined(__x86_64__)
__asm__(".text\n"
	".globl sim_fiber_switch\n"
	".type sim_fiber_switch, @function\n"
	"sim_fiber_switch:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size sim_fiber_switch, .-sim_fiber_switch\n"
	".globl sim_fiber_entry\n"
	".type sim_fiber_entry, @function\n"
	"sim_fiber_entry:\n"
	"	movq %r15, %rdi\n"
	"	xorl %ebp, %ebp\n"
	"	call sim_fiber_main\n"
	"	ud2\n"
	".size sim_fiber_entry, .-sim_fiber_entry\n");
enum { WORD_ARGUMENT = 0, WORD_ENTRY = 6 };
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl sim_fiber_switch\n"
	".type sim_fiber_switch, %function\n"
	"sim_fiber_switch:\n"
	"	sub sp, sp, #160\n"
	"	stp x19, x20, [sp, #0]\n"
	"	stp x21, x22, [sp, #16]\n"
	"	stp x23, x24, [sp, #32]\n"
	"	stp x25, x26, [sp, #48]\n"
	"	stp x27, x28, [sp, #64]\n"
	"	stp x29, x30, [sp, #80]\n"
	"	stp d8, d9, [sp, #96]\n"
	"	stp d10, d11, [sp, #112]\n"
	"	stp d12, d13, [sp, #128]\n"
	"	stp d14, d15, [sp, #144]\n"
	"	mov x9, sp\n"
	"	str x9, [x0]\n"
	"	mov sp, x1\n"
	"	ldp x19, x20, [sp, #0]\n"
	"	ldp x21, x22, [sp, #16]\n"
	"	ldp x23, x24, [sp, #32]\n"
	"	ldp x25, x26, [sp, #48]\n"
	"	ldp x27, x28, [sp, #64]\n"
	"	ldp x29, x30, [sp, #80]\n"
	"	ldp d8, d9, [sp, #96]\n"
	"	ldp d10, d11, [sp, #112]\n"
	"	ldp d12, d13, [sp, #128]\n"
	"	ldp d14, d15, [sp, #144]\n"
	"	add sp, sp, #160\n"
	"	ret\n"
	".size sim_fiber_switch, .-sim_fiber_switch\n"
	".globl sim_fiber_entry\n"
	".type sim_fiber_entry, %function\n"
	"sim_fiber_entry:\n"
	"	mov x0, x19\n"
	"	mov x29, xzr\n"
	"	bl sim_fiber_main\n"
	"	brk #0\n"
	".size sim_fiber_entry, .-sim_fiber_entry\n");
enum { WORD_ARGUMENT = 0, WORD_ENTRY = 11 };
#else
__asm__(".text\n"
	".globl sim_fiber_switch\n"
	".type sim_fiber_switch, %function\n"
	"sim_fiber_switch:\n"
	"	addi sp, sp, -208\n"
	"	sd s0, 0(sp)\n"
	"	sd s1, 8(sp)\n"
	"	sd s2, 16(sp)\n"
	"	sd s3, 24(sp)\n"
	"	sd s4, 32(sp)\n"
	"	sd s5, 40(sp)\n"
	"	sd s6, 48(sp)\n"
	"	sd s7, 56(sp)\n"
	"	sd s8, 64(sp)\n"
	"	sd s9, 72(sp)\n"
	"	sd s10, 80(sp)\n"
	"	sd s11, 88(sp)\n"
	"	sd ra, 96(sp)\n"
	"	fsd fs0, 104(sp)\n"
	"	fsd fs1, 112(sp)\n"
	"	fsd fs2, 120(sp)\n"
	"	fsd fs3, 128(sp)\n"
	"	fsd fs4, 136(sp)\n"
	"	fsd fs5, 144(sp)\n"
	"	fsd fs6, 152(sp)\n"
	"	fsd fs7, 160(sp)\n"
	"	fsd fs8, 168(sp)\n"
	"	fsd fs9, 176(sp)\n"
	"	fsd fs10, 184(sp)\n"
	"	fsd fs11, 192(sp)\n"
	"	sd sp, (a0)\n"
	"	mv sp, a1\n"
	"	ld s0, 0(sp)\n"
	"	ld s1, 8(sp)\n"
	"	ld s2, 16(sp)\n"
	"	ld s3, 24(sp)\n"
	"	ld s4, 32(sp)\n"
	"	ld s5, 40(sp)\n"
	"	ld s6, 48(sp)\n"
	"	ld s7, 56(sp)\n"
	"	ld s8, 64(sp)\n"
	"	ld s9, 72(sp)\n"
	"	ld s10, 80(sp)\n"
	"	ld s11, 88(sp)\n"
	"	ld ra, 96(sp)\n"
	"	fld fs0, 104(sp)\n"
	"	fld fs1, 112(sp)\n"
	"	fld fs2, 120(sp)\n"
	"	fld fs3, 128(sp)\n"
	"	fld fs4, 136(sp)\n"
	"	fld fs5, 144(sp)\n"
	"	fld fs6, 152(sp)\n"
	"	fld fs7, 160(sp)\n"
	"	fld fs8, 168(sp)\n"
	"	fld fs9, 176(sp)\n"
	"	fld fs10, 184(sp)\n"
	"	fld fs11, 192(sp)\n"
	"	addi sp, sp, 208\n"
	"	ret\n"
	".size sim_fiber_switch, .-sim_fiber_switch\n"
	".globl sim_fiber_entry\n"
	".type sim_fiber_entry, %function\n"
	"sim_fiber_entry:\n"
	"	mv a0, s0\n"
	"	li s0, 0\n"
	"	call sim_fiber_main\n"
	"	ebreak\n"
	".size sim_fiber_entry, .-sim_fiber_entry\n");
enum { WORD_ARGUMENT = 0, WORD_ENTRY = 12 };
#endif

/* Announces a switch of stacks to AddressSanitizer. */
static void leave_for(void **fake_stack, const void *stack, size_t size)
{
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_start_switch_fiber(fake_stack, stack, size);
#else
	(void)fake_stack, (void)stack, (void)size;
#endif
}

static void arrived(void *fake_stack, const void **from, size_t *size)
{
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(fake_stack, from, size);
#else
	(void)fake_stack, (void)from, (void)size;
#endif
}

void sim_fiber_main(struct sim_fiber *fiber) __attribute__((noreturn, used));
void sim_fiber_main(struct sim_fiber *fiber)
{
	arrived(NULL, &fiber->resumer_stack, &fiber->resumer_stack_size);
	fiber->run(fiber->argument);
	abort(); /* run must not return */
}

static size_t stacks_mapped; /* total, in bytes */

struct sim_fiber *sim_fiber_new(size_t stack_size)
{
	struct sim_fiber *fiber = calloc(1, sizeof(*fiber));

	if (fiber == NULL)
		return NULL;
	fiber->stack_size = stack_size;
	fiber->stack = mmap((char *)SIM_STACKS + stacks_mapped, stack_size,
			    PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fiber->stack == MAP_FAILED) {
		free(fiber);
		return NULL;
	}
	stacks_mapped += stack_size;
	return fiber;
}

void sim_fiber_free(struct sim_fiber *fiber)
{
	if (fiber == NULL)
		return;
	munmap(fiber->stack, fiber->stack_size);
	free(fiber);
}

static uintptr_t top_of(const struct sim_fiber *fiber)
{
	return ((uintptr_t)fiber->stack + fiber->stack_size) & ~(uintptr_t)15;
}

void sim_fiber_start(struct sim_fiber *fiber, void (*run)(void *argument), void *argument)
{
	uintptr_t top = top_of(fiber);
	/* Popping this frame leaves the stack aligned as the ABI requires at a call. */
	uintptr_t *frame = (uintptr_t *)(top - 16) - SAVED_WORDS;
	int i;

#if defined(__SANITIZE_ADDRESS__)
	/* An abandoned call never unpoisoned its frames. */
	__asan_unpoison_memory_region(fiber->stack, fiber->stack_size);
#endif
	for (i = 0; i < SAVED_WORDS; i++)
		frame[i] = 0;
	frame[WORD_ARGUMENT] = (uintptr_t)fiber;
	frame[WORD_ENTRY] = (uintptr_t)sim_fiber_entry;
	fiber->here = frame;
	fiber->run = run;
	fiber->argument = argument;
	fiber->fake_stack = NULL;
}

void sim_fiber_resume(struct sim_fiber *fiber)
{
	void *fake_stack = NULL;

	leave_for(&fake_stack, fiber->stack, fiber->stack_size);
	sim_fiber_switch(&fiber->there, fiber->here);
	arrived(fake_stack, NULL, NULL);
}

void sim_fiber_yield(struct sim_fiber *fiber)
{
	leave_for(&fiber->fake_stack, fiber->resumer_stack, fiber->resumer_stack_size);
	sim_fiber_switch(&fiber->here, fiber->there);
	arrived(fiber->fake_stack, &fiber->resumer_stack, &fiber->resumer_stack_size);
}

void sim_fiber_divert(struct sim_fiber *fiber, void *context, void (*to)(int signal),
		      int signal)
{
	mcontext_t *registers = &((ucontext_t *)context)->uc_mcontext;
	uintptr_t top = top_of(fiber) - 16;

#if defined(__SANITIZE_ADDRESS__)
	__asan_unpoison_memory_region(fiber->stack, fiber->stack_size);
#endif
#if defined(__x86_64__)
	registers->gregs[REG_RSP] = (greg_t)(top - 8); /* aligned as after a call */
	registers->gregs[REG_RIP] = (greg_t)(uintptr_t)to;
	registers->gregs[REG_RDI] = signal;
#elif defined(__aarch64__)
	registers->sp = top;
	registers->pc = (uintptr_t)to;
	registers->regs[0] = (unsigned long long)signal;
#else
	registers->__gregs[REG_SP] = top;
	registers->__gregs[REG_PC] = (uintptr_t)to;
	registers->__gregs[REG_A0] = (unsigned long)signal;
#endif
}

void *sim_fiber_stack(const struct sim_fiber *fiber, size_t *size)
{
	*size = fiber->stack_size;
	return fiber->stack;
}

const void *sim_fiber_live(const struct sim_fiber *fiber, size_t *size)
{
	*size = top_of(fiber) - (uintptr_t)fiber->here;
	return fiber->here;
}

__attribute__((no_sanitize_address)) void sim_fiber_put(struct sim_fiber *fiber,
							const void *live, size_t size)
{
	/* Clears the stack below the restored part, as far as one or two calls reach:
	 * padding that becomes part of later frames then has the same value each time. */
	enum { BELOW = 1024 / sizeof(uint64_t) };
	const uint64_t *from = live;
	uint64_t *to = (uint64_t *)(top_of(fiber) - size);
	size_t i;

	fiber->here = to;
	for (i = 0; i < size / sizeof(*to); i++)
		to[i] = from[i];
	for (i = 1; i <= BELOW; i++)
		*(to - i) = 0;
}
