/* SPDX-License-Identifier: MIT */
/* A lock whose waiters sleep is not to be unlocked as if they did not. */
#include <pawl/pawl.h>

#ifndef MISUSE
#define MISUSE 0
#endif

struct pawl_ticket spins;
struct pawl_ticket_park sleeps;
struct pawl_hapax_park queue;
struct pawl_hapax_core bare;
struct pawl_hapax_park_core bare_sleeps;
struct pawl_seqlock record;
pawl_atomic64 words[PAWL_SEQLOCK_WORDS(sizeof(struct timespec))];

bool use(const struct timespec *time);
bool use(const struct timespec *time)
{
	struct pawl_hapax_context context;
	struct timespec copy;

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
	pawl_hapax_acquire(&bare, &context);
#if MISUSE == 4
	pawl_hapax_park_release(&bare, &context);
#endif
#if MISUSE == 5
	pawl_hapax_release(&bare, &context, PAWL_PARK);
#endif
	pawl_hapax_release(&bare, &context);
	pawl_hapax_park_acquire(&bare_sleeps, &context);
#if MISUSE == 6
	pawl_hapax_release(&bare_sleeps, &context);
#endif
	pawl_hapax_park_release(&bare_sleeps, &context);
	if (pawl_hapax_park_timed_acquire(&bare_sleeps, &context, CLOCK_REALTIME, time) !=
	    0)
		return false;
	pawl_hapax_park_release(&bare_sleeps, &context);
	if (!pawl_seqlock_write(&record, words, time, sizeof(*time)))
		return false;
#if MISUSE == 7
	pawl_seqlock_read(&record, words, &copy, sizeof(copy), PAWL_SPIN);
#endif
	pawl_seqlock_read(&record, words, &copy, sizeof(copy));
	return pawl_hapax_park_trylock(&queue);
}
