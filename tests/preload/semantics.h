/* SPDX-License-Identifier: MIT */
/* What the parts of semantics share: see semantics.c. */
#ifndef PAWL_TESTS_SEMANTICS_H
#define PAWL_TESTS_SEMANTICS_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

enum { MARK = 12345 };

#define SHOW(call)   (errno = MARK, print(#call, call))
#define SHOW11(call) (errno = MARK, print11(#call, call))

struct meeting {
	pthread_mutex_t *m;
	pthread_cond_t *c;
	int waiting, go;
};

/* Runs a function in another thread, to its end. */
void elsewhere(void *(*run)(void *), void *argument);
struct timespec in_ms(clockid_t clock, long ms);
void print(const char *what, int result);
/* C11's results are numbers of their own. */
void print11(const char *what, int result);
void *unlock(void *argument);
/* Every call on a mutex that is unlocked, of any type but normal's deadlock. */
void use(pthread_mutex_t *m, bool relock, bool checks_owner);
void *wait_for_go(void *argument);
/* Every way to wait, in time and too late, and every way to be woken. */
void wait_with(pthread_mutex_t *m, pthread_cond_t *c);

/* semantics_kinds.c */
void mutexes_of_all_types(void);
void static_initialisers(void);
void objects_of_glibc(void);
void signals_for_others(void);
void monotonic_conds(void);
void recursive_wait(void);
void overflow(void);

/* semantics_trouble.c */
void cancellation(void);
void forks(void);
void c11(void);
void spins(void);
void destroy_all_kinds_while_waiting(void);
void wait_unowned(void);
void owners(void);
void unlocked_by_a_handler(void);
void bequests(void);

#endif /* PAWL_TESTS_SEMANTICS_H */
