/* SPDX-License-Identifier: MIT */
/* A library that locks, waits and starts a thread in its constructor. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int errors, ready;

int library_errors(void);

static void *help(void *argument)
{
	pthread_mutex_lock(&m);
	ready = 1;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	return argument;
}

static void nothing(void)
{
}

__attribute__((constructor(101))) static void begin(void)
{
	pthread_t thread;

	errors += pthread_atfork(nothing, nothing, nothing) != 0;
	errors += pthread_mutex_lock(&m) != 0;
	errors += pthread_create(&thread, NULL, help, NULL) != 0;
	while (!ready)
		errors += pthread_cond_wait(&c, &m) != 0;
	errors += pthread_mutex_unlock(&m) != 0;
	errors += pthread_join(thread, NULL) != 0;
}

int library_errors(void)
{
	return errors;
}
