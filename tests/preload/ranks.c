/* SPDX-License-Identifier: MIT */
/* A pthread_mutex_t among threads of different priorities on one CPU; with an argument, in
 * which order threads are served that sleep. Ends with 77 if there can be no such threads
 * here. */
#include "check.h"

#include "../harness/ranks.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

enum { ORDERS = 20 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};

static void lock(void)
{
	CHECK(pthread_mutex_lock(&m) == 0);
}

static void unlock(void)
{
	CHECK(pthread_mutex_unlock(&m) == 0);
}

static void wait(int which)
{
	CHECK(pthread_cond_wait(&c[which], &m) == 0);
}

static void tell(int which)
{
	CHECK(pthread_cond_signal(&c[which]) == 0);
}

static void expect_right(enum ranks_verdict verdict)
{
	if (verdict == RANKS_REFUSED) {
		printf("this process may not have real-time threads\n");
		exit(77);
	}
	CHECK(verdict == RANKS_RIGHT);
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void write_lock(void)
{
	CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
}

static void write_unlock(void)
{
	CHECK(pthread_rwlock_unlock(&rwlock) == 0);
}

static volatile bool has_read;

static void *write_once(void *unused)
{
	write_lock();
	write_unlock();
	return unused;
}

static void *read_once(void *unused)
{
	CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
	has_read = true;
	CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	return unused;
}

static void start(pthread_t *thread, int priority, void *(*run)(void *))
{
	struct sched_param parameters = {.sched_priority = priority};
	pthread_attr_t attributes;

	CHECK(pthread_attr_init(&attributes) == 0);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
	pthread_attr_setschedparam(&attributes, &parameters);
	CHECK(pthread_create(thread, &attributes, run, NULL) == 0);
	pthread_attr_destroy(&attributes);
}

/* On the one CPU of the cases before, each thread runs until it sleeps. */
static void a_high_reader_passes_a_waiting_writer(void)
{
	pthread_t writer, reader;

	CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
	start(&writer, 1, write_once);
	has_read = false;
	start(&reader, 2, read_once);
	CHECK(has_read);
	CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	CHECK(pthread_join(writer, NULL) == 0 && pthread_join(reader, NULL) == 0);
}

int main(int argc, char **argv)
{
	static const int policies[] = {SCHED_FIFO, SCHED_RR};
	const struct ranks_monitor monitor = {lock, unlock, wait, tell};
	const struct ranks_monitor writers = {write_lock, write_unlock, NULL, NULL};
	int i;

	(void)argv;
	for (i = 0; argc > 1 && i < ORDERS; i++) {
		expect_right(ranks_lock_in_order(&monitor, policies[i % 2]));
		expect_right(ranks_wait_in_order(&monitor, policies[i % 2]));
		expect_right(ranks_lock_in_order(&writers, policies[i % 2]));
		a_high_reader_passes_a_waiting_writer();
	}
	if (argc > 1)
		return 0;

	/* Queues that hand over have it change hands, and threads, each time. */
	CHECK(ranks_crowd(&monitor, 20) == RANKS_RIGHT);
	for (i = 0; i < 2; i++) {
		expect_right(ranks_arrive(&monitor, policies[i]));
		expect_right(ranks_compete(&monitor, policies[i]));
		expect_right(ranks_queue(&monitor, policies[i]));
	}
	return 0;
}
