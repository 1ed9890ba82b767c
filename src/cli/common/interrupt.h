/* SPDX-License-Identifier: MIT */
/* Ctrl-C, for commands that then say what they have got so far. */
#ifndef PAWL_CLI_INTERRUPT_H
#define PAWL_CLI_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/* As a shell says it of a process that SIGINT ended. */
enum { EXIT_INTERRUPTED = 128 + SIGINT };

/* From now on the first interrupt is remembered, also for the processes that this one
 * forks, and the second one ends the process. */
void catch_interrupt(void);

/* Any number of them are remembered as one: for a process that another one ends. */
void catch_interrupts(void);

/* It also cuts short what bench/crew.h runs. */
bool was_interrupted(void);

#endif /* PAWL_CLI_INTERRUPT_H */
