/* SPDX-License-Identifier: MIT */
/* x86-64. See arch.h for the contract. */

static inline void pawl_arch_pause(void)
{
	__builtin_ia32_pause();
}
#define pawl_arch_pause pawl_arch_pause

/* The CPU keeps loads before loads and stores, and stores before stores; only
 * the compiler has to be told. */
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
