/* SPDX-License-Identifier: MIT */
/*
 * A thread reads, two others wait to write, and a fourth comes to read: with the kinds that
 * prefer readers it must, for the first may wait for it; with the kind that prefers writers
 * it must not. Run with and without the interposer, it must print the same.
 */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { WRITERS = 2, WARM = 20000, SETTLED_US = 50000 };

static pthread_rwlock_t rwlock;

static struct timespec in_ms(int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000L;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void *write_once(void *timed)
{
	struct timespec late = in_ms(50000);

	CHECK((timed != NULL ? pthread_rwlock_timedwrlock(&rwlock, &late)
			     : pthread_rwlock_wrlock(&rwlock)) == 0);
	CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	return NULL;
}

/* Returns NULL if it has read. */
static void *read_in_time(void *ms)
{
	struct timespec limit = in_ms(*(const int *)ms);
	int error = pthread_rwlock_timedrdlock(&rwlock, &limit);

	CHECK(error == 0 || error == ETIMEDOUT);
	if (error == 0)
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	return error == 0 ? NULL : ms;
}

static bool reader_passes(int kind, bool warm, bool timed)
{
	int ms = kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP ? 300 : 20000, i;
	pthread_t writers[WRITERS], reader;
	pthread_rwlockattr_t attr;
	void *result;

	CHECK(pthread_rwlockattr_init(&attr) == 0);
	CHECK(pthread_rwlockattr_setkind_np(&attr, kind) == 0);
	CHECK(pthread_rwlock_init(&rwlock, &attr) == 0);
	for (i = 0; warm && i < WARM; i++) {
		CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	}
	CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
	for (i = 0; i < WRITERS; i++)
		CHECK(pthread_create(&writers[i], NULL, write_once,
				     timed ? &rwlock : NULL) == 0);
	usleep(SETTLED_US); /* they wait */
	CHECK(pthread_create(&reader, NULL, read_in_time, &ms) == 0);
	CHECK(pthread_join(reader, &result) == 0);
	CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	for (i = 0; i < WRITERS; i++)
		CHECK(pthread_join(writers[i], NULL) == 0);
	return result == NULL;
}

int main(void)
{
	static const char *const kinds[] = {
		[PTHREAD_RWLOCK_PREFER_READER_NP] = "reader",
		[PTHREAD_RWLOCK_PREFER_WRITER_NP] = "writer",
		[PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP] = "writer, nonrecursive",
	};
	int kind, way;

	alarm(120);
	for (kind = 0; kind < 3; kind++)
		for (way = 0; way < 4; way++)
			printf("prefers %s, %s%s: %s\n", kinds[kind],
			       way & 1 ? "read before" : "new",
			       way & 2 ? ", writers with a limit" : "",
			       reader_passes(kind, way & 1, way & 2) ? "passes"
								     : "waits");
	return 0;
}
