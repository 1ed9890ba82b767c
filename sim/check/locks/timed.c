/* SPDX-License-Identifier: MIT */
/* Scenarios of locks that are taken in turn and that a waiter may give up. */
#include "locks.h"

#include <sim/runtime.h>

/* gives-up: two of three may; when all is over, nothing is left of them. */
static void gives_up_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread == 3) {
		sim_await(SIM_AWAIT_EQ, &c->shared->passed, 3, 0, SIM_ACQUIRE);
		if (!c->type->trylock(c->locks[0]))
			explore_fail(VERDICT_ASSERTION,
				     "nobody holds the lock, but it is not free");
		return;
	}
	if (thread == 0)
		check_visit(c, 0);
	else if (check_timedlock(c))
		check_unlock(c, 0);
	sim_fetch_add(&c->shared->passed, 1, SIM_ACQ_REL);
}

/* gone: one is ahead, one may give up, and one is behind. */
static void gone_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread != 1)
		check_visit(c, 0);
	else if (check_timedlock(c))
		check_unlock(c, 0);
}

/* gone-twice: two that may give up stand between two that do not. */
static void gone_twice_thread(void *argument, int thread)
{
	gone_thread(argument, thread == 2 ? 1 : thread);
}

/* gone-try: the same, with one that only tries. */
static void gone_try_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread < 2)
		gone_thread(argument, thread);
	else if (check_trylock(c, 0))
		check_unlock(c, 0);
}

/* gone-free: one that gave up comes back, and whoever is last frees the lock. */
static void gone_free_thread(void *argument, int thread)
{
	struct check *c = argument;
	bool last;

	if (thread != 1 || !check_timedlock(c))
		check_lock(c, 0);
	last = --c->shared->users == 0;
	check_unlock(c, 0);
	if (last)
		explore_free(c->locks[0]);
}

OUTSIDE static bool gives_up(const struct lock_type *type)
{
	return type->timedlock != NULL && type->admission == ADMISSION_FIFO;
}

const struct scenario timed_scenarios[] = {
	{"gone", "one waits, one may give up, one is behind it", 2, 0, 1, 4, gives_up,
	 passes, check_set_up, gone_thread, check_finished, .for_sleepers = true},
	{"gives-up", "two may give up, and leave no trace", 4, 4, 1, 4, gives_up, passes,
	 check_set_up, gives_up_thread, check_finished},
	{"gone-twice", "two may give up, one is ahead, one behind", 4, 4, 1, 4, gives_up,
	 passes, check_set_up, gone_twice_thread, check_finished, .takes_minutes = true},
	{"gone-try", "one may give up, one only tries", 3, 0, 1, 4, gives_up, passes,
	 check_set_up, gone_try_thread, check_finished},
	{"gone-free", "one gives up and comes back; the last frees the lock", 2, 0, 1, 4,
	 gives_up, passes, check_set_up, gone_free_thread, NULL},
	{.name = NULL},
};
