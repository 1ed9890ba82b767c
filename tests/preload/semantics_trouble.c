/* SPDX-License-Identifier: MIT */
/* Cancellation, forks, owners, destruction; and what is not pthread_mutex. */
#define _GNU_SOURCE
#include "semantics.h"
#include "../harness/hang.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

struct cancelled {
	pthread_mutex_t m;
	pthread_cond_t c;
	bool timed, waiting, signalled;
	int held, reached;
};

static void *try_lock(void *argument)
{
	return (void *)(intptr_t)pthread_mutex_trylock(argument);
}

static void cleanup(void *argument)
{
	struct cancelled *x = argument;
	pthread_t thread;
	void *result;

	/* Held again: another thread does not get it. */
	pthread_create(&thread, NULL, try_lock, &x->m);
	pthread_join(thread, &result);
	x->held = (int)(intptr_t)result;
	pthread_mutex_unlock(&x->m);
}

static void *wait_to_be_cancelled(void *argument)
{
	struct cancelled *x = argument;
	struct timespec late = in_ms(CLOCK_REALTIME, 20000);

	pthread_mutex_lock(&x->m);
	pthread_cleanup_push(cleanup, x);
	x->waiting = true;
	while (!x->signalled)
		if (x->timed)
			pthread_cond_timedwait(&x->c, &x->m, &late);
		else
			pthread_cond_wait(&x->c, &x->m);
	x->reached = 1;
	pthread_cleanup_pop(1);
	return NULL;
}

void cancellation(void)
{
	static const pthread_mutex_t kinds[] = {PTHREAD_MUTEX_INITIALIZER,
						PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
	bool waiting;
	int i;

	printf("-- cancellation\n");
	for (i = 0; i < 4; i++) {
		struct cancelled x = {.m = kinds[i & 1],
				      .c = PTHREAD_COND_INITIALIZER,
				      .timed = i >= 2};
		pthread_t thread;
		void *result;

		pthread_create(&thread, NULL, wait_to_be_cancelled, &x);
		do {
			usleep(1000);
			pthread_mutex_lock(&x.m);
			waiting = x.waiting;
			pthread_mutex_unlock(&x.m);
		} while (!waiting);
		SHOW(pthread_cancel(thread));
		SHOW(pthread_join(thread, &result));
		printf("cancelled %d, held %d, reached %d\n", result == PTHREAD_CANCELED,
		       x.held, x.reached);
		SHOW(pthread_mutex_trylock(&x.m));
		SHOW(pthread_mutex_unlock(&x.m));
	}
}

static pthread_mutex_t fork_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fork_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void forks(void)
{
	pid_t child;
	int status;

	printf("-- fork\n");
	SHOW(pthread_mutex_lock(&fork_mutex));
	SHOW(pthread_mutex_lock(&fork_recursive));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		SHOW(pthread_mutex_trylock(&fork_mutex));
		SHOW(pthread_mutex_unlock(&fork_mutex));
		SHOW(pthread_mutex_lock(&fork_mutex));
		SHOW(pthread_mutex_unlock(&fork_mutex));
		SHOW(pthread_mutex_unlock(&fork_recursive));
		SHOW(pthread_mutex_trylock(&fork_recursive));
		fflush(stdout);
		_exit(3);
	}
	waitpid(child, &status, 0);
	printf("child = %d\n", WEXITSTATUS(status));
	SHOW(pthread_mutex_unlock(&fork_mutex));
	SHOW(pthread_mutex_unlock(&fork_recursive));
}

static int c11_look(void *argument)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	struct timespec bad = {.tv_nsec = -1}, both = {.tv_sec = -1, .tv_nsec = -1};

	SHOW11(mtx_trylock(argument));
	SHOW11(mtx_timedlock(argument, &soon));
	SHOW11(mtx_timedlock(argument, &bad));
	SHOW11(mtx_timedlock(argument, &both));
	return 0;
}

void c11(void)
{
	static const int types[] = {mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
				    mtx_timed | mtx_recursive};
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	struct timespec both = {.tv_sec = -1, .tv_nsec = -1};
	thrd_t thread;
	mtx_t m;
	cnd_t c;
	size_t i;

	printf("-- C11\n");
	SHOW11(mtx_init(&m, 77));
	SHOW11(cnd_init(&c));
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		SHOW11(mtx_init(&m, types[i]));
		SHOW11(mtx_lock(&m));
		SHOW11(mtx_trylock(&m));
		if ((types[i] & mtx_recursive) != 0)
			SHOW11(mtx_unlock(&m));
		thrd_create(&thread, c11_look, &m);
		thrd_join(thread, NULL);
		SHOW11(cnd_timedwait(&c, &m, &soon));
		SHOW11(cnd_timedwait(&c, &m, &both));
		SHOW11(cnd_signal(&c));
		SHOW11(cnd_broadcast(&c));
		SHOW11(mtx_unlock(&m));
		if ((types[i] & mtx_recursive) != 0)
			SHOW11(mtx_unlock(&m));
		mtx_destroy(&m);
	}
	cnd_destroy(&c);
}

static void *spin_look(void *argument)
{
	SHOW(pthread_spin_trylock(argument));
	return NULL;
}

void spins(void)
{
	pthread_spinlock_t spin;

	printf("-- spin\n");
	SHOW(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
	SHOW(pthread_spin_lock(&spin));
	elsewhere(spin_look, (void *)(uintptr_t)&spin);
	SHOW(pthread_spin_trylock(&spin));
	SHOW(pthread_spin_unlock(&spin));
	SHOW(pthread_spin_trylock(&spin));
	SHOW(pthread_spin_unlock(&spin));
	SHOW(pthread_spin_destroy(&spin));
}

/* Destroying a mutex that somebody will come back to. */
static void destroy_while_waiting(const char *name, const pthread_mutexattr_t *attr)
{
	pthread_mutex_t m;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct meeting meeting = {&m, &c, 0, 0};
	pthread_t thread;
	int waiting = 0;

	printf("-- destroyed while waiting: %s\n", name);
	SHOW(pthread_mutex_init(&m, attr));
	pthread_create(&thread, NULL, wait_for_go, &meeting);
	while (waiting < 1) {
		usleep(1000);
		pthread_mutex_lock(&m);
		waiting = meeting.waiting;
		pthread_mutex_unlock(&m);
	}
	SHOW(pthread_mutex_destroy(&m));
	if (m.__data.__kind == -1) /* glibc does not ask that of a robust one */
		exit(1);
	pthread_mutex_lock(&m);
	meeting.go = 1;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	pthread_join(thread, NULL);
	SHOW(pthread_mutex_destroy(&m));
}

void destroy_all_kinds_while_waiting(void)
{
	static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				    PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
	pthread_mutexattr_t attr;
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		pthread_mutexattr_init(&attr);
		pthread_mutexattr_settype(&attr, types[i]);
		destroy_while_waiting("plain", &attr);
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
		destroy_while_waiting("priority-inheriting", &attr);
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_NONE);
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
		destroy_while_waiting("process-shared", &attr);
	}
}

/* A wait with a mutex of any kind that is not the caller's. */
void wait_unowned(void)
{
	static const int types[] = {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_mutexattr_t attr;
	pthread_mutex_t m;
	size_t i;
	int more;

	printf("-- waits with what is not held\n");
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		for (more = 0; more < 4; more++) {
			pthread_mutexattr_init(&attr);
			pthread_mutexattr_settype(&attr, types[i]);
			if (more == 1)
				pthread_mutexattr_setprotocol(&attr,
							      PTHREAD_PRIO_INHERIT);
			if (more == 2)
				pthread_mutexattr_setpshared(&attr,
							     PTHREAD_PROCESS_SHARED);
			if (more == 3)
				pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
			SHOW(pthread_mutex_init(&m, &attr));
			SHOW(pthread_cond_wait(&c, &m));
			SHOW(pthread_mutex_destroy(&m));
			SHOW(pthread_cond_wait(&c, &m));
		}
}

/* What programs read in a mutex that has an owner. */
static void print_owner(const char *when, const pthread_mutex_t *m)
{
	printf("%s: count %u, owner is %s\n", when, m->__data.__count,
	       m->__data.__owner == 0	       ? "nobody"
	       : m->__data.__owner == gettid() ? "me"
					       : "somebody");
}

static void *look_at_owner(void *m)
{
	print_owner("elsewhere", m);
	return NULL;
}

void owners(void)
{
	static pthread_mutex_t kinds[] = {PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
					  PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	size_t i;
	pid_t child;

	printf("-- owners\n");
	for (i = 0; i < 2; i++) {
		pthread_mutex_t *m = &kinds[i];

		print_owner("at first", m);
		SHOW(pthread_mutex_lock(m));
		print_owner("locked", m);
		elsewhere(look_at_owner, m);
		SHOW(pthread_mutex_trylock(m));
		SHOW(pthread_mutex_lock(m));
		print_owner("again", m);
		SHOW(pthread_cond_timedwait(&c, m, &soon));
		print_owner("after a wait", m);
		fflush(stdout);
		child = _Fork(); /* no handler tells us */
		if (child == 0) {
			print_owner("in a child", m);
			SHOW(pthread_mutex_unlock(m));
			*m = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
			SHOW(pthread_mutex_lock(m));
			print_owner("in a child, anew", m);
			SHOW(pthread_mutex_unlock(m));
			fflush(stdout);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		while (pthread_mutex_unlock(m) == 0)
			print_owner("unlocked", m);
		SHOW(pthread_mutex_trylock(m));
		print_owner("tried", m);
		SHOW(pthread_mutex_unlock(m));
	}
}

/* A thread that locked twice sleeps until a signal handler unlocks for it; the
 * second unlock of its own finds nothing to unlock. */
static pthread_mutex_t twice = PTHREAD_MUTEX_INITIALIZER;

static void unlock_twice(int signal)
{
	(void)signal;
	pthread_mutex_unlock(&twice);
}

static void *lock_once(void *argument)
{
	SHOW(pthread_mutex_lock(&twice));
	SHOW(pthread_mutex_unlock(&twice));
	return argument;
}

void unlocked_by_a_handler(void)
{
	printf("-- unlocked by a handler\n");
	signal(SIGALRM, unlock_twice);
	SHOW(pthread_mutex_lock(&twice));
	ualarm(20000, 0);
	SHOW(pthread_mutex_lock(&twice));
	SHOW(pthread_mutex_trylock(&twice));
	SHOW(pthread_mutex_unlock(&twice));
	SHOW(pthread_mutex_unlock(&twice));
	elsewhere(lock_once, NULL);
	lock_once(NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(HANG_GUARD_S);
}

/* A thread ends, or is ended, while it holds a mutex that others wait for; another
 * one unlocks it then. */
struct bequest {
	pthread_mutex_t m;
	pthread_t heirs[2];
	bool cancelled;
	volatile bool ready;
};

static void *inherit(void *argument)
{
	pthread_mutex_t *m = argument;
	struct timespec late = in_ms(CLOCK_REALTIME, 20000);

	if (pthread_mutex_timedlock(m, &late) != 0)
		return (void *)1;
	pthread_mutex_unlock(m);
	return NULL;
}

static void *die_with_heirs(void *argument)
{
	struct bequest *b = argument;
	int i;

	pthread_mutex_lock(&b->m);
	for (i = 0; i < 2; i++)
		pthread_create(&b->heirs[i], NULL, inherit, &b->m);
	usleep(10000); /* likely asleep by now, but it does not matter */
	b->ready = true;
	while (b->cancelled)
		pause();
	return NULL;
}

void bequests(void)
{
	void *result;
	int i, n;

	printf("-- ended while holding\n");
	for (i = 0; i < 2; i++) {
		struct bequest b = {.m = PTHREAD_MUTEX_INITIALIZER, .cancelled = i == 1};
		pthread_t thread;

		pthread_create(&thread, NULL, die_with_heirs, &b);
		if (b.cancelled) {
			while (!b.ready)
				usleep(1000);
			SHOW(pthread_cancel(thread));
		}
		SHOW(pthread_join(thread, NULL));
		SHOW(pthread_mutex_trylock(&b.m));
		SHOW(pthread_mutex_destroy(&b.m));
		SHOW(pthread_mutex_unlock(&b.m));
		for (n = 0; n < 2; n++) {
			SHOW(pthread_join(b.heirs[n], &result));
			printf("inherited: %d\n", (int)(intptr_t)result);
		}
		SHOW(pthread_mutex_lock(&b.m));
		SHOW(pthread_mutex_unlock(&b.m));
	}
}
