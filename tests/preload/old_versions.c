/* SPDX-License-Identifier: MIT */
/*
 * A program linked against the oldest versions of the symbols there are: it must
 * get the same functions, and they must work together.
 */
#define _GNU_SOURCE
#include "../harness/hang.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OLD(name) __asm__(".symver " #name ", " #name "@GLIBC_2.2.5")
OLD(pthread_mutex_init);
OLD(pthread_mutex_lock);
OLD(pthread_mutex_trylock);
OLD(pthread_mutex_timedlock);
OLD(pthread_mutex_unlock);
OLD(pthread_mutex_destroy);
OLD(pthread_cond_init);
OLD(pthread_cond_wait);
OLD(pthread_cond_timedwait);
OLD(pthread_cond_signal);
OLD(pthread_cond_broadcast);
OLD(pthread_cond_destroy);
OLD(pthread_spin_lock);
OLD(pthread_rwlock_rdlock);
OLD(pthread_rwlock_unlock);
extern int __pthread_rwlock_wrlock(pthread_rwlock_t *);
OLD(__pthread_rwlock_wrlock);
extern int __pthread_mutex_lock(pthread_mutex_t *);
extern int __pthread_mutex_unlock(pthread_mutex_t *);
OLD(__pthread_mutex_lock);
OLD(__pthread_mutex_unlock);

static const void *const functions[] = {
	(void *)pthread_mutex_init,
	(void *)pthread_mutex_lock,
	(void *)pthread_mutex_trylock,
	(void *)pthread_mutex_timedlock,
	(void *)pthread_mutex_unlock,
	(void *)pthread_mutex_destroy,
	(void *)pthread_cond_init,
	(void *)pthread_cond_wait,
	(void *)pthread_cond_timedwait,
	(void *)pthread_cond_signal,
	(void *)pthread_cond_broadcast,
	(void *)pthread_cond_destroy,
	(void *)(uintptr_t)pthread_spin_lock,
	(void *)pthread_rwlock_rdlock,
	(void *)pthread_rwlock_unlock,
	(void *)__pthread_rwlock_wrlock,
	(void *)__pthread_mutex_lock,
	(void *)__pthread_mutex_unlock,
};

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static int turn, rounds = 2000, written;

static void *play(void *argument)
{
	int side = (int)(intptr_t)argument, i;

	for (i = 0; i < rounds; i++) {
		if (i % 2 == 0)
			pthread_mutex_lock(&m);
		else
			__pthread_mutex_lock(&m);
		while (turn != side)
			pthread_cond_wait(&c, &m);
		turn = 1 - side;
		pthread_cond_broadcast(&c);
		pthread_mutex_unlock(&m);
		if (__pthread_rwlock_wrlock(&rw) == 0)
			written++;
		pthread_rwlock_unlock(&rw);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	size_t i;

	alarm(HANG_GUARD_S);
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		Dl_info info;

		if (dladdr(functions[i], &info) == 0 ||
		    strstr(info.dli_fname, "libpawl-pthread.so") == NULL) {
			printf("function %zu is not ours\n", i);
			return 1;
		}
	}
	if (pthread_create(&thread, NULL, play, (void *)1) != 0)
		return 1;
	play((void *)0);
	pthread_join(thread, NULL);
	return pthread_rwlock_rdlock(&rw) != 0 || written != 2 * rounds;
}
