/* SPDX-License-Identifier: MIT */
/*
 * The core checker: runs a program of a few threads on a few CPUs, in every
 * way in which a scheduler may preempt and migrate them and store buffers may
 * drain, and says what went wrong first. It is for code whose orders come from
 * the CPU that it runs on, such as leases, about which the graphs of
 * sim/explore say nothing. Verdicts, options and results are theirs; what a
 * result counts as executions are different states.
 */
#ifndef CORES_H
#define CORES_H

#include <sim/explore/explore.h>

enum { CORES_MAX_THREADS = 4, CORES_MAX_CPUS = 4 };

/*
 * The checked program. Its threads learn about each other through the seam.
 * Plain writes take effect at once, wherever the thread runs: ghost state, and
 * what belongs to one thread or is under a lock.
 */
struct cores_program {
	int threads, cpus;
	/* Each thread has a CPU of its own and stays there: for code that does not ask
	 * where it runs. */
	bool pinned;
	/* Weak memory: stores may race, and go to any place in their word's order that is
	 * open to them. Otherwise such a store is a failure. */
	bool stores_race;
	void (*set_up)(void *context); /* before the threads start */
	/* Then, in the name of each thread: what it did before; or NULL. */
	void (*prepare)(void *context, int thread);
	void (*thread)(void *context, int thread);
	/* Interrupts thread number `interrupted` once, anywhere; or NULL. */
	void (*handler)(void *context, int thread);
	int interrupted;
	void (*finished)(void *context); /* all threads returned; may fail */
	void *context;
};

void cores_explore(const struct cores_program *program, const struct options *options,
		   struct result *result);

/* For the checked program, while it runs. */

void *cores_allocate(size_t size, size_t alignment); /* zeroed */
/* Goes on as the parent, or, true, as the child, where no other thread is. Memory is
 * that of some moment, or with weak memory of no one moment for all of it. */
bool cores_fork(void);
/* Waits until nothing else moves. */
void cores_await_quiet(void);
int cores_thread(void);		     /* -1 while setting up or finishing */
struct sim_fiber *cores_fiber(void); /* that of the running thread, or NULL */
int cores_core(void); /* where it runs, which is no step; 0 while setting up */
/* Stops everything with a verdict. On a thread it does not return. */
void cores_fail(enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Names what starts at p, for traces; `show`, if not NULL, writes a value of it. */
void cores_label(const void *p, size_t size, const char *name,
		 void (*show)(uint64_t value, char *to, size_t size));

/* Says that nothing ever depends on these bytes: statistics. States that differ
 * in them alone are the same, and they are put back at every step. */
void cores_ignore(const void *p, size_t size);

#endif /* CORES_H */
