/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of the condition variable. What is waited for is a plain word: a
 * race, or a wait that never ends, is a failure of the pair.
 */
#include "states.h"

#include "../../src/sync/queues.h"

#include <pawl/runtime.h>

#include <sim/runtime.h>

/* So many neighbours are not all in one bucket. */
enum { PLACES = 8 };

struct state {
	struct pawl_mutex mutex;
	struct pawl_cond places[PLACES];
	uint64_t ready;	 /* plain: what is waited for */
	uint64_t served; /* under the mutex: waiters that are done */
	uint64_t passed; /* atomic: another thread may release the mutex */
};

static struct state *state;
static struct pawl_cond *cond; /* one of the places */

/* What belongs to the condition's bucket must not be taken for what belongs to the
 * mutex's, so they have one each; or share one, which is the lot of some. */
static void find_place(bool same_bucket)
{
	cond = state->places;
	while ((pawl_filter_of_(cond) == pawl_filter_of_(&state->mutex)) != same_bucket)
		if (++cond == state->places + PLACES)
			pawl_die_("no place is in that bucket");
}

static void set_up_in(bool same_bucket)
{
	state = explore_allocate(sizeof(*state), 128);
	explore_label(state, "state");
	find_place(same_bucket);
}

static void set_up(void *argument)
{
	(void)argument;
	set_up_in(false);
}

static void set_up_together(void *argument)
{
	(void)argument;
	set_up_in(true);
}

/* Waits until something is ready, and takes it. */
static void await_ready(bool timed)
{
	static const struct timespec later = {.tv_sec = 1};
	int error = 0;

	pawl_mutex_lock(&state->mutex);
	while (state->ready == 0 && error == 0)
		if (timed)
			error = pawl_cond_timedwait(cond, &state->mutex, CLOCK_MONOTONIC,
						    &later);
		else
			pawl_cond_wait(cond, &state->mutex);
	if (error == 0)
		state->ready--;
	state->served++;
	pawl_mutex_unlock(&state->mutex);
}

/* Makes something ready, and tells: while it holds the mutex, or after. */
static void make_ready(void (*tell)(struct pawl_cond *), bool after)
{
	pawl_mutex_lock(&state->mutex);
	state->ready++;
	if (!after)
		tell(cond);
	pawl_mutex_unlock(&state->mutex);
	if (after)
		tell(cond);
}

/* signal: one waits, one signals, at any moment. */
static void signal_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		make_ready(pawl_cond_signal, true);
	else
		await_ready(false);
}

static void signal_timed_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		make_ready(pawl_cond_signal, false);
	else
		await_ready(true);
}

/* freed: the waiter frees the condition variable as soon as it has the mutex. */
static void set_up_apart(void *argument)
{
	set_up(argument);
	cond = explore_allocate(sizeof(*cond), 64);
	explore_label(cond, "condition");
}

static void freed_by_waiter(void (*tell)(struct pawl_cond *), int thread)
{
	if (thread == 0) {
		sim_await(SIM_AWAIT_EQ, &cond->waiters.raw, 1, 0, SIM_RELAXED);
		tell(cond);
		return;
	}
	pawl_mutex_lock(&state->mutex);
	pawl_cond_wait(cond, &state->mutex);
	explore_free(cond);
	pawl_mutex_unlock(&state->mutex);
}

static void freed_thread(void *argument, int thread)
{
	(void)argument;
	freed_by_waiter(pawl_cond_signal, thread);
}

static void freed_all_thread(void *argument, int thread)
{
	(void)argument;
	freed_by_waiter(pawl_cond_broadcast, thread);
}

/* foreign: the owner signals while another thread releases the mutex for it. */
static void foreign_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		sim_await(SIM_AWAIT_EQ, &cond->waiters.raw, 1, 0, SIM_RELAXED);
		pawl_mutex_lock(&state->mutex);
		state->ready++;
		sim_store(&state->passed, 1, SIM_RELEASE);
		pawl_cond_signal(cond);
	} else if (thread == 1) {
		sim_await(SIM_AWAIT_NE, &state->passed, 0, 0, SIM_ACQUIRE);
		pawl_mutex_unlock(&state->mutex);
	} else {
		await_ready(false);
	}
}

/* broadcast: the same with the other way to tell. */
static void broadcast_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		make_ready(pawl_cond_broadcast, false);
	else
		await_ready(false);
}

/* A waiter that wants no pawl_mutex back: waking it tells what was written. */
static void sleep_simply(bool timed)
{
	static const struct pawl_deadline later = {.time = {.tv_sec = 1}};
	struct pawl_sleeper me = {.mutex = NULL};

	pawl_cond_enroll(cond, &me);
	if (!pawl_sleep(&me, timed ? &later : NULL) && pawl_cond_withdraw(cond, &me))
		return;
	if (state->ready == 0)
		explore_fail(VERDICT_ASSERTION, "woken, and nothing is ready");
}

/* Tells when so many have enrolled: before, they would wait for ever. */
static void tell_after(uint64_t count, void (*tell)(struct pawl_cond *))
{
	sim_await(SIM_AWAIT_EQ, &cond->waiters.raw, count, 0, SIM_ACQUIRE);
	state->ready = count;
	tell(cond);
}

/* all: two wait without a mutex, one broadcasts. */
static void all_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		tell_after(2, pawl_cond_broadcast);
	else
		sleep_simply(false);
}

static void signal_twice(struct pawl_cond *c)
{
	pawl_cond_signal(c);
	pawl_cond_signal(c);
}

/* each: two wait without a mutex, two signals wake one each. */
static void each_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		tell_after(2, signal_twice);
	else
		sleep_simply(false);
}

/*
 * Two wait, and want their mutex back. To keep the search short, the second comes when
 * the first has enrolled, and they are told when both have; shorter, when both are
 * asleep.
 */
static void two_wait(int thread, void (*tell)(struct pawl_cond *), bool asleep)
{
	if (thread > 0) {
		if (thread == 2)
			sim_await(SIM_AWAIT_NE, &cond->waiters.raw, 0, 0, SIM_RELAXED);
		await_ready(false);
		return;
	}
	sim_await(SIM_AWAIT_EQ, &cond->waiters.raw, 2, 0, SIM_RELAXED);
	if (asleep)
		explore_await_quiet();
	pawl_mutex_lock(&state->mutex);
	state->ready = 2;
	tell(cond);
	pawl_mutex_unlock(&state->mutex);
}

static void both_graphs_thread(void *argument, int thread)
{
	(void)argument;
	two_wait(thread, pawl_cond_broadcast, false);
}

static void both_asleep_thread(void *argument, int thread)
{
	(void)argument;
	two_wait(thread, pawl_cond_broadcast, true);
}

static void in_a_row_graphs_thread(void *argument, int thread)
{
	(void)argument;
	two_wait(thread, signal_twice, false);
}

static void in_a_row_asleep_thread(void *argument, int thread)
{
	(void)argument;
	two_wait(thread, signal_twice, true);
}

/* urgent, urgent-all: two wait until all sleep, the first with the higher priority: it gets
 * the first of two signals, and its mutex first after a broadcast. */
OUTSIDE static unsigned first_is_urgent(void)
{
	return explore_thread() == 1 ? 2 : 1;
}

OUTSIDE static void set_priorities(void)
{
	sim_priority = first_is_urgent;
}

static void set_up_urgent(void *argument)
{
	set_up(argument);
	set_priorities();
}

static void await_in_order(int thread)
{
	pawl_mutex_lock(&state->mutex);
	while (state->ready == 0)
		pawl_cond_wait(cond, &state->mutex);
	state->ready--;
	if (state->served++ != (uint64_t)thread - 1)
		explore_fail(VERDICT_ASSERTION, "the lower priority was served first");
	pawl_mutex_unlock(&state->mutex);
}

static void urgent_waits(int thread, uint64_t each, void (*tell)(struct pawl_cond *))
{
	uint64_t told;

	if (thread == 2)
		sim_await(SIM_AWAIT_NE, &cond->waiters.raw, 0, 0, SIM_RELAXED);
	if (thread > 0) {
		await_in_order(thread);
		return;
	}
	sim_await(SIM_AWAIT_EQ, &cond->waiters.raw, 2, 0, SIM_RELAXED);
	for (told = 0; told < 2; told += each) {
		explore_await_quiet();
		pawl_mutex_lock(&state->mutex);
		state->ready += each;
		tell(cond);
		pawl_mutex_unlock(&state->mutex);
	}
}

static void urgent_thread(void *argument, int thread)
{
	(void)argument;
	urgent_waits(thread, 1, pawl_cond_signal);
}

static void urgent_all_thread(void *argument, int thread)
{
	(void)argument;
	urgent_waits(thread, 2, pawl_cond_broadcast);
}

/*
 * both, in-a-row: the same two in all their ways, for the core checker.
 */
static struct late {
	struct state state;
	struct states_section section; /* its word: how much is ready */
	uint64_t served;	       /* a ghost */
} * late;

static void set_up_late(void *argument)
{
	(void)argument;
	late = states_allocate(sizeof(*late), pawl_process_parking);
	late->section.holder = NOBODY;
	state = &late->state;
	cores_label(&state->mutex.word, sizeof(uint64_t), "mutex", NULL);
	cores_label(&state->mutex.due, sizeof(uint64_t), "due", NULL);
	cores_label(&late->section.word, sizeof(uint64_t), "ready", NULL);
	find_place(false);
	cores_label(cond, sizeof(*cond), "condition", NULL);
}

/* To keep the search short, the second comes when the first has enrolled, and they are
 * told when both have. */
static void two_wait_late(int thread, void (*tell)(struct pawl_cond *), bool timed)
{
	static const struct timespec later = {.tv_sec = 1};
	struct pawl_mutex *m = &state->mutex;
	int error = 0;

	if (thread == 0)
		sim_await(SIM_AWAIT_EQ, &cond->waiters.raw, 2, 0, SIM_RELAXED);
	else if (thread == 2)
		sim_await(SIM_AWAIT_NE, &cond->waiters.raw, 0, 0, SIM_RELAXED);
	pawl_mutex_lock(m);
	states_enter(&late->section);
	if (thread == 0) {
		states_add(&late->section, 2);
		tell(cond);
	} else {
		while (error == 0 && states_look(&late->section) == 0) {
			states_leave(&late->section);
			if (timed && thread == 1)
				error = pawl_cond_timedwait(cond, m, CLOCK_MONOTONIC,
							    &later);
			else
				pawl_cond_wait(cond, m);
			states_enter(&late->section);
		}
		if (error == 0)
			states_add(&late->section, (uint64_t)-1);
		late->served++;
	}
	states_leave(&late->section);
	pawl_mutex_unlock(m);
}

static void both_thread(void *argument, int thread)
{
	(void)argument;
	two_wait_late(thread, pawl_cond_broadcast, false);
}

static void in_a_row_thread(void *argument, int thread)
{
	(void)argument;
	two_wait_late(thread, signal_twice, false);
}

static void all_served_late(void *argument)
{
	(void)argument;
	if (late->served != 2)
		cores_fail(VERDICT_ASSERTION, "a waiter was not served");
	if (cond->waiters.raw != 0)
		cores_fail(VERDICT_ASSERTION, "waiters are counted that are gone");
}

static const struct core_scenario states = {
	3, 1, 3, 1, true, states_check, .buffers_only = true, .ends = true};

/* withdraw: one may give up while one signals. */
static void withdraw_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		state->ready = 1;
		pawl_cond_signal(cond);
	} else {
		sleep_simply(true);
	}
}

static void none_counted(void *argument)
{
	(void)argument;
	if (explore_final(&cond->waiters.raw) != 0)
		explore_fail(VERDICT_ASSERTION, "waiters are counted that are gone");
}

static void are_served(void *argument)
{
	if (explore_final(&state->served) != 2)
		explore_fail(VERDICT_ASSERTION, "a waiter was not served");
	none_counted(argument);
}

static void is_served(void *argument)
{
	if (explore_final(&state->served) != 1)
		explore_fail(VERDICT_ASSERTION, "the waiter was not served");
	none_counted(argument);
}

const struct lock_type cond_types[] = {
	{.name = "cond", .base = "cond", .header = "pawl/cond.h"},
	{.name = NULL},
};

const struct scenario cond_scenarios[] = {
	{"signal", "one waits on a condition variable, one signals", 2, 2, 1, 1, always,
	 passes, set_up, signal_thread, is_served, 0, false, false},
	{"signal-timed", "the same, and the waiter may give up", 2, 2, 1, 1, always,
	 passes, set_up, signal_timed_thread, is_served, 1, false, false,
	 .takes_seconds = true},
	{"freed", "one signals, and the waiter frees the condition variable", 2, 2, 1, 1,
	 always, passes, set_up_apart, freed_thread, NULL, 0, false, false},
	{"freed-all", "the same with a broadcast", 2, 2, 1, 1, always, passes,
	 set_up_apart, freed_all_thread, NULL, 0, false, false},
	{"together", "signal, mutex and condition in one bucket", 2, 2, 1, 1, always,
	 passes, set_up_together, signal_thread, is_served, 0, false, false},
	{"together-timed", "the same, and the waiter may give up", 2, 2, 1, 1, always,
	 passes, set_up_together, signal_timed_thread, is_served, 1, false, false,
	 .takes_minutes = true},
	{"foreign", "one waits, one signals as another releases its mutex", 3, 3, 1, 1,
	 always, passes, set_up, foreign_thread, is_served, 0, false, false,
	 .takes_minutes = true},
	{"broadcast", "one waits on a condition variable, one broadcasts", 2, 2, 1, 1,
	 always, passes, set_up, broadcast_thread, is_served, 0, false, false},
	{"all", "two wait without a mutex, one broadcasts", 3, 3, 1, 1, always, passes,
	 set_up, all_thread, none_counted, 0, false, false},
	{"each", "two wait without a mutex, one signals twice", 3, 3, 1, 1, always,
	 passes, set_up, each_thread, none_counted, 0, false, false},
	{.name = "both",
	 .what = "two wait, one broadcasts, and both get their mutex",
	 .least_threads = 3,
	 .only_threads = 3,
	 .only_episodes = 1,
	 .waiting_slots = 1,
	 .applies = always,
	 .expected = passes,
	 .set_up = set_up_late,
	 .thread = both_thread,
	 .finished = all_served_late,
	 .bypass = 2,
	 .takes_minutes = true,
	 .cores = &states},
	{.name = "in-a-row",
	 .what = "two wait, one signals twice, and both get their mutex",
	 .least_threads = 3,
	 .only_threads = 3,
	 .only_episodes = 1,
	 .waiting_slots = 1,
	 .applies = always,
	 .expected = passes,
	 .set_up = set_up_late,
	 .thread = in_a_row_thread,
	 .finished = all_served_late,
	 .bypass = 2,
	 .takes_minutes = true,
	 .cores = &states},
	{"both-graphs", "both, as graphs", 3, 3, 1, 1, always, passes, set_up,
	 both_graphs_thread, are_served, .takes_hours = true},
	{"in-a-row-graphs", "in-a-row, as graphs", 3, 3, 1, 1, always, passes, set_up,
	 in_a_row_graphs_thread, are_served, .takes_hours = true},
	{"both-asleep", "both-graphs, and they sleep before they are told", 3, 3, 1, 1,
	 always, passes, set_up, both_asleep_thread, are_served, .takes_minutes = true},
	{"in-a-row-asleep", "in-a-row-graphs, and they sleep before they are told", 3, 3,
	 1, 1, always, passes, set_up, in_a_row_asleep_thread, are_served,
	 .takes_minutes = true, .sleep_sees = true},
	{"urgent", "two of different priorities wait, one signals twice", 3, 3, 1, 1,
	 always, passes, set_up_urgent, urgent_thread, are_served},
	{"urgent-all", "the same, one broadcasts", 3, 3, 1, 1, always, passes,
	 set_up_urgent, urgent_all_thread, are_served},
	{"withdraw", "one gives up a wait without a mutex, one signals", 2, 2, 1, 1,
	 always, passes, set_up, withdraw_thread, none_counted, 0, false, false},
	{.name = NULL},
};
