/* SPDX-License-Identifier: MIT */
/* Runs something that may end the process, in a child, and says how it went. */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include <signal.h>
#include <stdbool.h>

struct child {
	int status;	 /* exit status, if it exited */
	int signal;	 /* what killed it, or 0 */
	char text[4096]; /* what it said on stderr */
};

struct child child_run(void (*run)(void));
/* Seconds before a child is taken to hang, and killed. */
extern unsigned child_patience;

/* Becomes this program, run anew with one argument; on a system that refuses
 * membarrier, if asked to. Ends with CHILD_SKIPS where that cannot be had. */
void child_exec(const char *argument, bool refused) __attribute__((noreturn));

/*
 * Runs this program again in a child, with one argument; on a system that
 * refuses membarrier from the start, if asked to. Fails the case unless it says
 * nothing and returns 0; skips it where it returns CHILD_SKIPS.
 */
enum { CHILD_SKIPS = 77 };
void child_again(const char *argument, bool refused);

/* Makes the kernel refuse a system call, for this thread, and whom it creates or
 * executes; -1 if that cannot be had here. */
int refuse(long call);
int refuse_membarrier(void);

/* Has the kernel tell the calling thread its CPU no more; false if that cannot be had
 * here. */
bool lose_the_cpu_number(void);

#endif /* TESTS_CHILD_H */
