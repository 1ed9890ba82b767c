/* SPDX-License-Identifier: MIT */
/* What a program may use of the C library: threads, locks, conditions, memory; and what
 * is said of each if it is used wrongly. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int ready, value = 7, runs;
static atomic_int atomic = 40;
static _Thread_local int own = 5;

static void two(void *(*first)(void *), void *(*second)(void *), void *argument)
{
	pthread_t a, b;

	pthread_create(&a, NULL, first, argument);
	pthread_create(&b, NULL, second, argument);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

/* Conditions. */

static void *waits(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (!ready)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *waits_if(void *unused)
{
	pthread_mutex_lock(&mutex);
	if (!ready)
		pthread_cond_wait(&cond, &mutex);
	assert(ready);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *signals(void *unused)
{
	pthread_mutex_lock(&mutex);
	ready = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *forgets_to_signal(void *unused)
{
	pthread_mutex_lock(&mutex);
	ready = 1;
	pthread_mutex_unlock(&mutex);
	return unused;
}

void check_cond(void)
{
	two(waits, signals, NULL);
}
void check_cond_if(void)
{
	two(waits_if, signals, NULL);
}
void check_cond_no_signal(void)
{
	two(waits, forgets_to_signal, NULL);
}

/* One signal for two who wait. */
void check_cond_one_signal(void)
{
	pthread_t third;

	pthread_create(&third, NULL, waits, NULL);
	two(waits, signals, NULL);
	pthread_join(third, NULL);
}

static void *waits_in_time(void *unused)
{
	struct timespec soon = {0, 0};
	int error = 0;

	pthread_mutex_lock(&mutex);
	while (!ready && error == 0)
		error = pthread_cond_timedwait(&cond, &mutex, &soon);
	assert(ready || error == ETIMEDOUT);
	pthread_mutex_unlock(&mutex);
	return unused;
}
void check_cond_timed(void)
{
	two(waits_in_time, forgets_to_signal, NULL);
}

/* Mutexes that are used wrongly. */
static void *unlocks(void *unused)
{
	pthread_mutex_unlock(&mutex);
	return unused;
}
static void *locks_and_leaves(void *unused)
{
	pthread_mutex_lock(&mutex);
	return unused;
}
void check_unlock_not_held(void)
{
	two(unlocks, signals, NULL);
}
void check_never_unlocked(void)
{
	two(locks_and_leaves, signals, NULL);
}

void check_recursive(void)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t m;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&m, &attributes);
	pthread_mutex_lock(&m);
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	pthread_mutex_unlock(&m);
	pthread_mutex_destroy(&m);
}

static void *polls(void *unused)
{
	while (pthread_mutex_trylock(&mutex) != 0)
		sched_yield();
	value++;
	pthread_mutex_unlock(&mutex);
	return unused;
}
void check_trylock_loop(void)
{
	two(polls, polls, NULL);
	assert(value == 9);
}

/* Read-write locks, once, keys. */
static void *reads(void *unused)
{
	pthread_rwlock_rdlock(&rwlock);
	assert(value == 7 || value == 8);
	pthread_rwlock_unlock(&rwlock);
	return unused;
}
static void *writes(void *unused)
{
	pthread_rwlock_wrlock(&rwlock);
	value++;
	pthread_rwlock_unlock(&rwlock);
	return unused;
}
static void *writes_as_reader(void *unused)
{
	pthread_rwlock_rdlock(&rwlock);
	value++;
	pthread_rwlock_unlock(&rwlock);
	return unused;
}
void check_rwlock(void)
{
	two(reads, writes, NULL);
}
void check_rwlock_wrong(void)
{
	two(reads, writes_as_reader, NULL);
}

static void run_once(void)
{
	runs++;
}
static void *calls_once(void *unused)
{
	pthread_once(&once, run_once);
	assert(runs == 1);
	return unused;
}
void check_once(void)
{
	two(calls_once, calls_once, NULL);
}

static pthread_key_t key;
static void *uses_key(void *unused)
{
	assert(pthread_getspecific(key) == NULL);
	pthread_setspecific(key, malloc(8));
	return unused;
}
void check_keys(void)
{
	pthread_key_create(&key, free);
	two(uses_key, uses_key, NULL);
}
void check_keys_leak(void)
{
	pthread_key_create(&key, NULL);
	two(uses_key, uses_key, NULL);
}

/* Variables: initial values, threads' own, one byte beside another. */
static void *adds(void *unused)
{
	own++;
	assert(own == 6);
	atomic_fetch_add(&atomic, 1);
	return unused;
}
void check_variables(void)
{
	assert(value == 7 && own == 5);
	value = own = 100;
	two(adds, adds, NULL);
	assert(atomic == 42 && own == 100);
}

static struct {
	char left, right;
	short wide;
} bytes;
static void *left(void *unused)
{
	bytes.left = 1;
	return unused;
}
static void *right(void *unused)
{
	bytes.right = 1;
	return unused;
}
static void *both(void *unused)
{
	memset(&bytes, 2, sizeof(bytes));
	return unused;
}
void check_neighbours(void)
{
	two(left, right, NULL);
}
void check_bytes_race(void)
{
	two(left, both, NULL);
}

/* Memory. */
static void *frees(void *p)
{
	free(p);
	return NULL;
}
static void *writes_to(void *p)
{
	*(volatile int *)p = 1;
	return NULL;
}
void check_free_race(void)
{
	two(frees, writes_to, malloc(sizeof(int)));
}
void check_double_free(void)
{
	two(frees, frees, malloc(8));
}
void check_leak(void)
{
	two(writes, reads, malloc(8));
}
static void *kept;
void check_kept(void)
{
	kept = malloc(8);
}
void check_use_after_free(void)
{
	volatile int *p = malloc(sizeof(*p));

	free((void *)p);
	*p = 1;
}
void check_overrun(void)
{
	volatile char *p = calloc(1, 8);

	p = realloc((void *)p, 16);
	p[15] = 1;
	p[16] = 1;
	free((void *)p);
}
void check_null(void)
{
	writes_to(NULL);
}

static void *leaves_pointer(void *p)
{
	int local = 1;

	atomic_store((_Atomic(int *) *)p, &local);
	return NULL;
}
static _Atomic(int *) shared;
void check_stack_gone(void)
{
	two(leaves_pointer, leaves_pointer, &shared);
	(*shared)++;
}

/* C11's own threads. */
static mtx_t mtx;
static int adds_c11(void *unused)
{
	(void)unused;
	mtx_lock(&mtx);
	value++;
	mtx_unlock(&mtx);
	return 3;
}
void check_c11_threads(void)
{
	thrd_t a, b;
	int result;

	mtx_init(&mtx, mtx_plain);
	thrd_create(&a, adds_c11, NULL);
	thrd_create(&b, adds_c11, NULL);
	thrd_join(a, &result);
	thrd_join(b, NULL);
	assert(result == 3 && value == 9);
	mtx_destroy(&mtx);
}

/* A thread that makes another. */
static void *makes_one(void *unused)
{
	pthread_t child;

	pthread_create(&child, NULL, adds, NULL);
	pthread_join(child, NULL);
	return unused;
}
void check_grandchildren(void)
{
	two(makes_one, makes_one, NULL);
	assert(atomic == 42);
}

/* What waits for ever, and what never ends. */
static void *spins(void *unused)
{
	while (atomic_load(&atomic) != 0)
		;
	return unused;
}
void check_waits_for_ever(void)
{
	two(spins, adds, NULL);
}

static void *counts_spins(void *unused)
{
	int i;

	for (i = 0; i < 3 && atomic_load(&atomic) == 40; i++)
		;
	return unused;
}
void check_bounded_loop(void)
{
	two(counts_spins, adds, NULL);
}

static void *goes_on(void *unused)
{
	for (;;)
		atomic_fetch_add(&atomic, 1);
	return unused;
}
void check_never_ends(void)
{
	two(goes_on, adds, NULL);
}

/* What cannot be played. */
void check_time(void)
{
	(void)time(NULL);
}
void check_file(void)
{
	(void)fopen("/dev/null", "r");
}
static union {
	atomic_int whole;
	atomic_char part;
} mixed;
void check_mixed_widths(void)
{
	atomic_store(&mixed.whole, 1);
	atomic_store(&mixed.part, 1);
}
void check_prints(void)
{
	printf("never shown\n");
	fputs("never shown\n", stderr);
}
