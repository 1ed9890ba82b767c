/* SPDX-License-Identifier: MIT */
/*
 * Polite polling, measured in time: a PAUSE costs 10 to 140 cycles depending on
 * the CPU, so counting them would mean something else on each.
 */
#include "os.h"

#include <pawl/thread.h>

/* The first poll comes after this long, and each next one after twice the
 * last, up to the longest: a poll costs the holder a cache miss. */
enum { SHORTEST_PAUSE = 10, LONGEST_PAUSE = 16000 };

static bool alone; /* one CPU: who polls keeps the others from running */

__attribute__((constructor)) static void count_cpus(void)
{
	alone = pawl_os_cpus() == 1;
}

void pawl_spin_begin(struct pawl_spin *spin, uint64_t ns)
{
	spin->until = alone ? 0 : pawl_os_now() + ns;
	spin->pause = SHORTEST_PAUSE;
}

bool pawl_spin_again(struct pawl_spin *spin)
{
	uint64_t now = alone ? 0 : pawl_os_now();
	uint64_t next = now + spin->pause;

	if (now >= spin->until)
		return false;
	do
		pawl_arch_pause();
	while (pawl_os_now() < next);
	if (spin->pause < LONGEST_PAUSE)
		spin->pause *= 2;
	return true;
}

/* The clock is looked at so rarely: a look costs as much as a poll. */
enum { POLLS_PER_CLOCK = 16 };

void pawl_spin_while(const pawl_atomic64 *w, uint64_t value, uint64_t ns)
{
	uint64_t until = pawl_os_now() + ns;
	int polls;

	do
		for (polls = 0; polls < POLLS_PER_CLOCK; polls++) {
			/* Relaxed: the caller looks again, with the order it needs. */
			if (pawl_load_relaxed(w) != value)
				return;
			pawl_arch_wait_while(&w->raw, value);
		}
	while (pawl_os_now() < until);
}
