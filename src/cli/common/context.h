/* SPDX-License-Identifier: MIT */
/* Where and when something was measured: without it a number says nothing. */
#ifndef PAWL_CLI_CONTEXT_H
#define PAWL_CLI_CONTEXT_H

#include <jansson.h>

/* CPUs this process may run on. */
int usable_cpus(void);

/* Machine, system, compiler, date, load, and the command that was given. */
json_t *describe_context(int argc, char **argv);

/* One line of it on stderr. */
void print_context(const json_t *context);

#endif /* PAWL_CLI_CONTEXT_H */
