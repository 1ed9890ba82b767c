/* SPDX-License-Identifier: MIT */
/* Defaults for what a CPU's own file does not define. See arch.h for the contract. */

#ifndef pawl_arch_pause
static inline void pawl_arch_pause(void)
{
	__asm__ __volatile__("" ::: "memory");
}
#endif

#ifndef pawl_arch_wait_while
static inline void pawl_arch_wait_while(const uint64_t *p, uint64_t seen)
{
	(void)p;
	(void)seen;
	pawl_arch_pause();
}
#endif

#ifndef pawl_arch_full_fence
static inline void pawl_arch_full_fence(void)
{
	__sync_synchronize();
}
#endif

#ifndef pawl_arch_acquire_fence
static inline void pawl_arch_acquire_fence(void)
{
	pawl_arch_full_fence();
}
#endif

#ifndef pawl_arch_release_fence
static inline void pawl_arch_release_fence(void)
{
	pawl_arch_full_fence();
}
#endif

#ifndef pawl_arch_thread_pointer
static inline uint64_t pawl_arch_thread_pointer(void)
{
	return (uint64_t)__builtin_thread_pointer();
}
#endif

#ifndef pawl_arch_cpu
static inline uint64_t pawl_arch_cpu(void)
{
	return UINT64_MAX >> 16;
}

static inline int pawl_arch_has_cpu(void)
{
	return 0;
}
#endif

#ifndef pawl_arch_find
#define pawl_arch_find(name, into) ((into) = (__typeof__(into))&(name))
#endif
