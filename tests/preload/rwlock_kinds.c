/* SPDX-License-Identifier: MIT */
/*
 * A thread reads, two others wait to write, and a fourth comes to read, or tries to: with the
 * kinds that prefer readers it must, for the first may wait for it; with the kind that prefers
 * writers it must not. Run with and without the interposer, it must print the same.
 */
#define _GNU_SOURCE
#include "../harness/hang.h"
#include "check.h"
#include "rwlock_cases.h"

#include <errno.h>
#include <semaphore.h>
#include <string.h>

enum { WRITERS = 2, WARM = 20000, TRIES = 1000, ROUNDS = 200 };

static pthread_rwlock_t rwlock;

static void *write_in_time(void *argument)
{
	struct waiter *w = argument;
	struct timespec late = in_ms(CLOCK_REALTIME, HANG_GUARD_S * 1000L);

	say_who(w);
	CHECK(pthread_rwlock_timedwrlock(w->lock, &late) == 0);
	CHECK(pthread_rwlock_unlock(w->lock) == 0);
	return NULL;
}

/* Returns NULL if it has read. */
static void *read_in_time(void *ms)
{
	struct timespec limit = in_ms(CLOCK_REALTIME, *(const long *)ms);
	int error = pthread_rwlock_timedrdlock(&rwlock, &limit);

	CHECK(error == 0 || error == ETIMEDOUT);
	if (error == 0)
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	return error == 0 ? NULL : ms;
}

/* Returns NULL if each of many tries to read succeeded. */
static void *try_to_read(void *failed)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		int error = pthread_rwlock_tryrdlock(&rwlock);

		CHECK(error == 0 || error == EBUSY);
		if (error != 0)
			return failed;
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	}
	return NULL;
}

/* Whether a reader passes the writers that wait, by its clock or by a try. */
static bool reader_passes(int kind, bool warm, bool timed, void *(*read)(void *))
{
	/* A reader that must not pass gives up; one that must may be slow to come. */
	long ms = kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
			  ? 300
			  : HANG_GUARD_S * 1000L / 2;
	struct waiter waiters[WRITERS];
	pthread_t writers[WRITERS], reader;
	pthread_rwlockattr_t attr;
	void *result;
	int i;

	CHECK(pthread_rwlockattr_init(&attr) == 0);
	CHECK(pthread_rwlockattr_setkind_np(&attr, kind) == 0);
	CHECK(pthread_rwlock_init(&rwlock, &attr) == 0);
	for (i = 0; warm && i < WARM; i++) {
		CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	}
	CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
	for (i = 0; i < WRITERS; i++) {
		waiters[i] = (struct waiter){.lock = &rwlock, .writes = true};
		CHECK(pthread_create(&writers[i], NULL,
				     timed ? write_in_time : take_and_let_go,
				     &waiters[i]) == 0);
	}
	for (i = 0; i < WRITERS; i++)
		await_sleep(&waiters[i]);
	CHECK(pthread_create(&reader, NULL, read, &ms) == 0);
	CHECK(pthread_join(reader, &result) == 0);
	CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	for (i = 0; i < WRITERS; i++)
		CHECK(pthread_join(writers[i], NULL) == 0);
	return result == NULL;
}

/* A reader inside waits for another that has to read first, again and again, while a third
 * thread writes. */
static sem_t asked, answered;
static volatile bool stop;

static void *write_on(void *unused)
{
	while (!stop) {
		CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	}
	return unused;
}

static void *answer_inside(void *unused)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		CHECK(sem_wait(&asked) == 0);
		CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
		CHECK(sem_post(&answered) == 0);
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	}
	return unused;
}

static void readers_get_on(void)
{
	pthread_t writer, reader;
	int i;

	CHECK(pthread_rwlock_init(&rwlock, NULL) == 0);
	CHECK(sem_init(&asked, 0, 0) == 0 && sem_init(&answered, 0, 0) == 0);
	CHECK(pthread_create(&writer, NULL, write_on, NULL) == 0);
	CHECK(pthread_create(&reader, NULL, answer_inside, NULL) == 0);
	for (i = 0; i < ROUNDS; i++) {
		CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
		CHECK(sem_post(&asked) == 0 && sem_wait(&answered) == 0);
		CHECK(pthread_rwlock_rdlock(&rwlock) == 0); /* never waits */
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	}
	stop = true;
	CHECK(pthread_join(reader, NULL) == 0);
	CHECK(pthread_join(writer, NULL) == 0);
}

int main(void)
{
	static const char *const kinds[] = {
		[PTHREAD_RWLOCK_PREFER_READER_NP] = "reader",
		[PTHREAD_RWLOCK_PREFER_WRITER_NP] = "writer",
		[PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP] = "writer, nonrecursive",
	};
	int kind, way;

	alarm(HANG_GUARD_S);
	readers_get_on();
	for (kind = 0; kind < 3; kind++)
		for (way = 0; way < 4; way++)
			printf("prefers %s, %s%s: %s\n", kinds[kind],
			       way & 1 ? "read before" : "new",
			       way & 2 ? ", writers with a limit" : "",
			       reader_passes(kind, way & 1, way & 2, read_in_time)
				       ? "passes"
				       : "waits");
	for (kind = 0; kind < 3; kind++)
		for (way = 0; way < 4; way++)
			printf("prefers %s, %s%s: a try %s\n", kinds[kind],
			       way & 1 ? "read before" : "new",
			       way & 2 ? ", writers with a limit" : "",
			       reader_passes(kind, way & 1, way & 2, try_to_read)
				       ? "succeeds"
				       : "fails");
	return 0;
}
