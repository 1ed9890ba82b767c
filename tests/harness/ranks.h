/* SPDX-License-Identifier: MIT */
/*
 * Threads of different priorities that share a mutex on one CPU. Who outranks the
 * holder keeps it from running for as long as it polls or yields.
 */
#ifndef TESTS_RANKS_H
#define TESTS_RANKS_H

/* A mutex and two condition variables, however they are made. */
struct ranks_monitor {
	void (*lock)(void);
	void (*unlock)(void);
	void (*wait)(int which);
	void (*signal)(int which);
};

/* Real-time threads need a privilege. */
enum ranks_verdict { RANKS_RIGHT, RANKS_WRONG, RANKS_REFUSED };

/*
 * Each binds the process to one CPU, ends when every thread has had the mutex as often
 * as it wanted, and says whether nobody was lost. If somebody starves an alarm ends
 * the process. The policy is SCHED_FIFO or SCHED_RR.
 */

/* The lowest holds the mutex, for longer and longer, when two others come. */
enum ranks_verdict ranks_arrive(const struct ranks_monitor *monitor, int policy);
/* All want it at times of their own. */
enum ranks_verdict ranks_compete(const struct ranks_monitor *monitor, int policy);
/* A queue of one place, from the lowest to the others, and from the highest. */
enum ranks_verdict ranks_queue(const struct ranks_monitor *monitor, int policy);
/* All sleep, the lowest first: the highest is served first. By the mutex; and by so many
 * signals. */
enum ranks_verdict ranks_lock_in_order(const struct ranks_monitor *monitor, int policy);
enum ranks_verdict ranks_wait_in_order(const struct ranks_monitor *monitor, int policy);
/* No real-time threads, but many, beside busy processes, `sections` each. */
enum ranks_verdict ranks_crowd(const struct ranks_monitor *monitor, int sections);

#endif /* TESTS_RANKS_H */
