/* SPDX-License-Identifier: MIT */
/* Busy processes that compete for the CPUs while pawl bench measures. */
#include "cli/bench/bench.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int count;
static pid_t *children;

/* Runs until it is killed; the kernel does that when the parent ends in any way. */
static void compute(pid_t parent)
{
	volatile uint64_t turns = 0;

	signal(SIGINT, SIG_IGN); /* the parent handles it and ends us */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0); /* the parent ended before prctl */
	for (;;)
		turns++;
}

void begin_beside(int processes)
{
	pid_t parent = getpid();

	children = calloc((size_t)processes + 1, sizeof(*children));
	if (children == NULL)
		give_up("out of memory; lower --beside");
	for (count = 0; count < processes; count++) {
		children[count] = fork();
		if (children[count] == 0)
			compute(parent);
		if (children[count] < 0)
			give_up("cannot start %d processes: %s; lower --beside",
				processes, strerror(errno));
	}
}

void end_beside(void)
{
	while (count > 0) {
		kill(children[--count], SIGKILL);
		waitpid(children[count], NULL, 0);
	}
	free(children);
	children = NULL;
}
