/* SPDX-License-Identifier: MIT */
/* What the cases of integrity share, and the cases. */
#ifndef PAWL_TESTS_INTEGRITY_H
#define PAWL_TESTS_INTEGRITY_H

#include "check.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 6 };

extern int thread_count, run_ms, effort;
extern volatile bool stop; /* run_for's threads end */

struct timespec in_ms(clockid_t clock, long ms);
void start_all(pthread_t *threads, int n, void *(*run)(void *), void *argument);
void join_all(pthread_t *threads, int n);
void run_for(long ms, int n, void *(*run)(void *), void *argument);

/* `inside` catches two owners at once, the sum lost updates. */
struct shared {
	pthread_mutex_t m;
	pthread_cond_t c;
	int inside;
	long sum;
	long counted;
};

/* Locks a struct shared in all ways, until the end. */
void *hammer(void *argument);

struct party {
	pthread_mutex_t *m;
	pthread_cond_t *c;
	int depth;
	volatile pid_t about_to_wait;
};

/* Is the thread asleep in the kernel? */
bool is_asleep(pid_t id);

/* integrity_load.c */
void exclusion(void);
void pingpong(void);
void broadcast(void);
void fair(void);
void many(void);
void churn(void);
void stranger(void);
void timed(void);
void spins(void);
void newcomers(void);
void depths(void);
void mixture(void);

/* integrity_disturbed.c */
void forks(void);
void cancel(void);
void signals(void);
void farewell(void);
void small(void);
void leave_in_the_middle(void);
void forgotten(void);

/* integrity_jumps.c */
void jumps(void);
void jumps_about(void);
void jumps_from_cond(void);
void cancels_at_once(void);

#endif /* PAWL_TESTS_INTEGRITY_H */
