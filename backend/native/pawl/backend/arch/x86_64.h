/* SPDX-License-Identifier: MIT */
/* x86-64. See arch.h for the contract. */

static inline void pawl_arch_pause(void)
{
	__builtin_ia32_pause();
}
#define pawl_arch_pause pawl_arch_pause

/* The CPU keeps loads before loads and stores, and stores before stores; so a compiler
 * fence is enough. */
static inline void pawl_arch_acquire_fence(void)
{
	__asm__ __volatile__("" ::: "memory");
}
#define pawl_arch_acquire_fence pawl_arch_acquire_fence

static inline void pawl_arch_release_fence(void)
{
	__asm__ __volatile__("" ::: "memory");
}
#define pawl_arch_release_fence pawl_arch_release_fence

/* A macro, because the name is part of the instruction. */
#define pawl_arch_find(name, into) \
	__asm__("movq	" #name "@GOTPCREL(%%rip), %0" : "=r"(into))

/* The first word of the block that %fs points to is the address of that block. */
static inline uint64_t pawl_arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("movq	%%fs:0, %0" : "=r"(pointer));
	return pointer;
}
#define pawl_arch_thread_pointer pawl_arch_thread_pointer

/* RDPID; Linux keeps the number in the low 12 bits, the node above them. */
static inline uint64_t pawl_arch_cpu(void)
{
	uint64_t number;

	__asm__ __volatile__("rdpid %0" : "=r"(number));
	return number & 0xFFF;
}

static inline int pawl_arch_has_cpu(void)
{
	uint32_t a = 7, b, c = 0, d;

	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return c >> 22 & 1;
}
#define pawl_arch_cpu pawl_arch_cpu
