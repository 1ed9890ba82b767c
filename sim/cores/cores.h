/* SPDX-License-Identifier: MIT */
/*
 * The core checker: runs a program of a few threads on a few CPUs and explores every way
 * in which a scheduler may preempt and migrate the threads and store buffers may drain.
 * It is for code whose ordering depends on the CPU that it runs on, such as leases, which
 * the execution graphs of sim/explore do not model. Verdicts, options and results are
 * those of sim/explore; the number of executions in a result is the number of distinct
 * states.
 */
#ifndef CORES_H
#define CORES_H

#include <sim/explore/explore.h>

enum { CORES_MAX_THREADS = 4, CORES_MAX_CPUS = 4 };

/*
 * The checked program. Its threads communicate through the seam. Plain writes take effect
 * at once, on any CPU: they are for ghost state, for data of one thread and for data
 * under a lock.
 */
struct cores_program {
	int threads, cpus;
	/* Each thread has its own CPU and stays there: for code that does not depend on
	 * the CPU. */
	bool pinned;
	/* With weak memory: stores may race, and each goes to any position in the
	 * modification order of its word that coherence allows. Otherwise a racing store
	 * is a failure. */
	bool stores_race;
	void (*set_up)(void *context); /* before the threads start */
	/* Then runs once for each thread: what that thread did before the start; or NULL. */
	void (*prepare)(void *context, int thread);
	void (*thread)(void *context, int thread);
	/* A signal handler that interrupts thread number `interrupted` once, at any step;
	 * or NULL. */
	void (*handler)(void *context, int thread);
	int interrupted;
	void (*finished)(void *context); /* all threads returned; may fail */
	void *context;
};

void cores_explore(const struct cores_program *program, const struct options *options,
		   struct result *result);

/* For the checked program, while it runs. */

void *cores_allocate(size_t size, size_t alignment); /* zeroed */
/* Returns false in the parent and true in the child, which has no other thread. The
 * child's memory is a snapshot of one moment; with weak memory, words may be of different
 * moments. */
bool cores_fork(void);
/* Waits until no other thread can run. */
void cores_await_quiet(void);
int cores_thread(void);		     /* -1 during set_up and finished */
struct sim_fiber *cores_fiber(void); /* of the running thread, or NULL */
int cores_core(void); /* CPU of the running thread; no step; 0 during set_up */
/* Ends the search with a verdict. Does not return on a thread. */
void cores_fail(enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Names the object at p in traces; `show`, if not NULL, formats its values. */
void cores_label(const void *p, size_t size, const char *name,
		 void (*show)(uint64_t value, char *to, size_t size));

/* Excludes these bytes from the state: statistics that nothing depends on. States that
 * differ only in them are equal, and they are restored at every step. */
void cores_ignore(const void *p, size_t size);

#endif /* CORES_H */
