/* SPDX-License-Identifier: MIT */
/*
 * Uses every mutex, cond and spin lock function, and prints what each call
 * returned: run with and without the interposer, it must print the same. Each
 * call also leaves errno as it was.
 */
#define _GNU_SOURCE
#include "semantics.h"
#include "../harness/hang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void print(const char *what, int result)
{
	const char *name = result == 0 ? "0" : strerrorname_np(result);

	if (name != NULL)
		printf("%s = %s%s\n", what, name, errno == MARK ? "" : " (errno)");
	else
		printf("%s = %d%s\n", what, result, errno == MARK ? "" : " (errno)");
	errno = MARK;
}

/* C11's results are numbers of their own. */
void print11(const char *what, int result)
{
	printf("%s = %d%s\n", what, result, errno == MARK ? "" : " (errno)");
	errno = MARK;
}

struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms * 1000000;
	while (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	while (t.tv_nsec < 0) {
		t.tv_nsec += 1000000000;
		t.tv_sec--;
	}
	return t;
}

/* Runs a function in another thread, to its end. */
void elsewhere(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argument) != 0)
		abort();
	pthread_join(thread, NULL);
}

/* What a thread that does not hold the mutex sees of it. */
static void *look(void *argument)
{
	pthread_mutex_t *m = argument;
	struct timespec past = {.tv_sec = 1}, bad = {.tv_nsec = 1000000000};
	struct timespec bad2 = {.tv_nsec = -1}, negative = {.tv_sec = -5};
	struct timespec both = {.tv_sec = -1, .tv_nsec = -1};
	struct timespec soon = in_ms(CLOCK_REALTIME, 20);
	struct timespec soon2 = in_ms(CLOCK_MONOTONIC, 20);

	SHOW(pthread_mutex_trylock(m));
	SHOW(pthread_mutex_timedlock(m, &past));
	SHOW(pthread_mutex_timedlock(m, &negative));
	SHOW(pthread_mutex_timedlock(m, &bad));
	SHOW(pthread_mutex_timedlock(m, &bad2));
	SHOW(pthread_mutex_timedlock(m, &both));
	SHOW(pthread_mutex_timedlock(m, &soon));
	SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon2));
	SHOW(pthread_mutex_clocklock(m, CLOCK_REALTIME, &past));
	SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &bad));
	SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &both));
	SHOW(pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &soon));
	SHOW(pthread_mutex_clocklock(m, 99, &soon));
	return NULL;
}

void *unlock(void *argument)
{
	SHOW(pthread_mutex_unlock(argument));
	return NULL;
}

/* A lock that comes after the holder lets go, within its time. */
static void *lock_in_time(void *argument)
{
	pthread_mutex_t *m = argument;
	struct timespec late = in_ms(CLOCK_REALTIME, 20000);
	struct timespec late2 = in_ms(CLOCK_MONOTONIC, 20000);

	SHOW(pthread_mutex_timedlock(m, &late));
	SHOW(pthread_mutex_unlock(m));
	SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &late2));
	SHOW(pthread_mutex_unlock(m));
	return NULL;
}

void wait_with(pthread_mutex_t *m, pthread_cond_t *c);

/* Every call on a mutex that is unlocked, of any type but normal's deadlock. */
void use(pthread_mutex_t *m, bool relock, bool checks_owner)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	struct timespec soon2 = in_ms(CLOCK_MONOTONIC, 10);
	struct timespec bad = {.tv_nsec = -1};
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_t thread;
	int ceiling;

	SHOW(pthread_mutex_lock(m));
	elsewhere(look, m);
	if (checks_owner)
		elsewhere(unlock, m);
	SHOW(pthread_mutex_trylock(m));
	if (relock) {
		SHOW(pthread_mutex_lock(m));
		SHOW(pthread_mutex_timedlock(m, &soon));
		SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon2));
		SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &bad));
	} else {
		SHOW(pthread_mutex_timedlock(m, &soon));
		SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon2));
	}
	SHOW(pthread_mutex_destroy(m));
	SHOW(pthread_mutex_unlock(m));
	/* glibc destroys some kinds although they are held. What follows would then
	 * go on without a mutex, and now and then for ever. */
	if (m->__data.__kind == -1)
		return;
	if (relock) {
		SHOW(pthread_mutex_unlock(m));
		SHOW(pthread_mutex_unlock(m));
		SHOW(pthread_mutex_unlock(m));
		SHOW(pthread_mutex_unlock(m));
		if (checks_owner)
			SHOW(pthread_mutex_unlock(m));
	}
	if (checks_owner) {
		SHOW(pthread_mutex_unlock(m));
		SHOW(pthread_cond_wait(&c, m));
	}
	SHOW(pthread_mutex_timedlock(m, &bad));
	SHOW(pthread_mutex_unlock(m));
	SHOW(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &bad));
	SHOW(pthread_mutex_unlock(m));
	SHOW(pthread_mutex_trylock(m));
	if (pthread_create(&thread, NULL, lock_in_time, m) != 0)
		abort();
	usleep(30000);
	fflush(stdout);
	pthread_mutex_unlock(m);
	pthread_join(thread, NULL);
	wait_with(m, &c);
	SHOW(pthread_mutex_getprioceiling(m, &ceiling));
	SHOW(pthread_mutex_destroy(m));
	SHOW(pthread_mutex_lock(m));
	SHOW(pthread_mutex_trylock(m));
	SHOW(pthread_mutex_unlock(m));
	SHOW(pthread_mutex_destroy(m));
}

void *wait_for_go(void *argument)
{
	struct meeting *meeting = argument;
	struct timespec late = in_ms(CLOCK_MONOTONIC, 20000);
	int failures = 0;

	pthread_mutex_lock(meeting->m);
	meeting->waiting++;
	while (meeting->go == 0)
		failures |= pthread_cond_clockwait(meeting->c, meeting->m,
						   CLOCK_MONOTONIC, &late);
	meeting->go--;
	pthread_mutex_unlock(meeting->m);
	return (void *)(intptr_t)failures;
}

/* Every way to wait, in time and too late, and every way to be woken. */
void wait_with(pthread_mutex_t *m, pthread_cond_t *c)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	struct timespec soon2 = in_ms(CLOCK_MONOTONIC, 10);
	struct timespec past = {.tv_sec = 1}, bad = {.tv_nsec = 1000000000};
	struct timespec negative = {.tv_sec = -1};
	struct timespec both = {.tv_sec = -1, .tv_nsec = -1};
	struct meeting meeting = {m, c, 0, 0};
	pthread_t threads[3];
	void *failures;
	int i, waiting = 0;

	SHOW(pthread_mutex_lock(m));
	SHOW(pthread_cond_timedwait(c, m, &soon));
	SHOW(pthread_cond_timedwait(c, m, &past));
	SHOW(pthread_cond_timedwait(c, m, &negative));
	SHOW(pthread_cond_timedwait(c, m, &bad));
	SHOW(pthread_cond_timedwait(c, m, &both));
	SHOW(pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &soon2));
	SHOW(pthread_cond_clockwait(c, m, CLOCK_REALTIME, &soon));
	SHOW(pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &bad));
	SHOW(pthread_cond_clockwait(c, m, CLOCK_PROCESS_CPUTIME_ID, &soon));
	SHOW(pthread_mutex_unlock(m));
	SHOW(pthread_cond_signal(c));
	SHOW(pthread_cond_broadcast(c));
	for (i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, wait_for_go, &meeting);
	while (waiting < 3) {
		usleep(1000);
		pthread_mutex_lock(m);
		waiting = meeting.waiting;
		pthread_mutex_unlock(m);
	}
	pthread_mutex_lock(m);
	meeting.go = 1;
	SHOW(pthread_cond_signal(c));
	pthread_mutex_unlock(m);
	usleep(10000);
	pthread_mutex_lock(m);
	meeting.go += 2;
	SHOW(pthread_cond_broadcast(c));
	pthread_mutex_unlock(m);
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], &failures);
		printf("waited = %d\n", (int)(intptr_t)failures);
	}
	SHOW(pthread_cond_destroy(c));
}
int main(void)
{
	alarm(HANG_GUARD_S);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	mutexes_of_all_types();
	static_initialisers();
	objects_of_glibc();
	signals_for_others();
	monotonic_conds();
	recursive_wait();
	overflow();
	cancellation();
	forks();
	c11();
	spins();
	destroy_all_kinds_while_waiting();
	wait_unowned();
	owners();
	unlocked_by_a_handler();
	bequests();
	return 0;
}
