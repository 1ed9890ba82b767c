/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/ticket.h>

int main(void)
{
	static const struct pawl_ticket init = PAWL_TICKET_INIT;
	const struct lock_claim claim = {.name = "ticket", .init = &init, .size = 16};

	return lock_tests(&claim);
}
