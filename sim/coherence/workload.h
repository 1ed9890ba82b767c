/* SPDX-License-Identifier: MIT */
/* The papers' experiments on the coherence engine. */
#ifndef SIM_COHERENCE_WORKLOAD_H
#define SIM_COHERENCE_WORKLOAD_H

#include <sim/coherence/engine.h>

enum workload {
	WORKLOAD_MUTEX,	    /* all threads: lock, section, unlock, section */
	WORKLOAD_MULTIWAIT, /* a leader takes ten locks, the others one of them */
	WORKLOAD_DIAMETER,  /* one thread writes a word, the others read it */
	WORKLOAD_RING,	    /* a token circulates through mailboxes */
	WORKLOAD_READERS,   /* all threads: read a reader-writer lock */
};

enum { WORKLOAD_LOCKS = 10 }; /* in WORKLOAD_MULTIWAIT */

struct workload_setup {
	struct coherence_setup engine;
	enum workload workload;
	/* A lock's name; ring: how to poll (load, cas, fetch-add); diameter: the writing
	 * operation (fetch-add); readers: the mode of the lock. */
	const char *lock;
	uint64_t cs;	    /* random number steps in the critical section */
	uint64_t ncs;	    /* outside it: a random number of steps below this */
	bool private_data;  /* the critical section uses the thread's own generator */
	bool explicit_face; /* the explicit face, if the lock has one */
	uint64_t episodes;  /* measured ones, after a warm-up */
};

struct workload_result {
	double ops_per_s; /* in virtual time; of the leader, or the writer */
	double fairness;  /* episodes of the slowest thread / of the fastest */
	double misses, invalidations, remote_misses, rmws; /* per episode */
	double node_fairness;	 /* the same by node, per thread of the node */
	double streak;		 /* mean number of consecutive episodes of a cluster */
	uint64_t longest_streak; /* the maximum */
};

/* The possible values of `lock`, ending with NULL. */
const char *const *workload_subjects(enum workload workload);

struct workload_result workload_run(const struct workload_setup *setup);

/*
 * Runs all setups in `jobs` processes. A setup whose stop() returns true at its start is
 * skipped and has a zero result. progress() may be NULL.
 */
void workload_run_all(const struct workload_setup setups[],
		      struct workload_result results[], size_t count, unsigned jobs,
		      void (*progress)(size_t done, size_t count));

#endif /* SIM_COHERENCE_WORKLOAD_H */
