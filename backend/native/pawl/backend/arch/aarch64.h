/* SPDX-License-Identifier: MIT */
/* aarch64. See arch.h for the contract. */

static inline void pawl_arch_pause(void)
{
	__asm__ __volatile__("yield" ::: "memory");
}
#define pawl_arch_pause pawl_arch_pause

/*
 * The exclusive load arms the monitor, so a store to *p wakes the WFE; Linux's
 * event stream wakes it every 100 us or so in any case.
 */
static inline void pawl_arch_wait_while(const uint64_t *p, uint64_t seen)
{
	uint64_t now;

	__asm__ __volatile__("ldxr	%0, %1\n\t"
			     "cmp	%0, %2\n\t"
			     "b.ne	1f\n\t"
			     "wfe\n"
			     "1:	clrex"
			     : "=&r"(now)
			     : "Q"(*p), "r"(seen)
			     : "cc", "memory");
}
#define pawl_arch_wait_while pawl_arch_wait_while

static inline void pawl_arch_acquire_fence(void)
{
	__asm__ __volatile__("dmb	ishld" ::: "memory");
}
#define pawl_arch_acquire_fence pawl_arch_acquire_fence

static inline void pawl_arch_release_fence(void)
{
	__asm__ __volatile__("dmb	ish" ::: "memory");
}
#define pawl_arch_release_fence pawl_arch_release_fence

/* A macro, because the name is part of the instruction. */
#define pawl_arch_find(name, into)                     \
	__asm__("adrp	%0, :got:" #name "\n\t"        \
		"ldr	%0, [%0, :got_lo12:" #name "]" \
		: "=r"(into))
