/* SPDX-License-Identifier: MIT */
/* Maps a code address to the source line that is shown. */
#ifndef SIM_COMMON_LINES_H
#define SIM_COMMON_LINES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes "file:line" of the call before `site`: the innermost line, through inlined
 * frames, that is neither in pawl/atomic.h nor in a back end. Writes the bare address if
 * there is no line information.
 */
void lines_find(const void *site, char *to, size_t size);

/* Writes the name of the variable that contains p; false if there is none. */
bool lines_symbol(const void *p, char *to, size_t size);

#endif /* SIM_COMMON_LINES_H */
