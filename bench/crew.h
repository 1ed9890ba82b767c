/* SPDX-License-Identifier: MIT */
/* A crew: threads that start together, and stop together when told to. */
#ifndef PAWL_BENCH_CREW_H
#define PAWL_BENCH_CREW_H

#include <pawl/atomic.h>

typedef void crew_work(void *member);

/* What *stop says, in this order; CREW_WARM only if there was a warm-up. */
enum { CREW_GO, CREW_WARM, CREW_END };

/*
 * Runs work(member) on as many threads, with consecutive members of `size`
 * bytes each; after so many seconds, or when interrupted, sets *stop, which
 * work looks at, to CREW_END and waits until all have returned. If there is a
 * warm-up, which comes before those seconds, its end makes *stop CREW_WARM.
 * Returns the seconds from the first start, or that end, to the stop; or -1,
 * with errno set, if the threads could not be had, or (ETIMEDOUT) one does not
 * return. Those that there are then go on for ever: the caller should exit.
 */
double crew_run(int threads, crew_work *work, void *members, size_t size,
		pawl_atomic64 *stop, double warm_up, double seconds);

/* For so many seconds after the stop, and after another one returned, is a thread
 * waited for: more, and it hangs. */
extern double crew_patience;

/* Whether each thread keeps to a CPU of its own, as far as there are CPUs: the first one
 * to the first that the process may use, and so on. */
extern bool crew_pins;

/* Cuts the current run, and every later one, short. For signal handlers. */
void crew_interrupt(void);
bool crew_interrupted(void);

/* An interrupt of this process is also one of those that it forks from now on, and the
 * other way round; call it before the first. Without memory each has its own. */
void crew_share_interrupt(void);

#endif /* PAWL_BENCH_CREW_H */
