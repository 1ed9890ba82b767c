/* SPDX-License-Identifier: MIT */
/*
 * Two threads whose first calls come at once, in a constructor that runs before the
 * interposer's: both are inside its start when the first goes on, and the second goes on
 * when the first has locked for a while. Knows of pawl only that it asks for the number of
 * the process then.
 */
#define _GNU_SOURCE
#include "../harness/hang.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EARLY = 100, HELD_US = 3000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int inside, locked, about_to_wait;

int library_locked(void);

static void await(atomic_int *word, int value)
{
	while (atomic_load(word) < value)
		sched_yield();
}

/* Instead of the C library's. */
pid_t getpid(void)
{
	switch (atomic_fetch_add(&inside, 1)) {
	case 0:
		await(&inside, 2);
		break;
	case 1:
		await(&locked, EARLY);
	}
	return (pid_t)syscall(SYS_getpid);
}

static void *lock_early(void *argument)
{
	int i;

	for (i = 0; i < EARLY; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		atomic_fetch_add(&locked, 1);
	}
	return argument;
}

static void *wait_once(void *argument)
{
	atomic_store(&about_to_wait, 1);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return argument;
}

static pthread_t start(void *(*function)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, NULL) != 0)
		_exit(1);
	return thread;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;

	alarm(HANG_GUARD_S);
	thread = start(lock_early);
	lock_early(NULL);
	pthread_join(thread, NULL);
	/* What nobody waits for is not shown. */
	pthread_mutex_lock(&mutex);
	thread = start(wait_once);
	await(&about_to_wait, 1);
	usleep(HELD_US);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

int library_locked(void)
{
	return locked;
}
