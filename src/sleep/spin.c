/* SPDX-License-Identifier: MIT */
/*
 * Polite polling. What it should do depends on what things cost on this machine,
 * which is learned while waiting:
 *
 *   transfer   how long a cache line takes from one CPU to another: the time of
 *              a poll that found something new
 *   wake       how long a thread takes to get up once somebody wakes it
 *
 * A poll costs the holder of a lock about one transfer, when it next writes to
 * the line; further polls in the same section cost nothing. So one may poll as
 * one likes while a section lasts, but not once for each section that passes.
 */
#include "sleep/spin.h"

#include "sleep/parking.h"

#include <pawl/thread.h>

enum {
	SHORTEST_TRANSFER = 20, /* what is learned is kept within these */
	LONGEST_TRANSFER = 2000,
	SHORTEST_WAKE = 5000,
	LONGEST_WAKE = 50000,
	MOST_SKIPPED = 255,
	LATE = 8, /* a poll is late by this part of the wait at most */
	HOT = 4, /* sections in the time of a transfer: one thread takes it again and again */
	BATCH = 200,	     /* transfers that are worth one hand-over */
	POLLS_PER_CLOCK = 16 /* a look at the clock costs as much as a poll */
};

static bool alone; /* one CPU: who polls keeps the others from running */
/* Guesses, for want of anything better. */
struct pawl_costs pawl_costs = {.transfer = {100}, .wake = {10000}};

/* Waits of this thread that go by before it polls in one again; after so many
 * the last time. */
static __thread unsigned skip, skipped;

__attribute__((constructor)) static void count_cpus(void)
{
	alone = pawl_os_cpus() == 1;
}

/* Moves an estimate towards a new sample, within bounds: down sooner than up, for
 * what takes longer now and then was disturbed. */
static void learn(pawl_atomic64 *estimate, uint64_t sample, uint64_t least, uint64_t most)
{
	/* Relaxed, here and below: an estimate; one of two samples at a time may get lost. */
	uint64_t old = pawl_load_relaxed(estimate);

	sample = sample < least ? least : sample > most ? most : sample;
	pawl_store_relaxed(estimate, sample < old ? old - (old - sample + 3) / 4
						  : old + (sample - old + 15) / 16);
}

uint64_t pawl_wake_cost(void)
{
	return pawl_load_relaxed(&pawl_costs.wake); /* Relaxed: an estimate */
}

/* Nanoseconds that a pause takes: 10 to 140 cycles, depending on the CPU. */
static uint64_t pause_cost(void)
{
	/* Relaxed: found once, or by several at once. */
	uint64_t cost = pawl_load_relaxed(&pawl_costs.pause), before, took;
	int tries, i;

	if (__builtin_expect(cost != 0, true))
		return cost;
	/* The shortest of some: who is off its CPU in the middle of the only one
	 * would take pauses for milliseconds, and poll without any from then on. */
	cost = UINT64_MAX;
	for (tries = 0; tries < 8; tries++) {
		before = pawl_os_now();
		for (i = 0; i < 16; i++)
			pawl_arch_pause();
		took = (pawl_os_now() - before) / 16 + 1;
		cost = took < cost ? took : cost;
	}
	pawl_store_relaxed(&pawl_costs.pause, cost); /* Relaxed: likewise */
	return cost;
}

/* The clock is read only for the longer ones: it may cost as much as a pause. */
static void pause_for(uint64_t ns)
{
	uint64_t cost = pause_cost(), until, i;

	if (ns < 16 * cost) {
		for (i = 0; i < ns; i += cost)
			pawl_arch_pause();
		return;
	}
	until = pawl_os_now() + ns;
	do
		pawl_arch_pause();
	while (pawl_os_now() < until);
}

void pawl_spin_begin(struct pawl_spin *spin, uint64_t ns)
{
	spin->since = 0; /* unknown until it matters */
	spin->until = alone ? 0 : ns;
	spin->pause = 0;
	spin->seen = 0;
}

bool pawl_spin_again(struct pawl_spin *spin)
{
	/* Relaxed: an estimate. */
	uint64_t least = pawl_load_relaxed(&pawl_costs.transfer), now;

	if (spin->until == 0)
		return false;
	if (spin->pause == 0) { /* the first is short, and the clock not cheap */
		spin->pause = least;
		pause_for(least);
		return true;
	}
	now = pawl_os_now();
	if (spin->since == 0) {
		spin->since = now - least;
		spin->until += now;
	}
	if (now >= spin->until)
		return false;
	if (least < (now - spin->since) / LATE)
		least = (now - spin->since) / LATE;
	if (spin->pause < least)
		spin->pause = least;
	spin->looked = now;
	now = spin->until - now;
	pause_for(spin->pause < now ? spin->pause : now);
	return true;
}

bool pawl_spin_change(struct pawl_spin *spin, const pawl_atomic64 *w, uint64_t seen)
{
	uint64_t now;
	int polls;

	if (spin->until == 0)
		return false;
	spin->pause = pawl_load_relaxed(&pawl_costs.transfer); /* Relaxed: an estimate */
	for (;;) {
		for (polls = 0; polls < POLLS_PER_CLOCK; polls++) {
			if (pawl_load_relaxed(w) != seen) /* Relaxed: the caller looks */
				return true;
			pawl_arch_pause();
		}
		now = pawl_os_now();
		if (spin->since == 0) {
			spin->since = spin->looked = now;
			spin->until += now;
		}
		if (now >= spin->until)
			return false;
	}
}

uint64_t pawl_spin_look(struct pawl_spin *spin, const pawl_atomic64 *w)
{
	uint64_t before, value, took;

	if (spin->since == 0)
		return pawl_load_relaxed(w); /* Relaxed: the caller says why */
	before = pawl_os_now();
	value = pawl_load_relaxed(w); /* Relaxed: likewise */
	took = pawl_os_now() - before;
	/* Longer than ever, and it was this thread that was off its CPU; or it is the
	 * estimate that is wrong, and had better grow. */
	if (value != spin->seen && spin->seen != 0) {
		/* Relaxed: an estimate. */
		uint64_t most = 4 * pawl_load_relaxed(&pawl_costs.transfer);

		learn(&pawl_costs.transfer, took < most ? took : most, SHORTEST_TRANSFER,
		      LONGEST_TRANSFER);
	}
	spin->seen = value;
	return value;
}

enum pawl_pace pawl_spin_pace(struct pawl_spin *spin, uint64_t sections)
{
	uint64_t cost = pawl_load_relaxed(
		&pawl_costs.transfer); /* Relaxed: an estimate */
	uint64_t now;

	if (spin->since == 0) {
		if (sections <= HOT) {
			spin->pause <<= sections != 0;
			return PAWL_PACE_SLOW;
		}
		/* Fast; or this thread was not running. Look again, by the clock. */
		spin->since = spin->looked = pawl_os_now();
		spin->until += spin->since;
		return PAWL_PACE_UNCLEAR;
	}
	now = pawl_os_now();
	if (sections * cost <= HOT * (now - spin->looked)) {
		spin->pause <<= sections != 0;
		return PAWL_PACE_SLOW;
	}
	spin->pause = BATCH * cost;
	if (spin->until > now + spin->pause)
		spin->until = now + spin->pause;
	return PAWL_PACE_FAST;
}

void pawl_spin_while(const pawl_atomic64 *w, uint64_t value, uint64_t ns)
{
	uint64_t until = pawl_os_now() + ns;
	int polls;

	do
		for (polls = 0; polls < POLLS_PER_CLOCK; polls++) {
			/* Relaxed: the caller looks again, with the order it needs. */
			if (pawl_load_relaxed(w) != value)
				return;
			/* Not pawl_arch_wait_while: on aarch64 it may last 100 us. */
			pawl_arch_pause();
		}
	while (pawl_os_now() < until);
}

void pawl_spin_past(const pawl_atomic64 *w, uint64_t value)
{
	uint64_t ns = pawl_wake_cost();
	struct pawl_deadline soon;

	/* Relaxed: as in pawl_spin_while. Nobody wakes the sleeper: its deadline does. */
	for (pawl_spin_while(w, value, 2 * ns); pawl_load_relaxed(w) == value;
	     pawl_spin_while(w, value, ns)) {
		soon = pawl_deadline_in(ns);
		pawl_os_sleep(w, (uint32_t)value, &soon);
	}
}

bool pawl_spin_told(const pawl_atomic64 *w, uint64_t value)
{
	if (alone)
		return false;
	if (skip > 0) {
		skip--;
		return false;
	}
	/* Longer than whoever is to tell us may take to get up: two threads that
	 * wake each other would otherwise both go on sleeping. */
	pawl_spin_while(w, value, 2 * pawl_wake_cost());
	/* Relaxed: the caller looks again, with the order it needs. */
	if (pawl_load_relaxed(w) != value) {
		skipped /= 2;
		return true;
	}
	/* A failure costs twice what a success saves: so it counts for two. */
	skipped = skipped < MOST_SKIPPED ? 4 * skipped + 3 : skipped;
	skip = skipped;
	return false;
}

void pawl_spin_woken(uint64_t told)
{
	uint64_t took = pawl_os_now() - told;

	/* Longer than that, and it was the CPU that it had to wait for. */
	if (took < 2 * LONGEST_WAKE)
		learn(&pawl_costs.wake, took, SHORTEST_WAKE, LONGEST_WAKE);
}
