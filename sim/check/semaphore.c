/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of pawl/semaphore.h. Part of the simulated world, like scenario.c.
 */
#include "outside.h"

#include <pawl/semaphore.h>

static struct room {
	struct pawl_semaphore s;
	uint64_t visits; /* plain: by whoever has the unit */
	uint64_t posted; /* atomic: posts that succeeded */
	uint64_t taken;	 /* atomic: a wait is over */
} * room;

static void set_up(void *argument)
{
	(void)argument;
	room = explore_allocate(sizeof(*room), 128);
	explore_label(room, "semaphore");
}

static void post(void)
{
	if (pawl_semaphore_post_as_(&room->s, PAWL_SPIN) == 0)
		sim_fetch_add(&room->posted, 1, SIM_RELAXED);
}

static void visit(void)
{
	pawl_semaphore_wait_as_(&room->s, PAWL_SPIN);
	room->visits++;
	post();
}

/* units: as a lock, by everybody. */
static void units_thread(void *argument, int thread)
{
	(void)argument, (void)thread;
	visit();
}

/* others: one waits, another posts for it, a third waits. */
static void others_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		pawl_semaphore_wait_as_(&room->s, PAWL_SPIN);
		room->visits++;
		sim_store(&room->taken, 1, SIM_RELEASE);
	} else if (thread == 1) {
		sim_await(SIM_AWAIT_EQ, &room->taken, 1, 0, SIM_ACQUIRE);
		post();
	} else {
		visit();
	}
}

/* twice: of two posts for one wait, one is refused. */
static void twice_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		pawl_semaphore_wait_as_(&room->s, PAWL_SPIN);
		room->visits++;
		sim_store(&room->taken, 1, SIM_RELEASE);
	} else {
		sim_await(SIM_AWAIT_EQ, &room->taken, 1, 0, SIM_ACQUIRE);
		post();
	}
}

/* tries: one does not wait for the unit, and leaves nothing behind if there is none. */
static void tries_thread(void *argument, int thread)
{
	(void)argument;
	if (thread != 1) {
		visit();
	} else if (pawl_semaphore_trywait(&room->s)) {
		room->visits++;
		post();
	}
}

/* asleep: as units and timed, by the faces that sleep. */
static void asleep_thread(void *argument, int thread)
{
	static const struct timespec later = {.tv_sec = 1};

	(void)argument;
	if (thread == 0)
		pawl_semaphore_wait(&room->s);
	else if (pawl_semaphore_timedwait(&room->s, CLOCK_MONOTONIC, &later) != 0)
		return;
	room->visits++;
	if (pawl_semaphore_post(&room->s) == 0)
		sim_fetch_add(&room->posted, 1, SIM_RELAXED);
}

/* timed: some give up; nothing is left of them. */
static void timed_thread(void *argument, int thread)
{
	static const struct timespec later = {.tv_sec = 1};

	(void)argument;
	if (thread == 0) {
		visit();
	} else if (pawl_semaphore_timedwait_as_(&room->s, PAWL_SPIN, CLOCK_MONOTONIC,
						&later) == 0) {
		room->visits++;
		post();
	}
}

/* In the end the unit is there, and has been posted as often as taken. */
static void finished(void *argument)
{
	(void)argument;
	if (explore_final(&room->s.core.arrive.raw) !=
	    explore_final(&room->s.core.depart.raw))
		explore_fail(VERDICT_ASSERTION, "the unit is lost");
	if (explore_final(&room->posted) != room->visits)
		explore_fail(VERDICT_ASSERTION, "%llu posts of %llu units",
			     (unsigned long long)explore_final(&room->posted),
			     (unsigned long long)room->visits);
}

const struct lock_type semaphore_types[] = {
	{.name = "semaphore", .base = "semaphore", .header = "pawl/semaphore.h"},
	{.name = NULL},
};

const struct scenario semaphore_scenarios[] = {
	{"units", "every thread waits and posts", 3, 3, 1, 4, always, passes, set_up,
	 units_thread, finished, 0, false, false},
	{"others", "one waits, another posts for it, a third waits", 3, 3, 1, 4, always,
	 passes, set_up, others_thread, finished, 0, false, false},
	{"twice", "of two posts for one wait, one is refused", 3, 3, 1, 4, always, passes,
	 set_up, twice_thread, finished, 0, false, false},
	{"tries", "one takes the unit only if it is there", 3, 3, 1, 4, always, passes,
	 set_up, tries_thread, finished},
	{"asleep", "one sleeps for the unit, one may give up", 2, 2, 1, 4, always, passes,
	 set_up, asleep_thread, finished},
	{"timed", "waits that may give up", 3, 3, 1, 4, always, passes, set_up,
	 timed_thread, finished, 0, false, false},
	{.name = NULL},
};
