/* SPDX-License-Identifier: MIT */
/* Runs something that may end the process, in a child, and says how it went. */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include <signal.h>

struct child {
	int status;	 /* exit status, if it exited */
	int signal;	 /* what killed it, or 0 */
	char text[4096]; /* what it said on stderr */
};

struct child child_run(void (*run)(void));

/* Makes the kernel refuse membarrier, for this process and what it executes;
 * -1 if that cannot be had here. */
int refuse_membarrier(void);

#endif /* TESTS_CHILD_H */
