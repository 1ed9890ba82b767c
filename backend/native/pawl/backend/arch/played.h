/* SPDX-License-Identifier: MIT */
/* For programs that `pawl check --program` explores: it sees the accesses that the
 * compiler instruments, but no inline assembly. See arch.h for the contract. */

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
