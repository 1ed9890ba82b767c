/* SPDX-License-Identifier: MIT */
/*
 * Thread-specific keys of a program whose threads use locks: run with and without the
 * interposer, it must print the same. The first keys are 0, 1, 2; a key that the program
 * did not make is none; and there are as many as PTHREAD_KEYS_MAX.
 */
#define _GNU_SOURCE
#include "check.h"

#include "../harness/hang.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <threads.h>

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int destroyed;

static void use_locks(void)
{
	CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
	CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	CHECK(pthread_mutex_lock(&mutex) == 0);
	CHECK(pthread_mutex_unlock(&mutex) == 0);
}

static void *use_foreign_key(void *argument)
{
	use_locks();
	printf("set %d, get %p\n", pthread_setspecific(0, argument),
	       pthread_getspecific(0));
	return NULL;
}

/* Locks may be used when our exit handler has run. */
static void destroy(void *value)
{
	use_locks();
	++*(int *)value;
}

static void *use_key(void *key)
{
	use_locks();
	CHECK(pthread_setspecific(*(pthread_key_t *)key, &destroyed) == 0);
	return NULL;
}

static void in_a_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, run, argument) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

int main(void)
{
	static pthread_key_t keys[PTHREAD_KEYS_MAX + 1];
	static bool made[PTHREAD_KEYS_MAX];
	int i, count = 0;

	alarm(HANG_GUARD_S);
	use_locks();
	in_a_thread(use_foreign_key, &count);
	while (count <= PTHREAD_KEYS_MAX &&
	       (count % 2 != 0 ? tss_create(&keys[count], destroy) == thrd_success
			       : pthread_key_create(&keys[count], destroy) == 0))
		count++;
	printf("first %u %u %u, %d keys, then %d\n", keys[0], keys[1], keys[2], count,
	       pthread_key_create(&keys[count], NULL));
	for (i = 0; i < count; i++) {
		CHECK(keys[i] < PTHREAD_KEYS_MAX && !made[keys[i]]);
		made[keys[i]] = true;
		CHECK(pthread_getspecific(keys[i]) == NULL);
		in_a_thread(use_key, &keys[i]);
	}
	printf("%d values destroyed\n", destroyed);
	return 0;
}
