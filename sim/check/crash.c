/* SPDX-License-Identifier: MIT */
#include "crash.h"

#include <sim/cores/cores.h>
#include <sim/explore/explore.h>
#include <sim/fiber.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* On the thread that crashed, which does not come back from here. */
static void crashed(int signal)
{
	if (cores_fiber() != NULL)
		cores_fail(VERDICT_ASSERTION, CRASHED, cores_thread(), strsignal(signal));
	explore_crashed(strsignal(signal));
	_exit(2); /* neither returns */
}

static void on_crash(int signal, siginfo_t *info, void *context)
{
	struct sim_fiber *fiber = cores_fiber();

	(void)info;
	if (fiber == NULL)
		fiber = explore_fiber();
	if (fiber != NULL) {
		sim_fiber_divert(fiber, context, crashed, signal);
		return;
	}
	fprintf(stderr, "pawl: the checker itself crashed (%s); please report it\n",
		strsignal(signal));
	_exit(2);
}

void catch_crashes(void)
{
	static char stack[1 << 16]; /* the thread's may be what is wrong */
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction crash = {.sa_sigaction = on_crash,
				  .sa_flags = SA_SIGINFO | SA_ONSTACK};

	sigaltstack(&alternate, NULL);
	sigaction(SIGSEGV, &crash, NULL);
	sigaction(SIGBUS, &crash, NULL);
	sigaction(SIGILL, &crash, NULL);
	sigaction(SIGFPE, &crash, NULL);
}
