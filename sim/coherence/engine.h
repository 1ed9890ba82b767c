/* SPDX-License-Identifier: MIT */
/*
 * The coherence engine: runs simulated threads, one on each CPU, and charges
 * every memory access for what the caches of a machine would make of it.
 *
 * Memory itself is real: an operation takes effect at once, in the order of
 * virtual time. Only time and the state of each cache line are modelled.
 *
 * A simulation is opened, given threads, run and closed. Others may be opened and
 * run in between, by whoever is not one of its threads.
 */
#ifndef SIM_COHERENCE_ENGINE_H
#define SIM_COHERENCE_ENGINE_H

#include <sim/coherence/machine.h>

/* Which node keeps the directory entry of a line. */
enum homes {
	HOMES_FIRST_TOUCH, /* of the CPU that first touched the page */
	HOMES_BY_ADDRESS,  /* pages take turns */
};

/* Where the storage that belongs to a thread (elements, queue nodes) lives. */
enum thread_homes {
	THREADS_AT_HOME, /* on the thread's own node */
	THREADS_AWAY,	 /* on the next node */
	THREADS_ON_ZERO, /* all on node 0 */
};

/* Which CPU a thread gets. */
enum placement {
	PLACE_CORES,  /* cores of one socket, then of the next, then siblings */
	PLACE_SPREAD, /* sockets take turns */
};

struct coherence_setup {
	const struct machine *machine;
	unsigned threads; /* at most machine_cpus() */
	uint64_t seed;
	enum homes homes;
	enum thread_homes thread_homes;
	enum placement placement;
	bool pairs;	    /* lines come in pairs of 64 bytes */
	bool (*stop)(void); /* asked now and then: to stop? may be NULL */
};

/* What happened, over all CPUs. */
struct coherence_counts {
	uint64_t misses;	/* transactions: reads, upgrades, reads to own */
	uint64_t remote_misses; /* those settled by a home on another node */
	uint64_t invalidations; /* copies lost to another CPU's write */
	uint64_t rmws;		/* read-modify-writes; polls that hit are not counted */
};

struct coherence;

struct coherence *coherence_open(const struct coherence_setup *setup);
void coherence_close(struct coherence *c);

/* Makes a thread that calls run(argument) at time 0. */
void coherence_spawn(struct coherence *c, unsigned thread, void (*run)(void *argument),
		     void *argument);

/*
 * Runs until a thread or stop() stops the simulation, or all have returned. Returns
 * false if threads are left that wait for something nobody will do. Called again,
 * it goes on from where it stopped.
 */
bool coherence_run(struct coherence *c);

/* Zeroed memory on cache lines of its own, until the simulation is closed. */
void *coherence_memory(struct coherence *c, size_t size);

/* For threads. Virtual time, in picoseconds, and what has happened until now: */
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
