/* SPDX-License-Identifier: MIT */
/* Ctrl-C, for commands that then print partial results. */
#ifndef PAWL_CLI_INTERRUPT_H
#define PAWL_CLI_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/* The status that a shell reports for SIGINT. */
enum { EXIT_INTERRUPTED = 128 + SIGINT };

/* From now on the first interrupt sets a flag, also in processes that this one forks, and
 * the second one ends the process. */
void catch_interrupt(void);

/* Any number of interrupts only set the flag: for a process that another one ends. */
void catch_interrupts(void);

/* The flag; it also ends a run of bench/crew.h. */
bool was_interrupted(void);

#endif /* PAWL_CLI_INTERRUPT_H */
