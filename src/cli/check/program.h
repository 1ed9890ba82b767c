/* SPDX-License-Identifier: MIT */
/* pawl check --program: anybody's C and C++, compiled and handed to the checker. */
#ifndef PAWL_CLI_CHECK_PROGRAM_H
#define PAWL_CLI_CHECK_PROGRAM_H

#include <stdbool.h>

/* Whether the words ask for it: --program, --cflags or --libs among our own. */
bool asks_for_program(int argc, char **argv);

/* Runs it; returns the exit status. */
int check_program(int argc, char **argv);

/* check.c: --depth, of either kind of check; and that it is of use. */
void parse_depth(const char *option, const char *text, void *into);
void need_random(int random, int depth);

#endif /* PAWL_CLI_CHECK_PROGRAM_H */
