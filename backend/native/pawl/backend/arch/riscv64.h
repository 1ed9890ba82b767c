/* SPDX-License-Identifier: MIT */
/* riscv64. See arch.h for the contract. */

/* Zihintpause's PAUSE, by encoding: a hint, harmless on CPUs without the extension. */
static inline void pawl_arch_pause(void)
{
	__asm__ __volatile__(".insn i 0x0F, 0, x0, x0, 0x010" ::: "memory");
}
#define pawl_arch_pause pawl_arch_pause

static inline void pawl_arch_acquire_fence(void)
{
	__asm__ __volatile__("fence	r, rw" ::: "memory");
}
#define pawl_arch_acquire_fence pawl_arch_acquire_fence

static inline void pawl_arch_release_fence(void)
{
	__asm__ __volatile__("fence	rw, w" ::: "memory");
}
#define pawl_arch_release_fence pawl_arch_release_fence

/* A macro, because the name is part of the instruction. */
#define pawl_arch_find(name, into)         \
	__asm__(".option push\n\t"         \
		".option pic\n\t"          \
		"la	%0, " #name "\n\t" \
		".option pop"              \
		: "=r"(into))
