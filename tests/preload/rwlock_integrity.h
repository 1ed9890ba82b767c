/* SPDX-License-Identifier: MIT */
/* What the cases about read-write locks under load share. */
#ifndef PAWL_TESTS_RWLOCK_INTEGRITY_H
#define PAWL_TESTS_RWLOCK_INTEGRITY_H

#include "rwlock_cases.h"

#include "check.h"

enum { THREADS = 6, RUN_MS = 400, WARM = 600 };

struct shared {
	pthread_rwlock_t rw;
	volatile long begun, ended; /* equal, but for who writes */
	long counted;
	bool nonrecursive; /* glibc's would wait for itself */
};

extern volatile bool stop;

void start_all(pthread_t *threads, int n, void *(*run)(void *), void *argument);
void join_all(pthread_t *threads, int n);
void run_for(long ms, int n, void *(*run)(void *), void *argument);
void elsewhere(void *(*run)(void *), void *argument);

/* Reads until the lock takes it for one that is mostly read. */
void warm_up(pthread_rwlock_t *rw);

/* What readers and writers do. */
void look(struct shared *s, unsigned way);
void change(struct shared *s, unsigned way);

/* Threads on a struct shared: all ways to lock, until it is time to stop; or one. */
void *hammer(void *argument);
void *write_on(void *argument);
void *hundred_writes(void *argument);
void *hundred_reads(void *argument);

/* Cases, in rwlock_disturbed.c. */
void forks(void);
void signals(void);
void jumps(void);
void cancels_at_once(void);
void stranger(void);
void farewell(void);
void leave_in_the_middle(void);

#endif /* PAWL_TESTS_RWLOCK_INTEGRITY_H */
