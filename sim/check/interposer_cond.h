/* SPDX-License-Identifier: MIT */
/* Scenarios of the interposer's condition variables, in which a signal comes when the waiter
 * is asleep: their calls, statistics, profiles and cancellation. */
#ifndef CHECK_INTERPOSER_COND_H
#define CHECK_INTERPOSER_COND_H

#include "interposer_calls.h"

/* wait-calls: one is initialised again, and waited for in all ways. */
static void init_cond_again(void)
{
	pthread_condattr_t attr;
	cnd_t *c = (cnd_t *)cond;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	expect("init", pthread_cond_init(cond, &attr), 0);
	expect("flags", (int)((struct cond *)cond)->flags, COND_MONOTONIC);
	expect("lock", lock(), 0);
	expect("a time that is none",
	       pthread_cond_timedwait(cond, &world->mutex, &no_time), EINVAL);
	expect("unlock", unlock(), 0);
	cnd_destroy(c);
	expect("cnd_init", cnd_init(c), thrd_success);
	expect("flags", (int)((struct cond *)cond)->flags, 0);
}

static void wait_calls_thread(void *argument, int thread)
{
	cnd_t *c = (cnd_t *)cond;
	mtx_t *m = (mtx_t *)&world->mutex;
	int result;

	(void)argument;
	if (thread == 0) {
		init_cond_again();
		pawl_store_release(&world->held, 1);
		explore_await_quiet();
		expect("lock", lock(), 0);
		expect("signal", sim_one_in(2) ? cnd_signal(c) : cnd_broadcast(c),
		       thrd_success);
		expect("unlock", unlock(), 0);
		return;
	}
	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	expect("lock", lock(), 0);
	if (sim_one_in(2))
		result = cnd_wait(c, m);
	else if (sim_one_in(2))
		result = cnd_timedwait(c, m, &soon);
	else
		result = pthread_cond_clockwait(cond, &world->mutex, CLOCK_MONOTONIC,
						&soon) == 0
				 ? thrd_success
				 : thrd_timedout;
	if (result == thrd_timedout)
		see(SAW_LATE);
	else
		expect("wait", result, thrd_success);
	see(SAW_TOLD);
	expect("trylock inside", try(), EBUSY);
	expect("unlock", unlock(), 0);
}

/* wait-counted: with statistics; wait-profiled: in a profile. A signal moves the waiter to the
 * mutex's queue, from which it is counted as one that waited there. */
static void set_up_wait_counted(void *argument)
{
	set_up_normal(argument);
	stats_on = true;
}

static void set_up_wait_profiled(void *argument)
{
	set_up_normal(argument);
	profile_on = true;
}

static void asleep_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		if (profile_on)
			expect("init", pthread_cond_init(cond, NULL), 0);
		pawl_store_release(&world->held, 1);
		explore_await_quiet();
		tell_inside(pthread_cond_signal);
		return;
	}
	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	expect("lock", lock(), 0);
	await_ready(wait_for_it);
	expect("unlock", unlock(), 0);
}

static void requeued_in_the_end(void *argument)
{
	nobody_is_counted(argument);
	notes_add_up();
	if (stats_on && noted[REQUEUED] != 1)
		explore_fail(VERDICT_ASSERTION, "%d waiters are counted as requeued",
			     noted[REQUEUED]);
}

/* cancelled-asleep: as cancelled; cancelled-profiled: in a profile. */
static void set_up_cancelled_profiled(void *argument)
{
	set_up_cancelled(argument);
	profile_on = true;
}

static void cancelled_asleep_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		explore_await_quiet();
		tell_inside(pthread_cond_signal);
	} else {
		be_cancelled(thread);
	}
}

/* wait-theirs: a condition variable that processes share, with a mutex of glibc's: glibc's
 * results are the caller's. */
static void set_up_wait_theirs(void *argument)
{
	set_up_theirs(argument);
	cond->__data.__wrefs = COND_SHARED;
}

static void wait_theirs_thread(void *argument, int thread)
{
	pthread_mutex_t *m = &world->mutex;
	pthread_condattr_t attr;

	(void)argument, (void)thread;
	expect("wait", pthread_cond_wait(cond, m), EOWNERDEAD);
	expect("timedwait", pthread_cond_timedwait(cond, m, &soon), EOWNERDEAD);
	expect("clockwait", pthread_cond_clockwait(cond, m, CLOCK_MONOTONIC, &soon),
	       EOWNERDEAD);
	expect("broadcast", pthread_cond_broadcast(cond), 0);
	expect("destroy", pthread_cond_destroy(cond), 0);
	pthread_condattr_init(&attr);
	pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	expect("init", pthread_cond_init(cond, &attr), 0);
	expect("calls", told_theirs, 6);
	see(SAW_TOLD);
}

#endif /* CHECK_INTERPOSER_COND_H */
