/* SPDX-License-Identifier: MIT */
/*
 * Uses every read-write lock function, and prints what each call returned: run
 * with and without the interposer, it must print the same. Each call also leaves
 * errno as it was.
 */
#define _GNU_SOURCE
#include "rwlock_cases.h"
#include "../harness/hang.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { MARK = 12345 };

static void print(const char *what, int result)
{
	const char *name = result == 0 ? "0" : strerrorname_np(result);

	printf("%s = %s%s\n", what, name, errno == MARK ? "" : " (errno)");
	errno = MARK;
}

#define SHOW(call) (errno = MARK, print(#call, call))

/* Runs a function in another thread, to its end. */
static void elsewhere(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argument) != 0)
		abort();
	pthread_join(thread, NULL);
}

/* Bad times and clocks are found before anything else. */
static void refuse(pthread_rwlock_t *rw)
{
	struct timespec bad = {.tv_nsec = 1000000000}, bad2 = {.tv_nsec = -1};
	struct timespec both = {.tv_sec = -1, .tv_nsec = -1};
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);

	SHOW(pthread_rwlock_timedrdlock(rw, &both));
	SHOW(pthread_rwlock_timedwrlock(rw, &both));
	SHOW(pthread_rwlock_timedrdlock(rw, &bad));
	SHOW(pthread_rwlock_timedrdlock(rw, &bad2));
	SHOW(pthread_rwlock_timedwrlock(rw, &bad));
	SHOW(pthread_rwlock_timedwrlock(rw, &bad2));
	SHOW(pthread_rwlock_clockrdlock(rw, CLOCK_MONOTONIC, &bad));
	SHOW(pthread_rwlock_clockwrlock(rw, CLOCK_REALTIME, &bad));
	SHOW(pthread_rwlock_clockrdlock(rw, CLOCK_PROCESS_CPUTIME_ID, &soon));
	SHOW(pthread_rwlock_clockwrlock(rw, CLOCK_THREAD_CPUTIME_ID, &soon));
	SHOW(pthread_rwlock_clockrdlock(rw, 99, &soon));
	SHOW(pthread_rwlock_clockwrlock(rw, -1, &soon));
}

/* Every way to write, to somebody who cannot. */
static void *cannot_write(void *argument)
{
	pthread_rwlock_t *rw = argument;
	struct timespec past = {.tv_sec = 1}, negative = {.tv_sec = -5};
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	struct timespec soon2 = in_ms(CLOCK_MONOTONIC, 10);

	SHOW(pthread_rwlock_trywrlock(rw));
	SHOW(pthread_rwlock_timedwrlock(rw, &past));
	SHOW(pthread_rwlock_timedwrlock(rw, &negative));
	SHOW(pthread_rwlock_timedwrlock(rw, &soon));
	SHOW(pthread_rwlock_clockwrlock(rw, CLOCK_MONOTONIC, &soon2));
	SHOW(pthread_rwlock_clockwrlock(rw, CLOCK_REALTIME, &past));
	refuse(rw);
	return NULL;
}

static void *cannot_read(void *argument)
{
	pthread_rwlock_t *rw = argument;
	struct timespec past = {.tv_sec = 1}, negative = {.tv_sec = -5};
	struct timespec soon = in_ms(CLOCK_REALTIME, 10);
	struct timespec soon2 = in_ms(CLOCK_MONOTONIC, 10);

	SHOW(pthread_rwlock_tryrdlock(rw));
	SHOW(pthread_rwlock_timedrdlock(rw, &past));
	SHOW(pthread_rwlock_timedrdlock(rw, &negative));
	SHOW(pthread_rwlock_timedrdlock(rw, &soon));
	SHOW(pthread_rwlock_clockrdlock(rw, CLOCK_MONOTONIC, &soon2));
	SHOW(pthread_rwlock_clockrdlock(rw, CLOCK_REALTIME, &past));
	refuse(rw);
	return NULL;
}

/* Every way to read, to somebody who can; also if the time is over. */
static void *can_read(void *argument)
{
	pthread_rwlock_t *rw = argument;
	struct timespec past = {.tv_sec = 1}, late = in_ms(CLOCK_MONOTONIC, 20000);
	int i;

	SHOW(pthread_rwlock_rdlock(rw));
	SHOW(pthread_rwlock_tryrdlock(rw));
	SHOW(pthread_rwlock_timedrdlock(rw, &past));
	SHOW(pthread_rwlock_clockrdlock(rw, CLOCK_MONOTONIC, &late));
	for (i = 0; i < 4; i++)
		SHOW(pthread_rwlock_unlock(rw));
	return NULL;
}

static void *can_write(void *argument)
{
	pthread_rwlock_t *rw = argument;
	struct timespec past = {.tv_sec = 1}, late = in_ms(CLOCK_MONOTONIC, 20000);

	SHOW(pthread_rwlock_wrlock(rw));
	SHOW(pthread_rwlock_unlock(rw));
	SHOW(pthread_rwlock_trywrlock(rw));
	SHOW(pthread_rwlock_unlock(rw));
	SHOW(pthread_rwlock_timedwrlock(rw, &past));
	SHOW(pthread_rwlock_unlock(rw));
	SHOW(pthread_rwlock_clockwrlock(rw, CLOCK_MONOTONIC, &late));
	SHOW(pthread_rwlock_unlock(rw));
	return NULL;
}

/* Whoever writes is told so, but by a trylock. */
static void deadlocks(pthread_rwlock_t *rw)
{
	struct timespec past = {.tv_sec = 1}, soon = in_ms(CLOCK_MONOTONIC, 10);

	SHOW(pthread_rwlock_rdlock(rw));
	SHOW(pthread_rwlock_wrlock(rw));
	SHOW(pthread_rwlock_tryrdlock(rw));
	SHOW(pthread_rwlock_trywrlock(rw));
	SHOW(pthread_rwlock_timedrdlock(rw, &past));
	SHOW(pthread_rwlock_timedwrlock(rw, &past));
	SHOW(pthread_rwlock_clockrdlock(rw, CLOCK_MONOTONIC, &soon));
	SHOW(pthread_rwlock_clockwrlock(rw, CLOCK_MONOTONIC, &soon));
	refuse(rw);
}

/* A lock that comes when the other lets go, within its time. */
static void *comes_in_time(void *argument)
{
	struct waiter *w = argument;
	struct timespec late = in_ms(CLOCK_REALTIME, 20000);
	struct timespec late2 = in_ms(CLOCK_MONOTONIC, 20000);

	say_who(w);
	if (w->writes) {
		SHOW(pthread_rwlock_timedwrlock(w->lock, &late));
		SHOW(pthread_rwlock_unlock(w->lock));
		SHOW(pthread_rwlock_clockwrlock(w->lock, CLOCK_MONOTONIC, &late2));
	} else {
		SHOW(pthread_rwlock_timedrdlock(w->lock, &late));
		SHOW(pthread_rwlock_unlock(w->lock));
		SHOW(pthread_rwlock_clockrdlock(w->lock, CLOCK_MONOTONIC, &late2));
	}
	SHOW(pthread_rwlock_unlock(w->lock));
	return NULL;
}

static void wait_for(pthread_rwlock_t *rw, bool to_write)
{
	struct waiter w = {.lock = rw, .writes = to_write};
	pthread_t thread;

	if (pthread_create(&thread, NULL, comes_in_time, &w) != 0)
		abort();
	await_sleep(&w);
	pthread_rwlock_unlock(rw); /* and the other one begins to print */
	pthread_join(thread, NULL);
}

/* While a writer waits, one that reads already may read again; others may not, if
 * writers come first. What else there is differs by design. */
static void read_past_a_writer(pthread_rwlock_t *rw, bool writers_first)
{
	struct waiter w = {.lock = rw, .writes = true};
	pthread_t thread;

	SHOW(pthread_rwlock_rdlock(rw));
	if (pthread_create(&thread, NULL, take_and_let_go, &w) != 0)
		abort();
	await_sleep(&w);
	if (writers_first)
		elsewhere(cannot_read, rw);
	else
		can_read(rw);
	SHOW(pthread_rwlock_unlock(rw));
	pthread_join(thread, NULL);
	can_read(rw);
}

static void use(pthread_rwlock_t *rw, bool writers_first)
{
	can_read(rw);
	can_write(rw);
	refuse(rw);
	SHOW(pthread_rwlock_rdlock(rw));
	can_read(rw);
	cannot_write(rw);
	elsewhere(can_read, rw);
	elsewhere(cannot_write, rw);
	SHOW(pthread_rwlock_unlock(rw));
	elsewhere(can_write, rw);
	SHOW(pthread_rwlock_wrlock(rw));
	deadlocks(rw);
	elsewhere(cannot_read, rw);
	elsewhere(cannot_write, rw);
	wait_for(rw, true);
	SHOW(pthread_rwlock_wrlock(rw));
	wait_for(rw, false);
	SHOW(pthread_rwlock_rdlock(rw));
	wait_for(rw, true);
	read_past_a_writer(rw, writers_first);
	/* glibc destroys what is held, too; and what is destroyed goes on. */
	SHOW(pthread_rwlock_wrlock(rw));
	SHOW(pthread_rwlock_destroy(rw));
	elsewhere(cannot_read, rw);
	SHOW(pthread_rwlock_unlock(rw));
	SHOW(pthread_rwlock_destroy(rw));
	can_write(rw);
	SHOW(pthread_rwlock_init(rw, NULL));
	can_read(rw);
	SHOW(pthread_rwlock_destroy(rw));
}

static void static_initialisers(void)
{
	static pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER, zero;
	static pthread_rwlock_t writer =
		PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

	printf("-- initialised\n");
	use(&plain, false);
	printf("-- zeroed\n");
	use(&zero, false);
	printf("-- initialised for writers\n");
	use(&writer, true);
}

static void kinds(int shared)
{
	static const int all[] = {PTHREAD_RWLOCK_PREFER_READER_NP,
				  PTHREAD_RWLOCK_PREFER_WRITER_NP,
				  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, 7};
	pthread_rwlockattr_t attr;
	pthread_rwlock_t *rw = mmap(NULL, sizeof(*rw), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	size_t i;

	if (rw == MAP_FAILED)
		abort();
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		printf("-- kind %d, shared %d\n", all[i], shared);
		SHOW(pthread_rwlockattr_init(&attr));
		SHOW(pthread_rwlockattr_setkind_np(&attr, all[i]));
		SHOW(pthread_rwlockattr_setpshared(&attr, shared));
		memset(rw, 0x5a, sizeof(*rw));
		SHOW(pthread_rwlock_init(rw, &attr));
		use(rw, all[i] == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
		SHOW(pthread_rwlockattr_destroy(&attr));
	}
	munmap(rw, sizeof(*rw));
}

static void *read_and_end(void *rw)
{
	SHOW(pthread_rwlock_rdlock(rw));
	return NULL;
}

static void *write_and_end(void *rw)
{
	SHOW(pthread_rwlock_wrlock(rw));
	return NULL;
}

/* What a thread held stays so when it has ended. */
static void ended_while_holding(void)
{
	static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER,
				other = PTHREAD_RWLOCK_INITIALIZER;

	printf("-- ended while holding\n");
	elsewhere(read_and_end, &rw);
	can_read(&rw);
	cannot_write(&rw);
	elsewhere(cannot_write, &rw);
	elsewhere(write_and_end, &other);
	elsewhere(cannot_read, &other);
	elsewhere(cannot_write, &other);
	/* Another life of the same memory knows nothing of that. */
	SHOW(pthread_rwlock_init(&rw, NULL));
	can_write(&rw);
	elsewhere(can_write, &rw);
	SHOW(pthread_rwlock_init(&other, NULL));
	can_read(&other);
	elsewhere(can_write, &other);
}

static void *let_go(void *rw)
{
	SHOW(pthread_rwlock_unlock(rw));
	return NULL;
}

/* Nobody defines it, but glibc counts readers, and cannot tell one from another. */
static void unlocked_by_another_reader(void)
{
	static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;

	printf("-- unlocked by another thread\n");
	SHOW(pthread_rwlock_rdlock(&rw));
	elsewhere(let_go, &rw);
	elsewhere(can_write, &rw);
	can_write(&rw);
	elsewhere(read_and_end, &rw);
	SHOW(pthread_rwlock_unlock(&rw));
	can_write(&rw);
}

/* Processes that share one, which is glibc's. */
static void between_processes(void)
{
	pthread_rwlock_t *rw = mmap(NULL, sizeof(*rw), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_rwlockattr_t attr;
	int status;
	pid_t child;

	printf("-- between processes\n");
	if (rw == MAP_FAILED)
		abort();
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	SHOW(pthread_rwlock_init(rw, &attr));
	SHOW(pthread_rwlock_wrlock(rw));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		cannot_read(rw);
		cannot_write(rw);
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	SHOW(pthread_rwlock_unlock(rw));
	can_write(rw);
}

/* A child may let go of what the thread that forked read. */
static void forks(void)
{
	static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
	int status;
	pid_t child;

	printf("-- fork\n");
	SHOW(pthread_rwlock_rdlock(&rw));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		can_read(&rw);
		cannot_write(&rw);
		SHOW(pthread_rwlock_unlock(&rw));
		can_write(&rw);
		elsewhere(can_write, &rw);
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("child %#x\n", (unsigned)status);
	cannot_write(&rw);
	SHOW(pthread_rwlock_unlock(&rw));
	can_write(&rw);
}

/* Reads it so often that no read needs the lock's own memory any more. */
static void read_often(pthread_rwlock_t *rw)
{
	int i;

	for (i = 0; i < 10000; i++) {
		pthread_rwlock_rdlock(rw);
		pthread_rwlock_unlock(rw);
	}
}

/* A new lock has nothing of the one that was there before. */
static void use_anew(pthread_rwlock_t *rw)
{
	SHOW(pthread_rwlock_init(rw, NULL));
	read_often(rw);
	elsewhere(can_write, rw);
	elsewhere(write_and_end, rw);
	SHOW(pthread_rwlock_tryrdlock(rw));
}

/* Initialised while it is read: once, twice at once, by a thread that has ended; and in the
 * child of a fork, where its threads are gone. */
static void initialised_anew(void)
{
	static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
	int times, i, status;
	pid_t child;

	printf("-- initialised anew\n");
	for (times = 1; times < 3; times++) {
		read_often(&rw);
		for (i = 0; i < times; i++)
			SHOW(pthread_rwlock_rdlock(&rw));
		use_anew(&rw);
		SHOW(pthread_rwlock_init(&rw, NULL));
	}
	read_often(&rw);
	elsewhere(read_and_end, &rw);
	use_anew(&rw);
	SHOW(pthread_rwlock_init(&rw, NULL));
	SHOW(pthread_rwlock_rdlock(&rw));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		use_anew(&rw);
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("child %#x\n", (unsigned)status);
	SHOW(pthread_rwlock_unlock(&rw));
	can_write(&rw);
}

/* Read by the thread that forks, in memory that the child does not get. */
static void kept_from_a_child(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	pthread_rwlock_t *rw = mmap(NULL, page, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t child;

	printf("-- kept from a child\n");
	if (rw == MAP_FAILED)
		abort();
	SHOW(pthread_rwlock_init(rw, NULL));
	read_often(rw);
	madvise(rw, page, MADV_DONTFORK);
	SHOW(pthread_rwlock_rdlock(rw));
	SHOW(pthread_rwlock_rdlock(rw));
	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, &status, 0);
	printf("child %#x\n", (unsigned)status);
	elsewhere(cannot_write, rw);
	SHOW(pthread_rwlock_unlock(rw));
	SHOW(pthread_rwlock_unlock(rw));
	elsewhere(can_write, rw);
	munmap(rw, page);
}

int main(void)
{
	alarm(HANG_GUARD_S);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	static_initialisers();
	kinds(PTHREAD_PROCESS_PRIVATE);
	kinds(PTHREAD_PROCESS_SHARED);
	ended_while_holding();
	unlocked_by_another_reader();
	between_processes();
	forks();
	initialised_anew();
	kept_from_a_child();
	return 0;
}
