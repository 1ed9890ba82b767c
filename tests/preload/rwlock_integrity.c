/* SPDX-License-Identifier: MIT */
/*
 * Read-write locks under load: rwlock_integrity CASE. Exit status 0, or a line that
 * says what broke; a hang ends in an alarm.
 */
#define _GNU_SOURCE
#include "rwlock_integrity.h"
#include "../harness/hang.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

volatile bool stop;

void start_all(pthread_t *threads, int n, void *(*run)(void *), void *argument)
{
	int i;

	for (i = 0; i < n; i++)
		CHECK(pthread_create(&threads[i], NULL, run, argument) == 0);
}

void join_all(pthread_t *threads, int n)
{
	int i;

	for (i = 0; i < n; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

void elsewhere(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	start_all(&thread, 1, run, argument);
	join_all(&thread, 1);
}

void warm_up(pthread_rwlock_t *rw)
{
	int i;

	for (i = 0; i < WARM; i++) {
		CHECK(pthread_rwlock_rdlock(rw) == 0);
		CHECK(pthread_rwlock_unlock(rw) == 0);
	}
}

/* Exclusion: all ways to lock at once, on plain variables. */
static bool read_somehow(struct shared *s, unsigned way)
{
	struct timespec t;

	switch (way % 8) {
	case 0:
		return pthread_rwlock_tryrdlock(&s->rw) == 0;
	case 1:
		t = in_ms(CLOCK_REALTIME, 1);
		return pthread_rwlock_timedrdlock(&s->rw, &t) == 0;
	case 2:
		t = in_ms(CLOCK_MONOTONIC, 2);
		return pthread_rwlock_clockrdlock(&s->rw, CLOCK_MONOTONIC, &t) == 0;
	default:
		return pthread_rwlock_rdlock(&s->rw) == 0;
	}
}

static bool write_somehow(struct shared *s, unsigned way)
{
	struct timespec t;

	switch (way % 8) {
	case 0:
		return pthread_rwlock_trywrlock(&s->rw) == 0;
	case 1:
		t = in_ms(CLOCK_REALTIME, 1);
		return pthread_rwlock_timedwrlock(&s->rw, &t) == 0;
	case 2:
		t = in_ms(CLOCK_MONOTONIC, 2);
		return pthread_rwlock_clockwrlock(&s->rw, CLOCK_MONOTONIC, &t) == 0;
	default:
		return pthread_rwlock_wrlock(&s->rw) == 0;
	}
}

void look(struct shared *s, unsigned way)
{
	long seen = s->begun;

	if (way % 16 == 0)
		sched_yield();
	if (way % 4 == 0 && !s->nonrecursive) { /* once more, while writers may wait */
		CHECK(pthread_rwlock_rdlock(&s->rw) == 0);
		CHECK(pthread_rwlock_unlock(&s->rw) == 0);
	}
	CHECK(seen == s->ended);
}

void change(struct shared *s, unsigned way)
{
	CHECK(s->begun == s->ended);
	s->begun++;
	if (way % 16 == 0)
		sched_yield();
	s->ended++;
}

void *hammer(void *argument)
{
	static const unsigned shares[] = {1000, 20, 2};
	static unsigned started;
	struct shared *s = argument;
	unsigned way = __atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
	unsigned one_in = shares[way % 3];
	long mine = 0;

	while (!stop) {
		way = way * 1103515245 + 12345;
		if ((way >> 8) % one_in != 0) {
			if (!read_somehow(s, way >> 16))
				continue;
			look(s, way >> 19);
		} else {
			if (!write_somehow(s, way >> 16))
				continue;
			change(s, way >> 19);
			mine++;
		}
		CHECK(pthread_rwlock_unlock(&s->rw) == 0);
	}
	__atomic_fetch_add(&s->counted, mine, __ATOMIC_RELAXED);
	return NULL;
}

void run_for(long ms, int n, void *(*run)(void *), void *argument)
{
	pthread_t threads[THREADS];

	stop = false;
	start_all(threads, n, run, argument);
	usleep((useconds_t)ms * 1000);
	stop = true;
	join_all(threads, n);
}

static void exclusion(void)
{
	static const pthread_rwlock_t kinds[] = {
		PTHREAD_RWLOCK_INITIALIZER,
		PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP};
	struct shared s;
	size_t i;

	for (i = 0; i < 2; i++) {
		s = (struct shared){.rw = kinds[i], .nonrecursive = i == 1};
		/* They may have been given no time to write. */
		do
			run_for(RUN_MS, THREADS, hammer, &s);
		while (s.ended == 0);
		CHECK(s.ended == s.counted);
	}
}

/* Many locks held at once, and one many times; released in another order. */
enum { MANY = 1001, STEP = 8 };

static void *write_all(void *argument)
{
	pthread_rwlock_t *all = argument;
	int i;

	for (i = 0; i < MANY; i++) {
		CHECK(pthread_rwlock_trywrlock(&all[i]) == 0);
		CHECK(pthread_rwlock_unlock(&all[i]) == 0);
	}
	return NULL;
}

static void *write_none(void *argument)
{
	pthread_rwlock_t *all = argument;
	int i;

	for (i = 0; i < MANY; i++) {
		CHECK(pthread_rwlock_trywrlock(&all[i]) == EBUSY);
		CHECK(pthread_rwlock_tryrdlock(&all[i]) == 0);
		CHECK(pthread_rwlock_unlock(&all[i]) == 0);
	}
	return NULL;
}

static void many(void)
{
	static pthread_rwlock_t all[MANY];
	int i, round;

	for (round = 0; round < 2; round++) { /* the second time, known as read */
		for (i = 0; i < MANY; i++)
			CHECK(pthread_rwlock_rdlock(&all[i]) == 0);
		elsewhere(write_none, all);
		for (i = 0; i < MANY; i++)
			CHECK(pthread_rwlock_unlock(&all[i * STEP % MANY]) == 0);
		elsewhere(write_all, all);
		for (i = 0; i < MANY; i++)
			CHECK(pthread_rwlock_rdlock(&all[0]) == 0);
		for (i = 0; i < MANY; i++)
			CHECK(pthread_rwlock_unlock(&all[0]) == 0);
		elsewhere(write_all, all);
		for (i = 0; i < MANY; i++)
			warm_up(&all[i]);
	}
}

/* Threads that come and go, and locks in memory that was something else before. */
static void *live_shortly(void *argument)
{
	struct shared *s = argument;
	struct shared *own = malloc(sizeof(*own));
	int i;

	CHECK(own != NULL);
	memset(own, 0xa5, sizeof(*own));
	CHECK(pthread_rwlock_init(&own->rw, NULL) == 0);
	for (i = 0; i < 200; i++) {
		CHECK(pthread_rwlock_rdlock(&own->rw) == 0);
		CHECK(pthread_rwlock_rdlock(&s->rw) == 0);
		look(s, 1);
		CHECK(pthread_rwlock_unlock(&own->rw) == 0);
		CHECK(pthread_rwlock_unlock(&s->rw) == 0);
	}
	CHECK(pthread_rwlock_wrlock(&own->rw) == 0);
	CHECK(pthread_rwlock_wrlock(&s->rw) == 0);
	change(s, 1);
	CHECK(pthread_rwlock_unlock(&s->rw) == 0);
	CHECK(pthread_rwlock_unlock(&own->rw) == 0);
	CHECK(pthread_rwlock_destroy(&own->rw) == 0);
	free(own);
	return NULL;
}

static void churn(void)
{
	struct shared s = {.rw = PTHREAD_RWLOCK_INITIALIZER};
	pthread_t threads[THREADS];
	int round;

	for (round = 0; round < 100; round++) {
		start_all(threads, THREADS, live_shortly, &s);
		join_all(threads, THREADS);
	}
	CHECK(s.ended == 100 * THREADS);
}

/* Neither side starves the other: ends, or the alarm rings. */
static void *read_on(void *argument)
{
	struct shared *s = argument;

	while (!stop) {
		CHECK(pthread_rwlock_rdlock(&s->rw) == 0);
		look(s, 1);
		CHECK(pthread_rwlock_unlock(&s->rw) == 0);
	}
	return NULL;
}

void *write_on(void *argument)
{
	struct shared *s = argument;

	while (!stop) {
		CHECK(pthread_rwlock_wrlock(&s->rw) == 0);
		change(s, 1);
		CHECK(pthread_rwlock_unlock(&s->rw) == 0);
	}
	return NULL;
}

void *hundred_writes(void *argument)
{
	struct shared *s = argument;
	int i;

	for (i = 0; i < 100; i++) {
		CHECK(pthread_rwlock_wrlock(&s->rw) == 0);
		change(s, 1);
		CHECK(pthread_rwlock_unlock(&s->rw) == 0);
	}
	return NULL;
}

void *hundred_reads(void *argument)
{
	struct shared *s = argument;
	int i;

	for (i = 0; i < 100; i++) {
		CHECK(pthread_rwlock_rdlock(&s->rw) == 0);
		look(s, 1);
		CHECK(pthread_rwlock_unlock(&s->rw) == 0);
	}
	return NULL;
}

static void fair(void)
{
	struct shared s = {.rw = PTHREAD_RWLOCK_INITIALIZER};
	pthread_t threads[THREADS];

	stop = false;
	start_all(threads, THREADS, read_on, &s);
	elsewhere(hundred_writes, &s);
	stop = true;
	join_all(threads, THREADS);
	stop = false;
	start_all(threads, THREADS, write_on, &s);
	elsewhere(hundred_reads, &s);
	stop = true;
	join_all(threads, THREADS);
}

/* Time limits leave nothing behind: neither lock, nor place in a queue. */
static void *give_up_writing(void *argument)
{
	struct shared *s = argument;
	struct timespec soon = in_ms(CLOCK_MONOTONIC, 5);

	CHECK(pthread_rwlock_clockwrlock(&s->rw, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
	return NULL;
}

static void *give_up_reading(void *argument)
{
	struct shared *s = argument;
	struct timespec soon = in_ms(CLOCK_REALTIME, 5);

	CHECK(pthread_rwlock_timedrdlock(&s->rw, &soon) == ETIMEDOUT);
	return NULL;
}

static void timed(void)
{
	struct shared s = {.rw = PTHREAD_RWLOCK_INITIALIZER};
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < 10; i++) {
		CHECK(pthread_rwlock_rdlock(&s.rw) == 0);
		start_all(threads, THREADS, give_up_writing, &s);
		join_all(threads, THREADS);
		elsewhere(hundred_reads, &s);
		CHECK(pthread_rwlock_unlock(&s.rw) == 0);
		CHECK(pthread_rwlock_wrlock(&s.rw) == 0);
		start_all(threads, THREADS, give_up_reading, &s);
		join_all(threads, THREADS);
		CHECK(pthread_rwlock_unlock(&s.rw) == 0);
		elsewhere(hundred_writes, &s);
		warm_up(&s.rw);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{"exclusion", exclusion}, {"many", many},
		{"churn", churn},	  {"fair", fair},
		{"timed", timed},	  {"forks", forks},
		{"signals", signals},	  {"stranger", stranger},
		{"farewell", farewell},	  {"exit", leave_in_the_middle},
		{"jumps", jumps},	  {"cancels_at_once", cancels_at_once},
	};
	size_t i;

	alarm(HANG_GUARD_S);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	fprintf(stderr, "usage: rwlock_integrity CASE\n");
	return 2;
}
