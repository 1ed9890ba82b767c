/* SPDX-License-Identifier: MIT */
/*
 * Included before simulated code that clang compiles. Up to version 14 clang sets and
 * copies structures by calling the C library, which sim/plain.c would not see; from 15 on
 * it calls these names itself.
 */
#if defined(__clang__) && __clang_major__ < 15
__asm__(".set memset, __tsan_memset\n"
	".set memcpy, __tsan_memcpy\n"
	".set memmove, __tsan_memmove");
#endif
