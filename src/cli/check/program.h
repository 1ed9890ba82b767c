/* SPDX-License-Identifier: MIT */
/* pawl check --program: compiles a user's C and C++ sources and runs the checker on
 * them. */
#ifndef PAWL_CLI_CHECK_PROGRAM_H
#define PAWL_CLI_CHECK_PROGRAM_H

#include <stdbool.h>

/* Whether the command line has --program, --cflags or --libs. */
bool asks_for_program(int argc, char **argv);

/* Runs it; returns the exit status. */
int check_program(int argc, char **argv);

/* check.c: --depth, for both kinds of check; and refusing it without --random. */
void parse_depth(const char *option, const char *text, void *into);
void need_random(int random, int depth);

#endif /* PAWL_CLI_CHECK_PROGRAM_H */
