/* SPDX-License-Identifier: MIT */
/* Forks, signals, cancellation, jumps, exits: what comes between. */
#define _GNU_SOURCE
#include "integrity.h"
#include "../harness/hang.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>

/*
 * Forks under load. In the child, what the forking thread held can be unlocked
 * and locked again, by new threads too; the table of sleepers is empty.
 */
static struct shared forked = {.m = PTHREAD_MUTEX_INITIALIZER,
			       .c = PTHREAD_COND_INITIALIZER};
static struct shared aside = {.m = PTHREAD_MUTEX_INITIALIZER,
			      .c = PTHREAD_COND_INITIALIZER};

static void before_fork(void)
{
	pthread_mutex_lock(&forked.m);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&forked.m);
}

static void *queue_up(void *argument)
{
	struct shared *s = argument;

	pthread_mutex_lock(&s->m);
	s->sum++;
	pthread_mutex_unlock(&s->m);
	return NULL;
}

static void live_as_child(void)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 5);
	pthread_t threads[3];
	int i;

	alarm(HANG_GUARD_S);
	/* Held by us since before the fork, with the parent's threads queued. */
	start_all(threads, 3, queue_up, &aside);
	usleep(2000);
	pthread_mutex_unlock(&aside.m);
	join_all(threads, 3);
	for (i = 0; i < 5; i++) {
		CHECK(pthread_mutex_lock(&forked.m) == 0);
		CHECK(pthread_cond_timedwait(&forked.c, &forked.m, &soon) == ETIMEDOUT);
		CHECK(pthread_mutex_unlock(&forked.m) == 0);
	}
	stop = false;
	forked.sum = forked.counted = forked.inside = 0;
	run_for(10, 3, hammer, &forked);
	CHECK(forked.sum == forked.counted);
	_exit(0);
}

void forks(void)
{
	pthread_t threads[MOST_THREADS], others[2];
	int i, status;
	pid_t child;

	CHECK(pthread_atfork(before_fork, after_fork, after_fork) == 0);
	stop = false;
	start_all(threads, thread_count, hammer, &forked);
	for (i = 0; i < effort; i++) {
		pthread_mutex_lock(&aside.m);
		start_all(others, 2, queue_up, &aside);
		usleep(3000);
		child = fork();
		CHECK(child >= 0);
		if (child == 0)
			live_as_child();
		pthread_mutex_unlock(&aside.m);
		join_all(others, 2);
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	stop = true;
	join_all(threads, thread_count);
}

/*
 * Cancellation under load: a waiter that is cancelled passes a signal on. Each
 * round has one thread to cancel and one that must be woken by one signal.
 */
struct victim {
	pthread_mutex_t m;
	pthread_cond_t c;
	int waiting, tokens, taken;
};

static void leave(void *argument)
{
	pthread_mutex_unlock(&((struct victim *)argument)->m);
}

static void *want_token(void *argument)
{
	struct victim *v = argument;

	pthread_mutex_lock(&v->m);
	pthread_cleanup_push(leave, v);
	v->waiting++;
	while (v->tokens == 0)
		pthread_cond_wait(&v->c, &v->m);
	v->tokens--;
	v->taken++;
	pthread_cleanup_pop(1);
	return NULL;
}

void cancel(void)
{
	int i, waiting;

	for (i = 0; i < 15 * effort; i++) {
		struct victim v = {.m = PTHREAD_MUTEX_INITIALIZER,
				   .c = PTHREAD_COND_INITIALIZER};
		pthread_t threads[2];
		void *result;

		start_all(threads, 2, want_token, &v);
		do {
			sched_yield();
			pthread_mutex_lock(&v.m);
			waiting = v.waiting;
			pthread_mutex_unlock(&v.m);
		} while (waiting < 2);
		pthread_mutex_lock(&v.m);
		v.tokens = 1;
		if (i % 2 == 0)
			pthread_cancel(threads[0]);
		pthread_cond_signal(&v.c);
		if (i % 2 != 0)
			pthread_cancel(threads[0]);
		pthread_mutex_unlock(&v.m);
		CHECK(pthread_join(threads[0], &result) == 0);
		pthread_mutex_lock(&v.m);
		v.tokens += result != PTHREAD_CANCELED; /* one for the other then */
		if (result != PTHREAD_CANCELED)
			pthread_cond_signal(&v.c);
		pthread_mutex_unlock(&v.m);
		CHECK(pthread_join(threads[1], NULL) == 0); /* or hangs */
		CHECK(v.taken == 1 + (result != PTHREAD_CANCELED));
	}
}

/* Signals all the time: EINTR shows nowhere. */
static void ignore(int signal)
{
	(void)signal;
}

void signals(void)
{
	struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = ignore; /* no SA_RESTART */
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	pingpong();
	broadcast();
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
}

/* Locks in destructors of thread-specific data, after all else is gone. */
static pthread_key_t key;

static void last_words(void *argument)
{
	struct shared *s = argument;
	static __thread bool second_round; /* after the library's destructor */

	if (!second_round) {
		second_round = true;
		CHECK(pthread_setspecific(key, argument) == 0);
		return;
	}
	pthread_mutex_lock(&s->m);
	s->sum++;
	pthread_cond_signal(&s->c);
	pthread_mutex_unlock(&s->m);
}

static void *set_key(void *argument)
{
	pthread_setspecific(key, argument);
	return NULL;
}

void farewell(void)
{
	struct shared s = {.m = PTHREAD_MUTEX_INITIALIZER, .c = PTHREAD_COND_INITIALIZER};
	pthread_t threads[8];
	int i;

	CHECK(pthread_key_create(&key, last_words) == 0);
	for (i = 0; i < 20; i++) {
		start_all(threads, 8, set_key, &s);
		join_all(threads, 8);
	}
	CHECK(s.sum == 160);
}

/* Threads with the smallest stack there is. */
static void *little(void *argument)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 1);
	struct shared *s = argument;

	pthread_mutex_lock(&s->m);
	s->sum++;
	pthread_cond_timedwait(&s->c, &s->m, &soon);
	pthread_mutex_unlock(&s->m);
	return NULL;
}

void small(void)
{
	struct shared s = {.m = PTHREAD_MUTEX_INITIALIZER, .c = PTHREAD_COND_INITIALIZER};
	pthread_attr_t attr;
	pthread_t threads[8];
	int i;

	pthread_attr_init(&attr);
	CHECK(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN) == 0);
	for (i = 0; i < 8; i++)
		CHECK(pthread_create(&threads[i], &attr, little, &s) == 0);
	join_all(threads, 8);
	CHECK(s.sum == 8);
}

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

/* A helper that is left waiting for ever, and its mutex made anew. */
static void *wait_for_ever(void *argument)
{
	struct party *p = argument;

	p->about_to_wait = gettid();
	pthread_mutex_lock(p->m);
	CHECK(!"somebody who was forgotten came in");
	return NULL;
}

void forgotten(void)
{
	static const pthread_mutex_t kinds[] = {PTHREAD_MUTEX_INITIALIZER,
						PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};
	static struct shared s[2];
	static struct party ghosts[2][2];
	pthread_mutexattr_t attr;
	pthread_t ghost;
	int i, n;

	pthread_mutexattr_init(&attr);
	for (i = 0; i < 2; i++) {
		s[i] = (struct shared){.m = kinds[i], .c = PTHREAD_COND_INITIALIZER};
		CHECK(pthread_mutex_lock(&s[i].m) == 0);
		for (n = 0; n < 2; n++) {
			ghosts[i][n].m = &s[i].m;
			start_all(&ghost, 1, wait_for_ever, &ghosts[i][n]);
			while (ghosts[i][n].about_to_wait == 0 ||
			       !is_asleep(ghosts[i][n].about_to_wait))
				sched_yield();
		}
		pthread_mutexattr_settype(&attr, s[i].m.__data.__kind);
		CHECK(pthread_mutex_init(&s[i].m, &attr) == 0);
		run_for(run_ms / 4, 3, hammer, &s[i]);
		CHECK(s[i].sum == s[i].counted);
		CHECK(pthread_mutex_destroy(&s[i].m) == 0);
	}
	_exit(0); /* nobody will join them */
}

/* exit while other threads hold and wait. */
void leave_in_the_middle(void)
{
	pthread_t threads[MOST_THREADS];

	stop = false;
	start_all(threads, thread_count, hammer, &forked);
	usleep(20000);
	exit(0);
}
