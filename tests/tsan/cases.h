/* SPDX-License-Identifier: MIT */
/*
 * Programs as a user of pawl builds them with -fsanitize=thread, against the
 * library as it is installed. Each case comes twice: right, where TSan must have
 * nothing to say, and with a race, which it must report.
 */
#ifndef TESTS_TSAN_CASES_H
#define TESTS_TSAN_CASES_H

#include <stdbool.h>

/* Runs both parts at once, in two threads that only know of each other what the
 * case itself lets them know. */
void together(void (*first)(void), void (*second)(void));

/* Runs it in a thread of its own, whose end nobody waits for. */
void detached(void (*part)(void));

/* Runs a case, whose name is what and which; the test fails if TSan reports
 * something, or nothing. */
void clean(const char *what, const char *which, void (*run)(void));
void racy(const char *what, const char *which, void (*run)(void));

/*
 * Steps of a case, begun anew by clean and racy: one part waits for the other
 * without TSan knowing of it, so that nothing but what is tested orders the two.
 */
void reach(int step);
void await_step(int step);

/* Waits until a thread sleeps in the parking table. */
void await_parked(void);

/* Lets the other thread run for a while, where there is nothing to wait for. */
void linger(void);

/* Ends the test with a sentence. */
void demand(bool met, const char *what);

/* Two variables: in `guarded` everything is in order. */
extern long guarded, exposed;

void test_locks(void);
void test_mutex(void);
void test_leases(void);
void test_stores(void);
void test_others(void);
void test_shared(void);

#endif /* TESTS_TSAN_CASES_H */
