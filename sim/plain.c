/* SPDX-License-Identifier: MIT */
/*
 * Plain accesses. Simulated code is compiled with -fsanitize=thread and linked without
 * the sanitizer's library: the calls that the compiler inserts before each access are
 * defined here and go to the engine. Atomics are seam calls and do not come here. This
 * file itself must not be instrumented.
 */
#include <sim/seam.h>

#include <string.h>

#define SITE __builtin_return_address(0)

#define PLAIN(name, size, write)                         \
	void name(const void *p);                        \
	void name(const void *p)                         \
	{                                                \
		sim_engine->plain(p, size, write, SITE); \
	}

PLAIN(__tsan_read1, 1, false)
PLAIN(__tsan_read2, 2, false)
PLAIN(__tsan_read4, 4, false)
PLAIN(__tsan_read8, 8, false)
PLAIN(__tsan_read16, 16, false)
PLAIN(__tsan_write1, 1, true)
PLAIN(__tsan_write2, 2, true)
PLAIN(__tsan_write4, 4, true)
PLAIN(__tsan_write8, 8, true)
PLAIN(__tsan_write16, 16, true)

/* Clang's calls for accesses that may be unaligned. */
PLAIN(__tsan_unaligned_read2, 2, false)
PLAIN(__tsan_unaligned_read4, 4, false)
PLAIN(__tsan_unaligned_read8, 8, false)
PLAIN(__tsan_unaligned_read16, 16, false)
PLAIN(__tsan_unaligned_write2, 2, true)
PLAIN(__tsan_unaligned_write4, 4, true)
PLAIN(__tsan_unaligned_write8, 8, true)
PLAIN(__tsan_unaligned_write16, 16, true)

/* With the option that distinguishes volatile accesses: these may race. */
#define VOLATILE(name, size, write)                                \
	void name(const void *p);                                  \
	void name(const void *p)                                   \
	{                                                          \
		sim_engine->volatile_access(p, size, write, SITE); \
	}

VOLATILE(__tsan_volatile_read1, 1, false)
VOLATILE(__tsan_volatile_read2, 2, false)
VOLATILE(__tsan_volatile_read4, 4, false)
VOLATILE(__tsan_volatile_read8, 8, false)
VOLATILE(__tsan_volatile_write1, 1, true)
VOLATILE(__tsan_volatile_write2, 2, true)
VOLATILE(__tsan_volatile_write4, 4, true)
VOLATILE(__tsan_volatile_write8, 8, true)

void __tsan_read_range(const void *p, unsigned long size);
void __tsan_read_range(const void *p, unsigned long size)
{
	sim_engine->plain(p, size, false, SITE);
}

void __tsan_write_range(const void *p, unsigned long size);
void __tsan_write_range(const void *p, unsigned long size)
{
	sim_engine->plain(p, size, true, SITE);
}

/* Simulated code calls these instead of the C library's functions: -D in
 * CMakeLists.txt. */

void *sim_memset(void *to, int byte, size_t size);
void *sim_memset(void *to, int byte, size_t size)
{
	sim_engine->plain(to, size, true, SITE);
	return memset(to, byte, size);
}

void *sim_memcpy(void *to, const void *from, size_t size);
void *sim_memcpy(void *to, const void *from, size_t size)
{
	sim_engine->plain(from, size, false, SITE);
	sim_engine->plain(to, size, true, SITE);
	return memcpy(to, from, size);
}

void *sim_memmove(void *to, const void *from, size_t size);
void *sim_memmove(void *to, const void *from, size_t size)
{
	sim_engine->plain(from, size, false, SITE);
	sim_engine->plain(to, size, true, SITE);
	return memmove(to, from, size);
}

/* Unused: function entry and exit, start-up. */
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
	(void)caller;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

void __tsan_init(void);
void __tsan_init(void)
{
}

/* Clang's names for these, in code that sets or copies a structure; see sim/clang.h. */
void *__tsan_memset(void *, int, size_t) __attribute__((alias("sim_memset")));
void *__tsan_memcpy(void *, const void *, size_t) __attribute__((alias("sim_memcpy")));
void *__tsan_memmove(void *, const void *, size_t) __attribute__((alias("sim_memmove")));
