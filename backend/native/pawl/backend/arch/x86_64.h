/* SPDX-License-Identifier: MIT */
/* x86-64. See arch.h for the contract. */

static inline void pawl_arch_pause(void)
{
	__builtin_ia32_pause();
}
#define pawl_arch_pause pawl_arch_pause
