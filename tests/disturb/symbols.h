/* SPDX-License-Identifier: MIT */
/* Names for addresses in another process. */
#ifndef TESTS_DISTURB_SYMBOLS_H
#define TESTS_DISTURB_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes function+offset (file), or what is known of it; false if it is no code. */
bool symbol_of(pid_t process, unsigned long address, char *text, size_t size);

/* Where the system's own code for reading clocks is: it starts over as long as the
 * clock moves. */
void clock_code_of(pid_t process, unsigned long *start, unsigned long *end);

#endif /* TESTS_DISTURB_SYMBOLS_H */
