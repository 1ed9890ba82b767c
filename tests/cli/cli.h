/* SPDX-License-Identifier: MIT */
/* Runs the command in a directory of its own, for tests. */
#ifndef PAWL_TESTS_CLI_H
#define PAWL_TESTS_CLI_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

struct outcome {
	int status;
	char out[32768], err[8192];
};

#define TINY "--seconds 0.02 --runs 3 --threads 1,2 --locks ticket,pthread "

extern const char *pawl;       /* the path of the command */
extern struct outcome outcome; /* of the last run */

/* Runs `pawl <arguments>`, by the shell; an interrupt after `seconds` if not 0. */
void run_interrupted(const char *arguments, unsigned seconds);
void run(const char *arguments);
void assert_contains(const char *text, const char *part);
void assert_directory_is_empty(void);
/* Bad input: exit 2, one line that contains `remedy`, no result, no file. */
void assert_refused(const char *arguments, const char *what, const char *remedy);
void assert_succeeded(void);
void read_file(const char *name, char *text, size_t size);

/* For cmocka_run_group_tests. */
int enter_directory(void **state);
int leave_directory(void **state);

/* Finds the command, argv[1]; false, with a line on stderr, if it is not there. */
bool find_command(int argc, char **argv);

#endif /* PAWL_TESTS_CLI_H */
