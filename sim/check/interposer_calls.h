/* SPDX-License-Identifier: MIT */
/* What programs do with the interposer's mutexes and condition variables; the scenarios
 * of the latter. */
#ifndef CHECK_INTERPOSER_CALLS_H
#define CHECK_INTERPOSER_CALLS_H

#include "interposer_world.h"

enum {
	SAW_LOCKED,
	SAW_BUSY,
	SAW_LATE,
	SAW_BAD_TIME,
	SAW_BUSY_DESTROY,
	SAW_DESTROYED,
	SAW_TOLD,
	SAW_CANCELLED,
	SAW_REFUSED,
	SAW_WRITTEN,
};

static const char *const sight_names[] = {
	[SAW_LOCKED] = "a lock that returns 0",
	[SAW_BUSY] = "EBUSY from trylock",
	[SAW_LATE] = "ETIMEDOUT",
	[SAW_BAD_TIME] = "EINVAL for the time",
	[SAW_BUSY_DESTROY] = "EBUSY from destroy",
	[SAW_DESTROYED] = "a destroy that returns 0",
	[SAW_TOLD] = "a wait that is told",
	[SAW_CANCELLED] = "a waiter that is cancelled",
	[SAW_REFUSED] = "a wait that glibc refuses",
	[SAW_WRITTEN] = "a reader behind a writer",
};

static const struct timespec soon = {.tv_sec = 1}, no_time = {.tv_nsec = 1000000000};

static int lock(void)
{
	return pthread_mutex_lock(&world->mutex);
}

static int try(void)
{
	return pthread_mutex_trylock(&world->mutex);
}

static int lock_soon(void)
{
	return pthread_mutex_timedlock(&world->mutex, &soon);
}

static int unlock(void)
{
	return pthread_mutex_unlock(&world->mutex);
}

/* Inside: alone, and sees what the last one left. */
static void begin_section(int result)
{
	expect("lock", result, 0);
	see(SAW_LOCKED);
	world->inside++;
}

static void end_section(void)
{
	expect("unlock", unlock(), 0);
}

static void pass(int result)
{
	begin_section(result);
	end_section();
}

static void saw(void *argument)
{
	(void)argument;
	scenario_saw(seen);
}

static void notes_in_the_end(void *argument)
{
	saw(argument);
	notes_add_up();
}

static void set_up_normal(void *argument)
{
	(void)argument;
	set_up_with(PTHREAD_MUTEX_TIMED_NP);
}

/* Condition variables. */

static int wait_for_it(void)
{
	return pthread_cond_wait(cond, &world->mutex);
}

static int wait_in_time(void)
{
	return pthread_cond_timedwait(cond, &world->mutex, &soon);
}

/* Inside: waits until something is ready, or gives up. */
static void await_ready(int (*wait)(void))
{
	int error = 0;

	while (world->ready == 0 && error == 0)
		error = wait();
	if (error == ETIMEDOUT) {
		see(SAW_LATE);
	} else {
		expect("wait", error, 0);
		world->ready--;
		see(SAW_TOLD);
	}
	world->served++;
}

static void tell_inside(int (*tell)(pthread_cond_t *))
{
	expect("lock", lock(), 0);
	world->ready++;
	expect("tell", tell(cond), 0);
	expect("unlock", unlock(), 0);
}

/* Tells after it has left; or inside, to keep the search short when nothing else moves:
 * whoever waits is asleep then, and is moved to the mutex's queue. */
static void make_ready(int (*tell)(pthread_cond_t *))
{
	if (sim_one_in(2)) {
		explore_await_quiet();
		tell_inside(tell);
		return;
	}
	expect("lock", lock(), 0);
	world->ready++;
	expect("unlock", unlock(), 0);
	expect("tell", tell(cond), 0);
}

static void signal_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		make_ready(pthread_cond_signal);
		return;
	}
	expect("lock", lock(), 0);
	await_ready(wait_for_it);
	expect("trylock inside", try(), EBUSY);
	expect("unlock", unlock(), 0);
}

/* wait-inside: in all its ways. */
static void inside_thread(void *argument, int thread)
{
	if (thread == 0)
		tell_inside(pthread_cond_signal);
	else
		signal_thread(argument, thread);
}

static void signal_timed_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		make_ready(pthread_cond_signal);
		return;
	}
	expect("lock", lock(), 0);
	expect("wait by no clock",
	       pthread_cond_clockwait(cond, &world->mutex, CLOCK_BOOTTIME, &soon),
	       EINVAL);
	expect("wait until no time",
	       pthread_cond_timedwait(cond, &world->mutex, &no_time), EINVAL);
	await_ready(wait_in_time);
	expect("unlock", unlock(), 0);
}

/* wait-errorcheck: only who has the mutex may wait, and has it afterwards. */
static void wait_errorcheck_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		if (sim_one_in(2))
			expect("wait outside", wait_for_it(), EPERM);
		make_ready(pthread_cond_broadcast);
		return;
	}
	expect("lock", lock(), 0);
	await_ready(wait_for_it);
	expect("lock inside", lock(), EDEADLK);
	expect("unlock", unlock(), 0);
	expect("unlock outside", unlock(), EPERM);
}

/* wait-recursive: locked once, it is let go of; locked twice, it is not, and nobody else
 * comes in. */
static void wait_recursive_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		make_ready(pthread_cond_broadcast);
		return;
	}
	expect("lock", lock(), 0);
	await_ready(wait_for_it);
	expect("lock inside", lock(), 0);
	expect("unlock", unlock(), 0);
	expect("unlock", unlock(), 0);
	expect("unlock outside", unlock(), EPERM);
}

static void wait_deep_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		sim_await(SIM_AWAIT_EQ, (uint64_t *)cond, 1, 0, SIM_RELAXED);
		expect("trylock of what is not let go of", try(), EBUSY);
		expect("signal", pthread_cond_signal(cond), 0);
		return;
	}
	expect("lock", lock(), 0);
	expect("lock again", lock(), 0);
	expect("wait", wait_for_it(), 0);
	see(SAW_TOLD);
	if (world->mutex.__data.__count != 2)
		explore_fail(VERDICT_ASSERTION, "a wait has changed the depth");
	expect("unlock", unlock(), 0);
	expect("unlock", unlock(), 0);
	expect("unlock outside", unlock(), EPERM);
}

/* wait-freed: who has told all may destroy the condition variable, and free it, when it
 * has let go of the mutex. */
static pthread_cond_t *short_lived;

static void set_up_short_lived(void *argument)
{
	(void)argument;
	set_up_with(PTHREAD_MUTEX_TIMED_NP);
	short_lived = explore_allocate(sizeof(*short_lived), 128);
	explore_label(short_lived, "condition");
	cond = short_lived;
}

static void tell_and_free(void)
{
	expect("lock", lock(), 0);
	world->ready++;
	expect("broadcast", pthread_cond_broadcast(cond), 0);
	expect("destroy", pthread_cond_destroy(cond), 0);
	explore_free(short_lived);
	see(SAW_DESTROYED);
	expect("unlock", unlock(), 0);
}

static void wait_freed_thread(void *argument, int thread)
{
	if (thread == 0) {
		/* As make_ready(), or before anybody has come. */
		if (sim_one_in(2))
			explore_await_quiet();
		tell_and_free();
	} else {
		signal_thread(argument, thread);
	}
}

/* wait-busy: the mutex of one who waits is not to be destroyed. */
static void wait_busy_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
		expect("destroy", pthread_mutex_destroy(&world->mutex), EBUSY);
		see(SAW_BUSY_DESTROY);
		make_ready(pthread_cond_signal);
		return;
	}
	expect("lock", lock(), 0);
	pawl_store_release(&world->held, 1);
	await_ready(wait_for_it);
	expect("unlock", unlock(), 0);
	expect("destroy", pthread_mutex_destroy(&world->mutex), 0);
	see(SAW_DESTROYED);
}

/* cancelled: while it sleeps. It has the mutex when its handlers run. */
static void set_up_cancelled(void *argument)
{
	(void)argument;
	set_up_with(PTHREAD_MUTEX_TIMED_NP);
	lives[1].mortal = true;
	sim_before_step = perhaps_be_cancelled;
}

static void be_cancelled(int thread)
{
	expect("lock", lock(), 0);
	if (_setjmp(lives[thread].end) == 0)
		await_ready(wait_for_it);
	if (lives[thread].cancelled) {
		see(SAW_CANCELLED);
		world->served++;
	}
	expect("trylock inside", try(), EBUSY);
	expect("unlock", unlock(), 0);
}

static void cancelled_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		make_ready(pthread_cond_signal);
	else
		be_cancelled(thread);
}

/*
 * passed-on: of two that wait one may be cancelled. There is one signal. Who is told
 * tells the other; who is cancelled does not, so the interposer has to. In passed-on-asleep,
 * to keep the search short, the signal comes when nothing else moves.
 */
static void wait_and_pass_on(int thread)
{
	expect("lock", lock(), 0);
	if (_setjmp(lives[thread].end) != 0) {
		see(SAW_CANCELLED);
	} else {
		while (world->ready == 0)
			expect("wait", wait_for_it(), 0);
		see(SAW_TOLD);
		expect("signal", pthread_cond_signal(cond), 0);
	}
	expect("unlock", unlock(), 0);
}

static void passed_on_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		tell_inside(pthread_cond_signal);
	else
		wait_and_pass_on(thread);
}

static void passed_on_asleep_thread(void *argument, int thread)
{
	if (thread == 0)
		explore_await_quiet();
	passed_on_thread(argument, thread);
}

/* changed: two wait on one condition variable, each with a mutex of its own; who tells
 * both has the first one's. */
static void set_up_changed(void *argument)
{
	(void)argument;
	set_up_with(PTHREAD_MUTEX_TIMED_NP);
	world->second.__data.__kind = PTHREAD_MUTEX_ERRORCHECK_NP;
}

static void changed_thread(void *argument, int thread)
{
	pthread_mutex_t *m = thread == 2 ? &world->second : &world->mutex;

	(void)argument;
	if (thread == 0) {
		sim_await(SIM_AWAIT_EQ, (uint64_t *)cond, 2, 0, SIM_RELAXED);
		explore_await_quiet();
		tell_inside(pthread_cond_broadcast);
		return;
	}
	expect("lock", pthread_mutex_lock(m), 0);
	expect("wait", pthread_cond_wait(cond, m), 0);
	expect("trylock inside", pthread_mutex_trylock(m), EBUSY);
	see(SAW_TOLD);
	expect("unlock", pthread_mutex_unlock(m), 0);
}

/* stray: a condition variable that processes share, with a mutex of ours. */
static void set_up_stray(void *argument)
{
	(void)argument;
	set_up_with(PTHREAD_MUTEX_TIMED_NP);
	cond->__data.__wrefs = COND_SHARED;
}

/*
 * stray-timed: the waiter may give up, and the signal may be for another condition variable.
 * A signal for another one never ends the wait with 0.
 */
static void stray_timed_thread(void *argument, int thread)
{
	int error;

	(void)argument;
	if (thread == 0) {
		if (sim_one_in(2)) {
			explore_await_quiet();
			tell_inside(pthread_cond_broadcast);
		} else {
			expect("signal another", pthread_cond_signal(&world->other), 0);
		}
		return;
	}
	expect("lock", lock(), 0);
	if (world->ready == 0) {
		error = wait_in_time();
		if (error == 0 && world->ready == 0)
			explore_fail(VERDICT_ASSERTION, "woken for another's signal");
		see(error == 0 ? SAW_TOLD : SAW_LATE);
		if (error != 0)
			expect("wait", error, ETIMEDOUT);
	}
	expect("unlock", unlock(), 0);
}

static void set_up_stray_timed(void *argument)
{
	set_up_stray(argument);
	world->other.__data.__wrefs = COND_SHARED;
}

/* stray-freed: the one waiter frees the condition variable when the signal has come. */
static void set_up_stray_freed(void *argument)
{
	set_up_short_lived(argument);
	cond->__data.__wrefs = COND_SHARED;
}

static void stray_freed_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		explore_await_quiet();
		expect("signal", pthread_cond_signal(cond), 0);
		return;
	}
	expect("lock", lock(), 0);
	expect("wait", wait_for_it(), 0);
	see(SAW_TOLD);
	expect("unlock", unlock(), 0);
	explore_free(short_lived);
}

static void all_told_theirs(void *argument)
{
	saw(argument);
	if (told_theirs != 1)
		explore_fail(VERDICT_ASSERTION, "glibc was told %d times", told_theirs);
}

/* theirs: a mutex that is glibc's, with a condition variable of ours. */
static void set_up_theirs(void *argument)
{
	(void)argument;
	set_up_with(KIND_INHERITS);
}

static void set_up_protects(void *argument)
{
	(void)argument;
	set_up_with(KIND_PROTECTS);
}

static void set_up_robust(void *argument)
{
	(void)argument;
	set_up_with(KIND_ROBUST);
}

static void theirs_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		if (sim_one_in(2))
			expect("wait outside", wait_for_it(), EPERM);
		make_ready(pthread_cond_signal);
		return;
	}
	expect("lock", lock(), 0);
	await_ready(sim_one_in(2) ? wait_in_time : wait_for_it);
	expect("unlock", unlock(), 0);
}

/* theirs-refuses: glibc does not unlock after all. A signal that came meanwhile goes on
 * to the next, who waits without any condition. */
static void set_up_refuses(void *argument)
{
	(void)argument;
	set_up_with(KIND_INHERITS);
	theirs_refuses = true;
}

static void theirs_refuses_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		expect("lock", lock(), 0);
		expect("wait", wait_for_it(), EPERM);
		see(SAW_REFUSED);
	} else {
		expect("signal", pthread_cond_signal(cond), 0);
	}
}

static void nobody_is_counted(void *argument)
{
	saw(argument);
	if (explore_final((uint64_t *)cond) != 0)
		explore_fail(VERDICT_ASSERTION, "waiters are counted that are gone");
}

#endif /* CHECK_INTERPOSER_CALLS_H */
