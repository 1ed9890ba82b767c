/* SPDX-License-Identifier: MIT */
/* The papers' experiments, on the coherence engine. */
#ifndef SIM_COHERENCE_WORKLOAD_H
#define SIM_COHERENCE_WORKLOAD_H

#include <sim/coherence/engine.h>

enum workload {
	WORKLOAD_MUTEX,	    /* all threads: lock, section, unlock, section */
	WORKLOAD_MULTIWAIT, /* a leader takes ten locks, the others one of them */
	WORKLOAD_DIAMETER,  /* one thread writes a word, the others read it */
	WORKLOAD_RING,	    /* a token goes round by mailboxes */
	WORKLOAD_READERS,   /* all threads: read a reader-writer lock */
};

enum { WORKLOAD_LOCKS = 10 }; /* of WORKLOAD_MULTIWAIT */

struct workload_setup {
	struct coherence_setup engine;
	enum workload workload;
	/* A lock's name; for the ring the way to poll: load, cas, fetch-add;
	 * for the diameter the operation that writes: fetch-add; for readers
	 * the form of the lock. */
	const char *lock;
	uint64_t cs;	    /* steps of a generator in the critical section */
	uint64_t ncs;	    /* outside it: a random number below this */
	bool private_data;  /* the generator of the critical section is the thread's */
	bool explicit_face; /* context is kept outside of the lock, if there is any */
	uint64_t episodes;  /* to be measured; at first some more are not */
};

struct workload_result {
	double ops_per_s; /* of virtual time; of the leader, or the writer */
	double fairness;  /* episodes of the slowest thread / of the fastest */
	double misses, invalidations, remote_misses, rmws; /* an episode */
	double node_fairness; /* episodes of the slowest node, for each of its threads */
	double streak;	      /* episodes of one cluster in a row: the mean, */
	uint64_t longest_streak; /* and the most */
};

/* The names it can be run with, ended by NULL. */
const char *const *workload_subjects(enum workload workload);

struct workload_result workload_run(const struct workload_setup *setup);

/*
 * Runs them all, in `jobs` processes. A setup whose stop() is true already is left
 * out, its result zero. progress() may be NULL.
 */
void workload_run_all(const struct workload_setup setups[],
		      struct workload_result results[], size_t count, unsigned jobs,
		      void (*progress)(size_t done, size_t count));

#endif /* SIM_COHERENCE_WORKLOAD_H */
