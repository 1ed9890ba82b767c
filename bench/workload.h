/* SPDX-License-Identifier: MIT */
/*
 * What a workload is, what it is given and what it gives back.
 *
 * A workload is one file, bench/<id>.c, with one struct workload, and a line in
 * workloads.def. It runs on the locks and their peers, or on variants of its own.
 * The loop of `mutex` is compiled for every lock, with the lock inlined, because
 * the lock is all that loop does (subject.h). The other workloads do so much else
 * in an episode that they call lock and unlock through the subject's pointers.
 */
#ifndef PAWL_BENCH_WORKLOAD_H
#define PAWL_BENCH_WORKLOAD_H

#include "crew.h"
#include "subject.h"
#include "waits.h"

#include <stdbool.h>
#include <stdint.h>

enum { WORKLOAD_FIGURES = 4 };

struct bench_shape {
	int threads;
	uint32_t cs;		      /* steps in the critical section */
	uint32_t ncs;		      /* and outside of it */
	uint32_t producers, capacity; /* of a queue */
	double writes;		      /* percent of the episodes */
	double seconds;
	double warm_up; /* seconds before those; 0 unless the workload warms up */
	uint64_t seed;
	bool time_waits; /* which costs two looks at the clock an episode */
};

/* All zero but for what run() sets; NAN: there is no such figure. */
struct bench_outcome {
	double value;	  /* in the workload's unit: what subjects are ranked by */
	double ops_per_s; /* the same, where that is the unit */
	double fairness;  /* of the least to the most progressed thread */
	bool exclusive;	  /* no update was lost: what the threads say they did, the
			     shared data say, too */
	uint64_t episodes;
	double cpu_seconds;
	long context_switches;
	double figures[WORKLOAD_FIGURES]; /* as the workload names them */
	struct waits waits;		  /* if they were timed */
};

/* Returns false, with errno set, if the threads or memory could not be had. */
typedef bool workload_run(const struct bench_subject *subject,
			  const struct bench_shape *shape, struct bench_outcome *outcome);

struct workload {
	const char *name;
	const char *about;  /* one line */
	const char *source; /* the paper and section it follows */
	const char *unit;   /* "ops/s", "ns", "bytes" */
	bool less_is_better;
	workload_run *run;

	/* Its own variants, ended by NULL; or NULL: the locks and their peers. */
	const struct bench_subject *const *subjects;
	const char *reference; /* whom the others are compared with; NULL: pthread */
	bool many_locks;       /* not for subjects of which there can be but one */

	int least_threads, most_threads; /* 0: any number */
	uint32_t cs, ncs;		 /* unless said otherwise; cs 0: it has neither */
	uint32_t producers, capacity;	 /* likewise; 0: it has none. One thread more
					 than producers is needed */
	double writes;	  /* percent, likewise; 0: all episodes are alike */
	bool outnumbers;  /* its threads are to outnumber the CPUs, too */
	bool times_waits; /* can do so, in a run of its own */
	bool warms_up;	  /* can tell what comes after a warm-up */
	const char *figures[WORKLOAD_FIGURES]; /* names, in JSON and in tables */
};

/* All of workloads.def, ended by NULL. */
extern const struct workload *const workloads[];

/* MutexBench, also for workloads that bring variants of a lock along. */
workload_run mutex_run;

/* What run() functions share. */

/* Zeroed members for crew_run, kept off each other's lines; NULL if there is no
 * memory. To be freed. */
void *workload_members(int threads, size_t size);

/* crew_run(), with CPU time and context switches accounted to *outcome, which it
 * clears first. */
double workload_crew(const struct bench_shape *shape, crew_work *work, void *members,
		     size_t size, pawl_atomic64 *stop, struct bench_outcome *outcome);

/* Adds up episodes, thread by thread; all zero to begin with. */
struct tally {
	int threads;
	uint64_t total, least, most;
};
void tally_add(struct tally *tally, uint64_t episodes);

/* Operations a second, and fairness, from what was added up. */
void tally_report(const struct tally *tally, double elapsed,
		  struct bench_outcome *outcome);

#endif /* PAWL_BENCH_WORKLOAD_H */
