/* SPDX-License-Identifier: MIT */
/* The C library's mutex, normal and adaptive, its condition variable, and its read-write
 * lock, of both kinds. */
#define _GNU_SOURCE
#include "rwlock.h"
#include "subject.h"
#include "waits.h"

#include <pthread.h>

_Static_assert(sizeof(pthread_mutex_t) <= BENCH_LOCK_BYTES, "fits");
_Static_assert(sizeof(pthread_cond_t) <= BENCH_LOCK_BYTES, "fits");

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

static void wait(void *c, void *l)
{
	pthread_cond_wait(c, l);
}

static bool wait_for(void *c, void *l, uint64_t ns)
{
	const struct timespec end = waits_time(waits_now() + ns);

	return pthread_cond_clockwait(c, l, CLOCK_MONOTONIC, &end) == 0;
}

static void signal(void *c)
{
	pthread_cond_signal(c);
}

static void broadcast(void *c)
{
	pthread_cond_broadcast(c);
}

static const struct bench_cond_type cond = {
	.wait = wait, .wait_for = wait_for, .signal = signal, .broadcast = broadcast};

DEFINE_SUBJECT_LOOPS(pthread, lock, unlock);

const struct bench_subject bench_pthread = {.name = "pthread",
					    SUBJECT_LOOPS(pthread),
					    .lock = lock,
					    .unlock = unlock,
					    .size = sizeof(pthread_mutex_t),
					    .init = init,
					    .cond = &cond};
const struct bench_subject bench_pthread_adaptive = {.name = "pthread-adaptive",
						     SUBJECT_LOOPS(pthread),
						     .lock = lock,
						     .unlock = unlock,
						     .size = sizeof(pthread_mutex_t),
						     .init = init_adaptive};

_Static_assert(sizeof(pthread_rwlock_t) <= BENCH_LOCK_BYTES, "fits");

static void init_rwlock(void *l)
{
	*(pthread_rwlock_t *)l = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
}

static void init_rwlock_writer(void *l)
{
	*(pthread_rwlock_t *)l =
		(pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
}

static void read_lock(void *l)
{
	pthread_rwlock_rdlock(l);
}

static void write_lock(void *l)
{
	pthread_rwlock_wrlock(l);
}

static void unlock_rwlock(void *l)
{
	pthread_rwlock_unlock(l);
}

DEFINE_RWLOCK_LOOP(pthread, read_lock, unlock_rwlock, write_lock, unlock_rwlock);

const struct bench_subject bench_pthread_rwlock = {.name = "pthread-rwlock",
						   .loop = pthread_rwlock,
						   .size = sizeof(pthread_rwlock_t),
						   .init = init_rwlock};
const struct bench_subject bench_pthread_rwlock_writer = {
	.name = "pthread-rw-writer",
	.loop = pthread_rwlock,
	.size = sizeof(pthread_rwlock_t),
	.init = init_rwlock_writer};
