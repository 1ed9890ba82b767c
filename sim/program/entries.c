/* SPDX-License-Identifier: MIT */
/*
 * The functions that the compiler calls for atomic operations. Those that read begin in
 * assembly, which saves the callee-saved registers for loops.c.
 */
#include "program.h"

#include <sim/fiber.h>

/* clang-format off */
#if defined(__x86_64__)
#define KEEP                                             \
	"	movq %rbx, program_registers(%rip)\n"    \
	"	movq %rbp, program_registers+8(%rip)\n"  \
	"	movq %r12, program_registers+16(%rip)\n" \
	"	movq %r13, program_registers+24(%rip)\n" \
	"	movq %r14, program_registers+32(%rip)\n" \
	"	movq %r15, program_registers+40(%rip)\n" \
	"	movq %rsp, program_registers+160(%rip)\n" \
	"	movb $1, program_registers_fresh(%rip)\n"
#define GO "	jmp "
#elif defined(__aarch64__)
#define KEEP                                      \
	"	adrp x16, program_registers\n"    \
	"	add x16, x16, :lo12:program_registers\n" \
	"	stp x19, x20, [x16]\n"            \
	"	stp x21, x22, [x16, #16]\n"       \
	"	stp x23, x24, [x16, #32]\n"       \
	"	stp x25, x26, [x16, #48]\n"       \
	"	stp x27, x28, [x16, #64]\n"       \
	"	str x29, [x16, #80]\n"            \
	"	stp d8, d9, [x16, #88]\n"         \
	"	stp d10, d11, [x16, #104]\n"      \
	"	stp d12, d13, [x16, #120]\n"      \
	"	stp d14, d15, [x16, #136]\n"      \
	"	mov x17, sp\n"                    \
	"	str x17, [x16, #160]\n"           \
	"	adrp x16, program_registers_fresh\n" \
	"	add x16, x16, :lo12:program_registers_fresh\n" \
	"	mov w17, #1\n"                    \
	"	strb w17, [x16]\n"
#define GO "	b "
#endif
#define ENTRY(name)                             \
	__asm__(".text\n"                       \
		".globl " #name "\n"            \
		".type " #name ", %function\n"  \
		#name ":\n" KEEP GO "entry_" #name "\n" \
		".size " #name ", .-" #name "\n")
/* clang-format on */

static int plain_order(int order)
{
	order &= 0xff; /* without the HLE hint bits */
	return order == __ATOMIC_CONSUME ? __ATOMIC_ACQUIRE : order;
}

static uint64_t read_entry(enum operation operation, const volatile void *p, int width,
			   uint64_t operand, int order, const void *site)
{
	return event_read(
		&(struct access){
			.operation = operation,
			.p = (const void *)p,
			.width = width,
			.order = plain_order(order),
			.failure = plain_order(order),
			.operand = operand,
			.site = site,
		},
		NULL);
}

/* Returns the old value. */
static uint64_t cas_entry(const volatile void *p, int width, uint64_t from, uint64_t to,
			  int order, int failure, const void *site, bool *wrote)
{
	return event_read(
		&(struct access){
			.operation = OP_CAS,
			.p = (const void *)p,
			.width = width,
			.order = plain_order(order),
			.failure = plain_order(failure),
			.expected = from,
			.operand = to,
			.site = site,
		},
		wrote);
}

static void store_entry(const volatile void *p, int width, uint64_t value, int order,
			const void *site)
{
	event_store(&(struct access){
		.p = (const void *)p,
		.width = width,
		.order = plain_order(order),
		.operand = value,
		.site = site,
	});
}

/* A failed compare-and-swap stores the value it read; if that is on the thread's own
 * stack, it is part of the thread's state. */
static void note_found(const void *expected)
{
	size_t size;
	char *stack;

	if (!on_thread())
		return;
	stack = sim_fiber_stack(current_search->self->fiber, &size);
	if ((size_t)((const char *)expected - stack) >= size)
		loops_wrote();
}

#define UPDATE(bits, type, name, operation)                                           \
	ENTRY(__tsan_atomic##bits##_##name);                                          \
	type entry___tsan_atomic##bits##_##name(volatile type *p, type v, int order); \
	type entry___tsan_atomic##bits##_##name(volatile type *p, type v, int order)  \
	{                                                                             \
		return (type)read_entry(operation, p, (bits) / 8, v, order, SITE);    \
	}

#define CAS(bits, type, name)                                                      \
	ENTRY(__tsan_atomic##bits##_compare_exchange_##name);                      \
	int entry___tsan_atomic##bits##_compare_exchange_##name(                   \
		volatile type *p, type *expected, type v, int order, int failure); \
	int entry___tsan_atomic##bits##_compare_exchange_##name(                   \
		volatile type *p, type *expected, type v, int order, int failure)  \
	{                                                                          \
		bool wrote;                                                        \
		type found = (type)cas_entry(p, (bits) / 8, *expected, v, order,   \
					     failure, SITE, &wrote);               \
		if (!wrote) {                                                      \
			*expected = found;                                         \
			note_found(expected);                                      \
		}                                                                  \
		return wrote;                                                      \
	}

#define ATOMIC(bits, type)                                                               \
	ENTRY(__tsan_atomic##bits##_load);                                               \
	type entry___tsan_atomic##bits##_load(const volatile type *p, int order);        \
	type entry___tsan_atomic##bits##_load(const volatile type *p, int order)         \
	{                                                                                \
		return (type)read_entry(OP_LOAD, p, (bits) / 8, 0, order, SITE);         \
	}                                                                                \
	PUBLIC void __tsan_atomic##bits##_store(volatile type *p, type v, int order);    \
	PUBLIC void __tsan_atomic##bits##_store(volatile type *p, type v, int order)     \
	{                                                                                \
		store_entry(p, (bits) / 8, v, order, SITE);                              \
	}                                                                                \
	UPDATE(bits, type, exchange, OP_EXCHANGE)                                        \
	UPDATE(bits, type, fetch_add, OP_ADD)                                            \
	UPDATE(bits, type, fetch_sub, OP_SUB)                                            \
	UPDATE(bits, type, fetch_and, OP_AND)                                            \
	UPDATE(bits, type, fetch_or, OP_OR)                                              \
	UPDATE(bits, type, fetch_xor, OP_XOR)                                            \
	UPDATE(bits, type, fetch_nand, OP_NAND)                                          \
	CAS(bits, type, strong)                                                          \
	CAS(bits, type, weak)                                                            \
	ENTRY(__tsan_atomic##bits##_compare_exchange_val);                               \
	type entry___tsan_atomic##bits##_compare_exchange_val(                           \
		volatile type *p, type expected, type v, int order, int failure);        \
	type entry___tsan_atomic##bits##_compare_exchange_val(                           \
		volatile type *p, type expected, type v, int order, int failure)         \
	{                                                                                \
		return (type)cas_entry(p, (bits) / 8, expected, v, order, failure, SITE, \
				       NULL);                                            \
	}

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

/* Each names itself in its body, so that identical code folding keeps them apart. */
#define WIDE(name)                                                              \
	PUBLIC void __tsan_atomic128_##name(void);                              \
	PUBLIC void __tsan_atomic128_##name(void)                               \
	{                                                                       \
		program_fail(VERDICT_REFUSED, SITE, PROGRAM_WIDE, "16", #name); \
	}

WIDE(load)
WIDE(store)
WIDE(exchange)
WIDE(fetch_add)
WIDE(fetch_sub)
WIDE(fetch_and)
WIDE(fetch_or)
WIDE(fetch_xor)
WIDE(fetch_nand)
WIDE(compare_exchange_strong)
WIDE(compare_exchange_weak)
WIDE(compare_exchange_val)

PUBLIC void __tsan_atomic_thread_fence(int order);
PUBLIC void __tsan_atomic_thread_fence(int order)
{
	event_fence(order & 0xff, SITE);
}

/* Orders a thread against its own signal handlers, which are not simulated. */
PUBLIC void __tsan_atomic_signal_fence(int order);
PUBLIC void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}
