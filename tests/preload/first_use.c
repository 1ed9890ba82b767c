/* SPDX-License-Identifier: MIT */
/*
 * A program with an allocator of its own, which gets ready at the first call: it
 * locks mutexes, registers fork handlers, and knows by a plain flag that it has
 * begun. Every later call locks a mutex, too. An allocation from inside that, or from inside
 * any function of pthread's mutexes, ends the process with a line.
 */
#define _GNU_SOURCE
#include "../harness/hang.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static __thread const char *forbidden; /* the call that this thread is in */
static int state;		       /* of the allocator: 0, 1 begun, 2 ready */
static char *arena, *arena_end;

static void complain(const char *what, const char *where)
{
	char line[200];
	int length = snprintf(line, sizeof(line), "%s: %s\n", where, what);

	if (write(STDERR_FILENO, line, (size_t)length) == length)
		_exit(1);
	_exit(1);
}

static void nothing(void)
{
}

static void get_ready(void)
{
	static pthread_mutex_t m[3] = {PTHREAD_MUTEX_INITIALIZER,
				       PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
				       PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
	static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
	int i;

	if (state == 1)
		complain("allocates", "while the allocator gets ready");
	state = 1;
	for (i = 0; i < 3; i++) {
		pthread_mutex_lock(&m[i]);
		pthread_cond_signal(&c);
		pthread_mutex_unlock(&m[i]);
	}
	pthread_rwlock_rdlock(&rw);
	pthread_rwlock_unlock(&rw);
	pthread_rwlock_wrlock(&rw);
	pthread_rwlock_unlock(&rw);
	if (pthread_atfork(nothing, nothing, nothing) != 0)
		complain("fails", "pthread_atfork");
	arena = mmap(NULL, 1 << 26, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena == MAP_FAILED)
		complain("fails", "mmap");
	arena_end = arena + (1 << 26);
	state = 2;
}

/* Nothing is ever given back. The size stands before what it is the size of. */
static void *get(size_t alignment, size_t size)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	char *piece;

	if (forbidden != NULL)
		complain("allocates", forbidden);
	if (state != 2)
		get_ready();
	pthread_mutex_lock(&lock);
	piece = arena + 16 + alignment - (uintptr_t)(arena + 16) % alignment;
	arena = piece + (size + 15) / 16 * 16;
	pthread_mutex_unlock(&lock);
	if (arena > arena_end)
		complain("is used up", "the arena");
	memcpy(piece - sizeof(size), &size, sizeof(size));
	return piece;
}

void *malloc(size_t size)
{
	return get(16, size);
}

void *calloc(size_t n, size_t size)
{
	return get(16, n * size); /* fresh memory is zero */
}

void *realloc(void *old, size_t size)
{
	void *new = get(16, size);
	size_t had = 0;

	if (old != NULL)
		memcpy(&had, (char *)old - sizeof(had), sizeof(had));
	return old == NULL ? new : memcpy(new, old, had < size ? had : size);
}

void free(void *old)
{
	(void)old;
	if (forbidden != NULL)
		complain("frees", forbidden);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return get(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
	return get(alignment, size);
}

int posix_memalign(void **into, size_t alignment, size_t size)
{
	*into = get(alignment, size);
	return 0;
}

#define WITHOUT_HEAP(call) (forbidden = #call, (void)(call), forbidden = NULL)

static pthread_mutex_t m[4] = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
	PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t shared;
static pthread_rwlock_t rw[16]; /* more than a thread has room to note */

static struct timespec soon(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += 2000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void read_and_write(void)
{
	struct timespec realtime = soon(CLOCK_REALTIME);
	int i, round;

	for (round = 0; round < 50; round++)
		for (i = 0; i < 16; i++) {
			WITHOUT_HEAP(pthread_rwlock_rdlock(&rw[i]));
			WITHOUT_HEAP(pthread_rwlock_unlock(&rw[i]));
		}
	for (i = 0; i < 16; i++)
		WITHOUT_HEAP(pthread_rwlock_rdlock(&rw[i]));
	usleep(300); /* others want to write, and fall asleep */
	for (i = 0; i < 16; i++)
		WITHOUT_HEAP(pthread_rwlock_unlock(&rw[i]));
	WITHOUT_HEAP(pthread_rwlock_wrlock(&rw[0]));
	usleep(300);
	WITHOUT_HEAP(pthread_rwlock_unlock(&rw[0]));
	forbidden = "pthread_rwlock_timedrdlock";
	if (pthread_rwlock_timedrdlock(&rw[0], &realtime) == 0)
		pthread_rwlock_unlock(&rw[0]);
	forbidden = "pthread_rwlock_timedwrlock";
	if (pthread_rwlock_timedwrlock(&rw[0], &realtime) == 0)
		pthread_rwlock_unlock(&rw[0]);
	forbidden = NULL;
}

/* A thread's first calls, by one function or another. */
static void *first_calls(void *argument)
{
	struct timespec realtime = soon(CLOCK_REALTIME),
			monotonic = soon(CLOCK_MONOTONIC);
	pthread_mutex_t *mine = &m[*(int *)argument % 4];
	pthread_mutex_t own;
	mtx_t mtx;

	read_and_write();
	WITHOUT_HEAP(pthread_mutex_lock(mine));
	usleep(300); /* the others wait, and fall asleep */
	WITHOUT_HEAP(pthread_cond_timedwait(&c, mine, &realtime));
	WITHOUT_HEAP(pthread_cond_clockwait(&c, mine, CLOCK_MONOTONIC, &monotonic));
	WITHOUT_HEAP(pthread_cond_broadcast(&c));
	WITHOUT_HEAP(pthread_mutex_unlock(mine));
	realtime = soon(CLOCK_REALTIME);
	forbidden = "pthread_mutex_timedlock";
	if (pthread_mutex_timedlock(mine, &realtime) == 0)
		pthread_mutex_unlock(mine);
	forbidden = "pthread_mutex_trylock";
	if (pthread_mutex_trylock(mine) == 0)
		pthread_mutex_unlock(mine);
	forbidden = NULL;
	WITHOUT_HEAP(pthread_mutex_lock(&shared));
	WITHOUT_HEAP(pthread_mutex_unlock(&shared));
	WITHOUT_HEAP(pthread_mutex_init(&own, NULL));
	WITHOUT_HEAP(pthread_mutex_destroy(&own));
	WITHOUT_HEAP(mtx_init(&mtx, mtx_timed));
	WITHOUT_HEAP(mtx_lock(&mtx));
	WITHOUT_HEAP(mtx_unlock(&mtx));
	return NULL;
}

int main(void)
{
	int numbers[8] = {0, 1, 2, 3, 0, 1, 2, 3}, i, round;
	pthread_mutexattr_t attr;
	pthread_t threads[8];

	alarm(HANG_GUARD_S);
	if (state != 2) /* the dynamic linker may have been first, or not */
		free(malloc(1));
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	WITHOUT_HEAP(pthread_mutex_init(&shared, &attr));
	/* An error that nobody asked for yet is not ours to forget. */
	if (dlsym(RTLD_DEFAULT, "no_such_function") != NULL)
		return 1;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 8; i++)
			if (pthread_create(&threads[i], NULL, first_calls, &numbers[i]) !=
			    0)
				return 1;
		for (i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
	}
	if (dlerror() == NULL) {
		fprintf(stderr, "the error is gone\n");
		return 1;
	}
	return 0;
}
