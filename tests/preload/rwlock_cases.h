/* SPDX-License-Identifier: MIT */
/* What the programs about read-write locks share: time limits, and threads that are
 * known to wait. */
#ifndef PAWL_TESTS_RWLOCK_CASES_H
#define PAWL_TESTS_RWLOCK_CASES_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* A thread that is about to wait for a lock. */
struct waiter {
	pthread_rwlock_t *volatile lock;
	bool writes;
	volatile pid_t id; /* 0 until it begins */
};

static inline void say_who(struct waiter *w)
{
	w->id = gettid();
}

static inline void *take_and_let_go(void *argument)
{
	struct waiter *w = argument;

	say_who(w);
	if (w->writes)
		pthread_rwlock_wrlock(w->lock);
	else
		pthread_rwlock_rdlock(w->lock);
	pthread_rwlock_unlock(w->lock);
	return NULL;
}

/* Returns when the thread sleeps, which it does for nothing but the lock. */
static inline void await_sleep(const struct waiter *w)
{
	char path[64], state = 0;
	FILE *file;

	while (w->id == 0)
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)w->id);
	while (state != 'S') {
		sched_yield();
		file = fopen(path, "r");
		if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			abort();
		fclose(file);
	}
}

#endif /* PAWL_TESTS_RWLOCK_CASES_H */
