/* SPDX-License-Identifier: MIT */
/*
 * Plain accesses: the functions that the compiler calls before each, and those that the
 * program calls to copy, set and compare memory (load.c binds these calls).
 */
#include "plain.h"

#include <sim/fiber.h>

#include <string.h>

/* Whether p is on the running thread's own stack, which loops.c compares as a whole. */
static bool on_own_stack(const void *p)
{
	size_t size;
	char *stack = sim_fiber_stack(current_search->self->fiber, &size);

	return (size_t)((const char *)p - stack) < size;
}

void plain_access(const void *p, size_t size, bool write, const void *site)
{
	struct search *s = current_search;

	if (!on_thread() || size == 0)
		return;
	search_settle(s);
	if (!on_own_stack(p)) {
		if (write)
			loops_wrote();
		else
			loops_read_plainly();
	}
	access_plain_range(s, p, size, write, site);
}

#define PLAIN(name, size, write)                    \
	PUBLIC void name(const void *p);            \
	PUBLIC void name(const void *p)             \
	{                                           \
		plain_access(p, size, write, SITE); \
	}
#define PLAIN_BOTH(suffix, size)                        \
	PLAIN(__tsan_##suffix##read##size, size, false) \
	PLAIN(__tsan_##suffix##write##size, size, true)
#define PLAIN_SIZE(size)                           \
	PLAIN_BOTH(, size)                         \
	PLAIN_BOTH(unaligned_, size)               \
	PLAIN_BOTH(volatile_, size)                \
	PLAIN_BOTH(unaligned_volatile_, size)      \
	PLAIN(__tsan_read_write##size, size, true) \
	PLAIN(__tsan_unaligned_read_write##size, size, true)

PLAIN_SIZE(1)
PLAIN_SIZE(2)
PLAIN_SIZE(4)
PLAIN_SIZE(8)
PLAIN_SIZE(16)

#define RANGE(name, write)                            \
	PUBLIC void name(const void *p, size_t size); \
	PUBLIC void name(const void *p, size_t size)  \
	{                                             \
		plain_access(p, size, write, SITE);   \
	}

RANGE(__tsan_read_range, false)
RANGE(__tsan_write_range, true)

/* Construction and destruction of an object: its pointer to the virtual table. */
PUBLIC void __tsan_vptr_update(void **p, void *value);
PUBLIC void __tsan_vptr_update(void **p, void *value)
{
	if (*p != value)
		plain_access(p, sizeof(*p), true, SITE);
}

PUBLIC void __tsan_vptr_read(void **p);
PUBLIC void __tsan_vptr_read(void **p)
{
	plain_access(p, sizeof(*p), false, SITE);
}

/* Unused: function entry and exit, start-up. */
PUBLIC void __tsan_func_entry(void *caller);
PUBLIC void __tsan_func_entry(void *caller)
{
	(void)caller;
}

PUBLIC void __tsan_func_exit(void);
PUBLIC void __tsan_func_exit(void)
{
}

PUBLIC void __tsan_init(void);
PUBLIC void __tsan_init(void)
{
}

PUBLIC void *__tsan_memset(void *to, int byte, size_t size);
PUBLIC void *__tsan_memset(void *to, int byte, size_t size)
{
	plain_access(to, size, true, SITE);
	return memset(to, byte, size);
}

PUBLIC void *__tsan_memcpy(void *to, const void *from, size_t size);
PUBLIC void *__tsan_memcpy(void *to, const void *from, size_t size)
{
	plain_access(from, size, false, SITE);
	plain_access(to, size, true, SITE);
	return memcpy(to, from, size);
}

PUBLIC void *__tsan_memmove(void *to, const void *from, size_t size);
PUBLIC void *__tsan_memmove(void *to, const void *from, size_t size)
{
	plain_access(from, size, false, SITE);
	plain_access(to, size, true, SITE);
	return memmove(to, from, size);
}

int played_memcmp(const void *a, const void *b, size_t size)
{
	plain_access(a, size, false, SITE);
	plain_access(b, size, false, SITE);
	return memcmp(a, b, size);
}

size_t played_strlen(const char *text)
{
	size_t length = strlen(text);

	plain_access(text, length + 1, false, SITE);
	return length;
}

int played_strcmp(const char *a, const char *b)
{
	plain_access(a, strlen(a) + 1, false, SITE);
	plain_access(b, strlen(b) + 1, false, SITE);
	return strcmp(a, b);
}

int played_strncmp(const char *a, const char *b, size_t size)
{
	plain_access(a, strnlen(a, size), false, SITE);
	plain_access(b, strnlen(b, size), false, SITE);
	return strncmp(a, b, size);
}

char *played_strcpy(char *to, const char *from)
{
	size_t size = strlen(from) + 1;

	plain_access(from, size, false, SITE);
	plain_access(to, size, true, SITE);
	return memcpy(to, from, size);
}
