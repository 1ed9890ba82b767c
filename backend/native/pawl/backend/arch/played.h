/* SPDX-License-Identifier: MIT */
/* No CPU: a program that `pawl check --program` runs, which sees what the compiler
 * tells it of, and no instruction of our own. See arch.h for the contract. */

static inline void pawl_arch_full_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
#define pawl_arch_full_fence pawl_arch_full_fence

static inline void pawl_arch_acquire_fence(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}
#define pawl_arch_acquire_fence pawl_arch_acquire_fence

static inline void pawl_arch_release_fence(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}
#define pawl_arch_release_fence pawl_arch_release_fence
