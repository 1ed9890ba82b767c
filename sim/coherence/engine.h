/* SPDX-License-Identifier: MIT */
/*
 * The coherence engine: runs simulated threads, one on each CPU, and charges every memory
 * access with the cost that the caches of a machine would cause.
 *
 * Memory itself is real: an operation takes effect at once, in the order of virtual time.
 * Only time and the state of each cache line are modelled.
 *
 * A simulation is opened, given threads, run and closed. Others may be opened and run in
 * between, but not by its threads.
 */
#ifndef SIM_COHERENCE_ENGINE_H
#define SIM_COHERENCE_ENGINE_H

#include <sim/coherence/machine.h>

/* The node that has the directory entry of a line. */
enum homes {
	HOMES_FIRST_TOUCH, /* the node of the CPU that first touched the page */
	HOMES_BY_ADDRESS,  /* round robin by page */
};

/* The node of a thread's own storage (wait elements, queue nodes). */
enum thread_homes {
	THREADS_AT_HOME, /* on the thread's own node */
	THREADS_AWAY,	 /* on the next node */
	THREADS_ON_ZERO, /* all on node 0 */
};

/* Assignment of threads to CPUs. */
enum placement {
	PLACE_CORES,  /* cores of one socket, then of the next, then SMT siblings */
	PLACE_SPREAD, /* round robin over the sockets */
};

struct coherence_setup {
	const struct machine *machine;
	unsigned threads; /* at most machine_cpus() */
	uint64_t seed;
	enum homes homes;
	enum thread_homes thread_homes;
	enum placement placement;
	bool pairs;	    /* lines are 128 bytes: pairs of 64 */
	bool (*stop)(void); /* polled; true ends the simulation; may be NULL */
};

/* Events, summed over all CPUs. */
struct coherence_counts {
	uint64_t misses;	/* transactions: reads, upgrades, reads for ownership */
	uint64_t remote_misses; /* misses served by a home on another node */
	uint64_t invalidations; /* copies lost to a write of another CPU */
	uint64_t rmws;		/* read-modify-writes, without polls that hit */
};

struct coherence;

struct coherence *coherence_open(const struct coherence_setup *setup);
void coherence_close(struct coherence *c);

/* Creates a thread that calls run(argument) at time 0. */
void coherence_spawn(struct coherence *c, unsigned thread, void (*run)(void *argument),
		     void *argument);

/*
 * Runs until a thread or stop() ends the simulation, or all threads have returned.
 * Returns false on a deadlock. Called again, it continues where it stopped.
 */
bool coherence_run(struct coherence *c);

/* Zeroed memory on separate cache lines, until the simulation is closed. */
void *coherence_memory(struct coherence *c, size_t size);

/* For threads. Virtual time, in picoseconds, and the counts so far: */
uint64_t coherence_now(void);
struct coherence_counts coherence_counts(void);

void coherence_stop(void) __attribute__((noreturn));
void coherence_delay(uint64_t picoseconds);
void coherence_read(const void *p);
void coherence_write(void *p);
uint64_t coherence_random(uint64_t below);
unsigned coherence_self(void); /* number of the running thread */
unsigned coherence_node_of(unsigned thread);
unsigned coherence_cluster_of(unsigned thread);

#endif /* SIM_COHERENCE_ENGINE_H */
