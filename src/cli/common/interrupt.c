/* SPDX-License-Identifier: MIT */
#include "cli/common/interrupt.h"

#include "crew.h"

#include <stddef.h>

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	crew_interrupt();
}

static void catch_with(int flags)
{
	struct sigaction action = {.sa_flags = flags};

	crew_share_interrupt();
	action.sa_handler = on_interrupt;
	sigaction(SIGINT, &action, NULL);
}

void catch_interrupt(void)
{
	catch_with((int)SA_RESETHAND | SA_RESTART);
}

void catch_interrupts(void)
{
	catch_with(SA_RESTART);
}

bool was_interrupted(void)
{
	return crew_interrupted();
}
