/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cli/common/options.h"
#include "cli/profile/profile.h"

#include <stdarg.h>
#include <stdlib.h>

static void *or_give_up(void *memory)
{
	if (memory == NULL)
		give_up("out of memory");
	return memory;
}

void *allocate(size_t size)
{
	return or_give_up(calloc(1, size > 0 ? size : 1));
}

/* Doubles at powers of two, so the count alone gives the capacity. */
void *grow(void *array, size_t count, size_t size)
{
	if ((count & (count - 1)) != 0)
		return array;
	return or_give_up(realloc(array, (count > 0 ? 2 * count : 1) * size));
}

char *text_of(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	return or_give_up(text);
}
