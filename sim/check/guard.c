/* SPDX-License-Identifier: MIT */
/*
 * The lock that sleeping itself is built on, src/sleep/guard.c; everything else is
 * checked with a simpler one in its place. Part of the simulated world, like
 * scenario.c.
 */
#include "outside.h"

#include <pawl/atomic.h>

/* The real one, beside the one that stands in for it. */
void sim_real_guard_lock(pawl_atomic64 *guard);
bool sim_real_guard_lock_for(pawl_atomic64 *guard, uint64_t ns);
void sim_real_guard_unlock(pawl_atomic64 *guard);

static struct room {
	pawl_atomic64 guard;
	uint64_t visits; /* plain: by whoever is inside */
} * room;

static void set_up(void *argument)
{
	(void)argument;
	room = explore_allocate(sizeof(*room), 128);
	explore_label(room, "room");
}

static void visit(void)
{
	explore_enter(0);
	explore_in_turn(0);
	room->visits++;
	explore_leave(0);
	sim_real_guard_unlock(&room->guard);
}

static void visit_thread(void *argument, int thread)
{
	(void)argument, (void)thread;
	explore_arrive(0, &room->guard, sizeof(room->guard), ADMIT_ANY);
	sim_real_guard_lock(&room->guard);
	visit();
}

/* guard-timed: one waits for so long only. */
static void timed_thread(void *argument, int thread)
{
	if (thread != 1) {
		visit_thread(argument, thread);
		return;
	}
	explore_arrive(0, &room->guard, sizeof(room->guard), ADMIT_ANY);
	if (sim_real_guard_lock_for(&room->guard, 1000))
		visit();
	else
		explore_retreat(0);
}

const struct lock_type guard_types[] = {
	{.name = "guard", .base = "guard", .header = "pawl/park.h"},
	{.name = NULL},
};

const struct scenario guard_scenarios[] = {
	{"guard", "the lock that sleeping is built on", 3, 3, 1, 1, always, passes,
	 set_up, visit_thread, NULL, .alike = 1},
	{"guard-timed", "the same, and one may give up", 3, 3, 1, 1, always, passes,
	 set_up, timed_thread, NULL},
	{.name = NULL},
};
