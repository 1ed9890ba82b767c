/* SPDX-License-Identifier: MIT */
/* From a code address to the line that a reader wants to see. */
#ifndef EXPLORE_LINES_H
#define EXPLORE_LINES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes "file:line" of the call before `site`: the innermost line, through
 * inlined frames, that is neither in pawl/atomic.h nor in a back end. Writes
 * the bare address if the program carries no line information.
 */
void lines_find(const void *site, char *to, size_t size);

/* Writes the name of the variable that p points into; false if it has none. */
bool lines_symbol(const void *p, char *to, size_t size);

#endif /* EXPLORE_LINES_H */
