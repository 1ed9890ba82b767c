/* SPDX-License-Identifier: MIT */
/* The mutex of the C library, normal and adaptive. */
#define _GNU_SOURCE
#include "subject.h"

#include <pthread.h>

_Static_assert(sizeof(pthread_mutex_t) <= BENCH_LOCK_BYTES, "fits");

static void init(void *l)
{
	*(pthread_mutex_t *)l = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void init_adaptive(void *l)
{
	*(pthread_mutex_t *)l = (pthread_mutex_t)PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
}

static void lock(void *l)
{
	pthread_mutex_lock(l);
}

static void unlock(void *l)
{
	pthread_mutex_unlock(l);
}

DEFINE_SUBJECT_LOOPS(pthread, lock, unlock);

const struct bench_subject bench_pthread = {.name = "pthread",
					    SUBJECT_LOOPS(pthread),
					    .lock = lock,
					    .unlock = unlock,
					    .size = sizeof(pthread_mutex_t),
					    .init = init};
const struct bench_subject bench_pthread_adaptive = {.name = "pthread-adaptive",
						     SUBJECT_LOOPS(pthread),
						     .lock = lock,
						     .unlock = unlock,
						     .size = sizeof(pthread_mutex_t),
						     .init = init_adaptive};
