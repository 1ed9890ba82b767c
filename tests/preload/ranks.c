/* SPDX-License-Identifier: MIT */
/* A pthread_mutex_t among threads of different priorities on one CPU; with an argument, in
 * which order threads are served that sleep. Ends with 77 if there can be no such threads
 * here. */
#include "check.h"

#include "../harness/ranks.h"

#include <pthread.h>
#include <sched.h>
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
