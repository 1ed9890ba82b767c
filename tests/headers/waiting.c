/* SPDX-License-Identifier: MIT */
/* A lock whose waiters sleep is not to be unlocked as if they did not. */
#include <pawl/pawl.h>

#ifndef MISUSE
#define MISUSE 0
#endif

struct pawl_ticket spins;
struct pawl_ticket_park sleeps;
struct pawl_hapax_park queue;

bool use(const struct timespec *time);
bool use(const struct timespec *time)
{
	pawl_ticket_lock(&spins);
	pawl_ticket_unlock(&spins);
	pawl_ticket_park_lock(&sleeps);
#if MISUSE == 1
	pawl_ticket_unlock(&sleeps);
#endif
#if MISUSE == 2
	pawl_ticket_park_unlock(&spins);
#endif
	pawl_ticket_park_unlock(&sleeps);
	if (pawl_hapax_park_timedlock(&queue, CLOCK_REALTIME, time) != 0)
		return false;
#if MISUSE == 3
	pawl_hapax_unlock(&queue);
#endif
	pawl_hapax_park_unlock(&queue);
	return pawl_hapax_park_trylock(&queue);
}
