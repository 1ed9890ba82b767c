/* SPDX-License-Identifier: MIT */
/*
 * Put in front of simulated code that clang compiles: it sets and copies memory
 * through the C library, where sim/plain.c would not see it, up to version 14; and
 * from 15 on by these very names.
 */
#if defined(__clang__) && __clang_major__ < 15
__asm__(".set memset, __tsan_memset\n"
	".set memcpy, __tsan_memcpy\n"
	".set memmove, __tsan_memmove");
#endif
