/* SPDX-License-Identifier: MIT */
/* Scenarios of pawl_mutex alone. */
#include "locks.h"

#include <sim/runtime.h>

#include <pawl/mutex.h>

#include <string.h>

OUTSIDE static bool is_mutex(const struct lock_type *type)
{
	return strcmp(type->name, "mutex") == 0;
}

/* timed: a waiter may give up at every step that it sleeps at. */
static void timed_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread % 2 == 0)
		check_visit(c, 0);
	else if (check_timedlock(c))
		check_unlock(c, 0);
}

/*
 * granted: two queue behind a holder. To keep the search short, the second
 * comes when the first has queued, and the holder holds until then.
 */
static void queue_behind_holder(struct check *c, int thread, bool timed)
{
	struct pawl_mutex *m = c->locks[0];

	if (thread > 0)
		sim_await(SIM_AWAIT_NE, &c->shared->passed, 0, 0, SIM_RELAXED);
	if (thread == 2) {
		sim_await(SIM_AWAIT_NE, &m->due.raw, 0, 0, SIM_RELAXED);
		sim_store(&c->shared->passed, 2, SIM_RELAXED);
	}
	if (thread != 1 || !timed || !check_timedlock(c))
		check_lock(c, 0);
	if (thread == 0) {
		sim_store(&c->shared->passed, 1, SIM_RELAXED);
		sim_await(SIM_AWAIT_EQ, &c->shared->passed, 2, 0, SIM_RELAXED);
	}
	check_unlock(c, 0);
}

static void granted_thread(void *argument, int thread)
{
	queue_behind_holder(argument, thread, false);
}

/* granted-timed: the first of the two may give up, also when its turn has come; then
 * it comes back. */
static void granted_timed_thread(void *argument, int thread)
{
	queue_behind_holder(argument, thread, true);
}

/* late: two queue behind a holder that stays until all sleep; the first may give up
 * meanwhile, gets the second up, and comes back. */
static void late_thread(void *argument, int thread)
{
	struct check *c = argument;
	struct pawl_mutex *m = c->locks[0];

	if (thread == 0) {
		check_lock(c, 0);
		sim_store(&c->shared->passed, 1, SIM_RELAXED);
		explore_await_quiet();
		check_unlock(c, 0);
		return;
	}
	sim_await(SIM_AWAIT_NE, &c->shared->passed, 0, 0, SIM_RELAXED);
	if (thread == 2)
		sim_await(SIM_AWAIT_NE, &m->due.raw, 0, 0, SIM_RELAXED);
	if (thread != 1 || !check_timedlock(c))
		check_lock(c, 0);
	check_unlock(c, 0);
}

/* urgent: two queue behind a holder that stays until all sleep; the second has the higher
 * priority, and gets the lock first. */
OUTSIDE static unsigned priority_by_number(void)
{
	return (unsigned)explore_thread();
}

OUTSIDE static void set_priorities(void)
{
	sim_priority = priority_by_number;
}

static void urgent_set_up(void *argument)
{
	check_set_up(argument);
	set_priorities();
}

static void urgent_thread(void *argument, int thread)
{
	enum { HELD = 1, SERVED };
	struct check *c = argument;
	struct pawl_mutex *m = c->locks[0];
	uint64_t *passed = &c->shared->passed;

	if (thread > 0)
		sim_await(SIM_AWAIT_NE, passed, 0, 0, SIM_RELAXED);
	if (thread == 2)
		sim_await(SIM_AWAIT_NE, &m->due.raw, 0, 0, SIM_RELAXED);
	check_lock(c, 0);
	if (thread == 0) {
		sim_store(passed, HELD, SIM_RELAXED);
		explore_await_quiet();
	} else if (thread == 2) {
		sim_store(passed, SERVED, SIM_RELAXED);
	} else if (sim_load(passed, SIM_RELAXED) != SERVED) {
		explore_fail(VERDICT_ASSERTION, "the lower priority was served first");
	}
	check_unlock(c, 0);
}

/*
 * half-way: the system refuses membarrier from some moment on, another one for each
 * thread, as filters do that threads set for themselves.
 */
static bool refused[3];

OUTSIDE static bool refuses_from_now_on(void)
{
	int me = explore_thread();

	if (!refused[me])
		refused[me] = sim_one_in(2);
	return refused[me];
}

OUTSIDE static void begin_to_refuse(void)
{
	memset(refused, 0, sizeof(refused));
	sim_refuses = refuses_from_now_on;
}

static void half_way_set_up(void *argument)
{
	sections_set_up(argument);
	begin_to_refuse();
}

static void half_way_return_set_up(void *argument)
{
	return_set_up(argument);
	begin_to_refuse();
}

static void is_free(void *argument)
{
	struct check *c = argument;
	const struct pawl_mutex *m = c->locks[0];

	if (explore_final(&m->word.raw) != 0)
		explore_fail(VERDICT_ASSERTION, "somebody left it locked");
}

const struct scenario mutex_scenarios[] = {
	{"bypass", "an unlock that finds the head's turn due", 2, 2, 1, 4, is_mutex,
	 passes, return_set_up, return_thread, check_finished, .bypass = 1,
	 .for_sleepers = true, .alike = 2},
	{"timed", "a waiter that may give up at any time", 2, 2, 1, 4, is_mutex, passes,
	 check_set_up, timed_thread, is_free, .for_sleepers = true},
	{"timed-due", "the same, and every unlock grants", 2, 2, 1, 4, is_mutex, passes,
	 check_set_up, timed_thread, is_free, .bypass = 1, .for_sleepers = true},
	{"granted", "two queue behind a holder, and every unlock grants", 3, 3, 1, 4,
	 is_mutex, passes, sections_set_up, granted_thread, check_finished, .bypass = 1,
	 .for_sleepers = true, .takes_minutes = true},
	{"half-way", "the system begins to refuse membarrier", 2, 2, 1, 4, is_mutex,
	 passes, half_way_set_up, sections_thread, check_finished, .for_sleepers = true,
	 .alike = 1},
	{"half-way-due", "the same, one comes back, and every unlock grants", 2, 2, 1, 4,
	 is_mutex, passes, half_way_return_set_up, return_thread, check_finished,
	 .bypass = 1, .for_sleepers = true, .alike = 2, .takes_minutes = true},
	{"granted-timed", "the same, and the head may give up and come back", 3, 3, 1, 4,
	 is_mutex, passes, sections_set_up, granted_timed_thread, is_free, .bypass = 1,
	 .for_sleepers = true, .takes_hours = true, .sleep_sees = true},
	{"queued", "two queue behind a holder, and unlocks set it free", 3, 3, 1, 4,
	 is_mutex, passes, sections_set_up, granted_thread, check_finished,
	 .for_sleepers = true, .takes_minutes = true, .sleep_sees = true},
	{"late", "the head may give up while another sleeps behind it", 3, 3, 1, 4,
	 is_mutex, passes, check_set_up, late_thread, is_free, .bypass = 1,
	 .for_sleepers = true, .takes_minutes = true},
	{"urgent", "two of different priorities sleep, and unlocks set it free", 3, 3, 1,
	 4, is_mutex, passes, urgent_set_up, urgent_thread, is_free,
	 .for_sleepers = true},
	{"urgent-due", "the same, and every unlock grants", 3, 3, 1, 4, is_mutex, passes,
	 urgent_set_up, urgent_thread, is_free, .bypass = 1, .for_sleepers = true},
	{"polling", "waiters that poll, nap and count the unlocks meanwhile", 2, 2, 1, 4,
	 is_mutex, passes, sections_set_up, sections_thread, check_finished,
	 .for_sleepers = true, .polls = true, .alike = 1},
	{"polling-bypass", "the same, and every unlock grants", 2, 2, 1, 4, is_mutex,
	 passes, return_set_up, return_thread, check_finished, .bypass = 1,
	 .for_sleepers = true, .polls = true},
	{"polling-timed", "the same, and a waiter may give up", 2, 2, 1, 4, is_mutex,
	 passes, check_set_up, timed_thread, is_free, .for_sleepers = true,
	 .polls = true},
	{.name = NULL},
};
