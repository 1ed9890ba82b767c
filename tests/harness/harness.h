/* SPDX-License-Identifier: MIT */
/*
 * One set of tests for every lock of the registry. A file in tests/locks names
 * its lock, says what it claims, and calls lock_tests; a lock with something
 * special about it adds cases of its own.
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "registry/registry.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct lock_claim {
	const char *name;	       /* in the registry */
	const void *init;	       /* an object made with the lock's INIT macro */
	size_t size;		       /* the plain lock is no larger than this */
	size_t core_size;	       /* nor the core; 0 if there is no explicit face */
	const struct CMUnitTest *more; /* further cases */
	size_t more_count;
};

/* Runs all cases, on the lock that spins and on the one that parks; returns the
 * number that failed. */
int lock_tests(const struct lock_claim *claim);

/* The lock under test. */
extern const struct lock_type *under_test;
extern const struct lock_claim *claimed;

/* Whether the lock has an order, and an arrival changes its words. */
bool arrivals_show(void);

/* Ends the current case, saying why it does not apply. */
void skip_because(const char *reason);

/* A new, all-zero lock, of exactly the lock's size; lock_drop ends it. */
void *lock_make(void);
void lock_drop(void *l);
void *core_make(void);
void core_drop(void *core);

/* Both faces behind one set of functions; PLAIN ignores the context. */
enum face { PLAIN, EXPLICIT };
union context {
	uint64_t words[8];
};
void *face_make(enum face face);
void face_drop(enum face face, void *l);
void face_lock(enum face face, void *l, union context *context);
bool face_trylock(enum face face, void *l, union context *context);
void face_unlock(enum face face, void *l, union context *context);

/* Skips the case if the lock has no trylock. */
void need_trylock(void);

/*
 * Threads of a test. A thread that waits for a lock polls without mercy; where
 * threads outnumber CPUs a hand-over would take as long as a time slice. So
 * each crew thread is made to step back several thousand times a second.
 */
struct crew {
	pthread_t threads[64];
	int size;
};
/* A crew's threads are numbered from 0; all others have number 0. */
extern __thread int crew_number;
void crew_start(struct crew *crew, void *(*run)(void *), void *argument);
void crew_join(struct crew *crew);

/*
 * Fails the process, with a sentence, if no further call comes within the
 * time. Case names the work. NULL ends the watch.
 */
void watchdog(const char *name);

/* Binds this thread to one of the CPUs it may use; false, and nothing done, if
 * they are not that many. */
bool sit_on(size_t which);

/* So many milliseconds from now. */
struct timespec in_ms(clockid_t clock, long ms);

/* Lets somebody else run: for the tests' own waiting. */
void breathe(void);

/*
 * The words of a lock that arrivals change, viewed from outside. Only for a
 * lock that is held by the caller.
 */
struct image {
	uint64_t words[544];
};
struct image lock_image(const void *l);
/* Waits until the words differ from what they were. */
void await_arrival(const void *l, const struct image *before);

/* Stops a crew thread wherever it is; there is one frozen thread at most. */
void freeze(pthread_t thread);
void thaw(void);
/* Skips the case where threads cannot be stepped or frozen. */
void need_stepping(void);

/* How many queue nodes exist that this thread does not have in its list. */
int64_t nodes_abroad(void);

/* The parts of the suite, each a table of cases. */
extern const struct CMUnitTest state_cases[];
extern const size_t state_case_count;
extern const struct CMUnitTest state_explicit_cases[];
extern const size_t state_explicit_case_count;
extern const struct CMUnitTest stress_cases[];
extern const size_t stress_case_count;
extern const struct CMUnitTest stress_explicit_cases[];
extern const size_t stress_explicit_case_count;
extern const struct CMUnitTest slow_cases[];
extern const size_t slow_case_count;
extern const struct CMUnitTest order_cases[];
extern const size_t order_case_count;

/*
 * Scripted circulation: `threads` threads queue for one lock, and every thread
 * that leaves is back in the queue before the next may leave. Everything that
 * happens is logged in the order in which it happened.
 */
struct event {
	enum { ARRIVES, ENTERS } what;
	int who;
};
struct circulation {
	int threads;
	size_t count;
	struct event *events;
	unsigned entries[16]; /* by thread */
};
void circulate(struct circulation *c, int threads, int entries);
void circulation_free(struct circulation *c);
/* The most often that one thread was overtaken by one other in one wait. */
unsigned worst_bypass(const struct circulation *c);

#endif /* TESTS_HARNESS_H */
