/* SPDX-License-Identifier: MIT */
/* Where and when a result was measured. */
#ifndef PAWL_CLI_CONTEXT_H
#define PAWL_CLI_CONTEXT_H

#include <jansson.h>

/* CPUs this process may run on. */
int usable_cpus(void);

/* Machine, system, compiler, date, load, and the command line. */
json_t *describe_context(int argc, char **argv);

/* Prints it as one line on stderr. */
void print_context(const json_t *context);

#endif /* PAWL_CLI_CONTEXT_H */
