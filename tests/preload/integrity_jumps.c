/* SPDX-License-Identifier: MIT */
/* Jumps out of a wait, and asynchronous cancellation, which leaves it likewise. */
#define _GNU_SOURCE
#include "../harness/hang.h"
#include "integrity.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/*
 * An old program's time limit: jumps out of a blocked lock, and goes on, with the
 * mutex as it is or made anew.
 */
static sigjmp_buf way_out;
static struct shared jumped;
static volatile pid_t jumper;
static volatile bool let_go;

static void jump(int signal)
{
	(void)signal;
	siglongjmp(way_out, 1);
}

static void *hold_and_interrupt(void *argument)
{
	pthread_t victim = *(pthread_t *)argument;

	pthread_mutex_lock(&jumped.m);
	jumper = 0;
	while (jumper == 0 || !is_asleep(jumper))
		sched_yield();
	pthread_kill(victim, SIGUSR1);
	while (!let_go)
		sched_yield();
	pthread_mutex_unlock(&jumped.m);
	return NULL;
}

/* On a stack of its own depth, where somebody else's frames come later. */
static __attribute__((noinline)) void block_and_jump(int depth)
{
	volatile char room[512];

	memset((void *)(uintptr_t)room, depth, sizeof(room));
	if (depth > 0) {
		block_and_jump(depth - 1);
		return;
	}
	if (sigsetjmp(way_out, 1) == 0) {
		jumper = gettid();
		pthread_mutex_lock(&jumped.m);
		CHECK(!"the lock was free");
	}
}

void jumps(void)
{
	pthread_t self = pthread_self(), holder;
	struct sigaction action;
	int i;

	memset(&action, 0, sizeof(action));
	action.sa_handler = jump;
	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < effort; i++) {
		jumped = (struct shared){.m = PTHREAD_MUTEX_INITIALIZER,
					 .c = PTHREAD_COND_INITIALIZER};
		let_go = false;
		jumper = -1;
		start_all(&holder, 1, hold_and_interrupt, &self);
		while (jumper != 0)
			sched_yield();
		block_and_jump(i % 8);
		if (i % 2 == 0) { /* it is the holder's still, and free in the end */
			let_go = true;
			join_all(&holder, 1);
			run_for(5, 3, hammer, &jumped);
		} else { /* the holder's no longer */
			CHECK(pthread_mutex_init(&jumped.m, NULL) == 0);
			run_for(5, 3, hammer, &jumped);
			CHECK(pthread_mutex_lock(&jumped.m) == 0); /* for the holder */
			let_go = true;
			join_all(&holder, 1);
		}
		CHECK(jumped.sum == jumped.counted);
		CHECK(pthread_mutex_lock(&jumped.m) == 0);
		CHECK(pthread_mutex_unlock(&jumped.m) == 0);
	}
}

/*
 * Jumps out of a condition wait. The signal that had reached the waiter, which is in the
 * queue of its mutex by then, or one that comes later, reaches another waiter.
 */
struct waiting {
	volatile pid_t thread;
};
static struct waiting first, second;
static volatile bool is_said; /* what both wait for */

static void *wait_or_jump(void *unused)
{
	if (sigsetjmp(way_out, 1) == 0) {
		first.thread = gettid();
		CHECK(pthread_mutex_lock(&jumped.m) == 0);
		while (!is_said)
			CHECK(pthread_cond_wait(&jumped.c, &jumped.m) == 0);
		CHECK(!"nobody has jumped");
	}
	return unused;
}

static void *wait_behind(void *unused)
{
	second.thread = gettid();
	CHECK(pthread_mutex_lock(&jumped.m) == 0);
	while (!is_said)
		CHECK(pthread_cond_wait(&jumped.c, &jumped.m) == 0);
	CHECK(pthread_mutex_unlock(&jumped.m) == 0);
	return unused;
}

static void start_asleep(pthread_t *thread, void *(*run)(void *), struct waiting *w)
{
	w->thread = 0;
	start_all(thread, 1, run, NULL);
	while (w->thread == 0 || !is_asleep(w->thread))
		sched_yield();
}

void jumps_from_cond(void)
{
	struct sigaction action;
	pthread_t waiter, behind;
	int i;

	memset(&action, 0, sizeof(action));
	action.sa_handler = jump;
	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < effort; i++) {
		bool early = i % 2 == 0;

		jumped = (struct shared){.m = PTHREAD_MUTEX_INITIALIZER,
					 .c = PTHREAD_COND_INITIALIZER};
		is_said = false;
		if (early) { /* the one that came last is signalled first */
			start_asleep(&behind, wait_behind, &second);
			start_asleep(&waiter, wait_or_jump, &first);
		} else {
			start_asleep(&waiter, wait_or_jump, &first);
			start_asleep(&behind, wait_behind, &second);
		}
		CHECK(pthread_mutex_lock(&jumped.m) == 0);
		is_said = true;
		if (early)
			CHECK(pthread_cond_signal(&jumped.c) == 0);
		CHECK(pthread_kill(waiter, SIGUSR1) == 0);
		CHECK(pthread_join(waiter, NULL) == 0);
		if (!early)
			CHECK(pthread_cond_signal(&jumped.c) == 0);
		CHECK(pthread_mutex_unlock(&jumped.m) == 0);
		CHECK(pthread_join(behind, NULL) == 0);
		run_for(5, 3, hammer, &jumped);
		CHECK(jumped.sum == jumped.counted);
	}
}

/*
 * A thread with asynchronous cancellation is cancelled while it is blocked: it leaves the
 * queue, in which another one is behind it, before its stack is used for something else.
 */
static void *lock_to_be_cancelled(void *unused)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	first.thread = gettid();
	pthread_mutex_lock(&jumped.m);
	CHECK(!"the lock was free");
	return unused;
}

static void *lock_behind(void *unused)
{
	second.thread = gettid();
	CHECK(pthread_mutex_lock(&jumped.m) == 0);
	CHECK(pthread_mutex_unlock(&jumped.m) == 0);
	return unused;
}

static void *overwrite_stack(void *unused)
{
	volatile char room[8192];

	memset((void *)(uintptr_t)room, 0x5a, sizeof(room));
	return unused;
}

void cancels_at_once(void)
{
	pthread_t victim, behind, other;
	void *result;
	int i;

	for (i = 0; i < effort; i++) {
		jumped = (struct shared){.m = PTHREAD_MUTEX_INITIALIZER,
					 .c = PTHREAD_COND_INITIALIZER};
		CHECK(pthread_mutex_lock(&jumped.m) == 0);
		if (i % 2 == 0)
			start_asleep(&behind, lock_behind, &second);
		start_asleep(&victim, lock_to_be_cancelled, &first);
		if (i % 2 != 0)
			start_asleep(&behind, lock_behind, &second);
		CHECK(pthread_cancel(victim) == 0);
		CHECK(pthread_join(victim, &result) == 0);
		CHECK(result == PTHREAD_CANCELED);
		start_all(&other, 1, overwrite_stack, NULL);
		join_all(&other, 1);
		CHECK(pthread_mutex_unlock(&jumped.m) == 0);
		CHECK(pthread_join(behind, NULL) == 0);
		run_for(5, 3, hammer, &jumped);
		CHECK(jumped.sum == jumped.counted);
	}
}

/*
 * Jumps at any moment of a wait, by some processes: what the waiter was about to do, such as
 * a fence that others share, is not left half done, or the process ends with a sentence.
 */
enum {
	JUMPERS = 32,
	JUMPS = 5,
	SOON_NS = 100 * 1000,
	SLOW_NS = 900 * 1000,
	JUMP_NS = 2 * 1000 * 1000
};
static volatile bool jumps_enough;
static volatile sig_atomic_t may_jump;

static void jump_if_waiting(int signal)
{
	if (may_jump) {
		may_jump = 0;
		jump(signal);
	}
}

static void *interrupt_often(void *victim)
{
	unsigned seed = 1;

	while (!jumps_enough) {
		const struct timespec pause = {.tv_nsec = rand_r(&seed) % JUMP_NS};

		nanosleep(&pause, NULL);
		pthread_kill(*(pthread_t *)victim, SIGUSR1);
	}
	return NULL;
}

static struct timespec in(long ns)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_sec += (time.tv_nsec + ns) / 1000000000;
	time.tv_nsec = (time.tv_nsec + ns) % 1000000000;
	return time;
}

static void *jump_often(void *argument)
{
	const struct timespec late = in(1000000000);
	pthread_t self = pthread_self(), other;
	volatile int i;

	jumps_enough = false;
	start_all(&other, 1, interrupt_often, &self);
	for (i = 0; i < JUMPS; i++)
		if (sigsetjmp(way_out, 1) == 0) {
			may_jump = 1;
			pthread_mutex_timedlock(&jumped.m, &late);
			may_jump = 0;
		}
	jumps_enough = true;
	join_all(&other, 1);
	return argument;
}

/* Who waits in vain for a fence that is under way takes longer. Once will do: the machine
 * may be busy. */
static void *sleep_quickly(void *argument)
{
	struct timespec soon, late, now;
	int tries = 200;

	do {
		soon = in(SOON_NS);
		late = in(SLOW_NS);
		CHECK(pthread_mutex_timedlock(&jumped.m, &soon) == ETIMEDOUT);
		now = in(0);
		CHECK(tries-- > 0);
	} while (now.tv_sec > late.tv_sec ||
		 (now.tv_sec == late.tv_sec && now.tv_nsec > late.tv_nsec));
	return argument;
}

static void jump_about(void)
{
	pthread_t thread;

	CHECK(pthread_mutex_lock(&jumped.m) == 0);
	start_all(&thread, 1, jump_often, NULL);
	join_all(&thread, 1);
	start_all(&thread, 1, sleep_quickly, NULL);
	join_all(&thread, 1);
	CHECK(pthread_mutex_unlock(&jumped.m) == 0);
	run_for(5, 3, hammer, &jumped);
	CHECK(jumped.sum == jumped.counted);
}

/* Runs jump_about in a child: true if that ended well, false if it ended with the sentence
 * that the interposer has for it. */
static bool child_ends_well(void)
{
	char said[512] = "";
	int out[2], status;
	pid_t child;

	CHECK(pipe(out) == 0);
	child = fork();
	if (child == 0) {
		alarm(HANG_GUARD_S);
		dup2(out[1], STDERR_FILENO);
		jump_about();
		_exit(0);
	}
	close(out[1]);
	CHECK(read(out[0], said, sizeof(said) - 1) >= 0);
	close(out[0]);
	CHECK(waitpid(child, &status, 0) == child);
	if (status != 0)
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
		      strstr(said, "jumped (longjmp) out of a lock function") != NULL);
	return status == 0;
}

void jumps_about(void)
{
	struct sigaction action;
	int i, well = 0;

	memset(&action, 0, sizeof(action));
	action.sa_handler = jump_if_waiting;
	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < JUMPERS; i++)
		well += child_ends_well();
	CHECK(well > 0);
}
