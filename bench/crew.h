/* SPDX-License-Identifier: MIT */
/* A crew: threads that start together and stop together. */
#ifndef PAWL_BENCH_CREW_H
#define PAWL_BENCH_CREW_H

#include <pawl/atomic.h>

typedef void crew_work(void *member);

/* The values of *stop, in this order; CREW_WARM only if there was a warm-up. */
enum { CREW_GO, CREW_WARM, CREW_END };

/*
 * Runs work(member) on `threads` threads, with consecutive members of `size` bytes each.
 * After `seconds`, or when interrupted, sets *stop, which work polls, to CREW_END and
 * joins all threads. A warm-up precedes these seconds; at its end *stop becomes
 * CREW_WARM. Returns the seconds from the start, or from the end of the warm-up, to the
 * stop; or -1, with errno set, if threads could not be created or (ETIMEDOUT) one hangs.
 * Threads may then still run: the caller should exit.
 */
double crew_run(int threads, crew_work *work, void *members, size_t size,
		pawl_atomic64 *stop, double warm_up, double seconds);

/* Seconds to wait for each thread after the stop; a thread that takes longer hangs. */
extern double crew_patience;

/* Whether each thread is pinned to a CPU, as far as there are enough: the first thread to
 * the first CPU that the process may use, and so on. */
extern bool crew_pins;

/* Ends the current run, and every later one, at once. For signal handlers. */
void crew_interrupt(void);
bool crew_interrupted(void);

/* Shares the interrupt flag with all processes forked from now on; call it before the
 * first fork. Without memory each process has its own. */
void crew_share_interrupt(void);

#endif /* PAWL_BENCH_CREW_H */
