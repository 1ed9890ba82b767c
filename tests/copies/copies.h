/* SPDX-License-Identifier: MIT */
/* What the cases of copies.c share: copies that are loaded, and threads that use them. */
#ifndef TESTS_COPIES_COPIES_H
#define TESTS_COPIES_COPIES_H

#include "../harness/hang.h"
#include "copy.h"

#include <pthread.h>
#include <sys/types.h>

enum { MOST = 4, THREADS = 6, ROUNDS = 20000, HAND_OVERS = 200 };

/* Ends the process with a line about what is not so. */
void check(bool good, const char *what);

/* The copies, by their numbers: the shared objects, how many there are, and those that are
 * loaded. */
extern const char *const *paths;
extern unsigned count;
extern const struct copy *copies[MOST];
void load(unsigned i);
void unload(unsigned i);
/* Those that are loaded, in turn. */
const struct copy *copy_of(unsigned i);

/* A thread. */
struct actor {
	pthread_t thread;
	unsigned number;
	pid_t id; /* 0 before it runs */
	void (*act)(struct actor *);
};
void begin(struct actor *actor, unsigned number, void (*act)(struct actor *));
void end(struct actor *actor);
/* So many threads, to their end. */
void all(unsigned threads, void (*act)(struct actor *));

void nap(long ms);
/* Returns when it has slept through some looks in a row: it does not just nap. */
void await_sleep(const struct actor *actor);
double now(void);
struct timespec in_seconds(time_t seconds);

/* What copies.c and others count in, inside a lock. */
extern long counter, other;
void pause_inside(void);

/* rwlocks.c: reads *l so often that a reader needs its record alone, without a fence. */
void bias(const struct copy *copy, struct pawl_rwlock *l);
void case_rwlock(void);
void case_rwlock_fork(void);

#endif /* TESTS_COPIES_COPIES_H */
