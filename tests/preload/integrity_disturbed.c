/* SPDX-License-Identifier: MIT */
/* Forks, signals, cancellation, exits: what comes between. */
#define _GNU_SOURCE
#include "integrity.h"
#include "../harness/hang.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
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
