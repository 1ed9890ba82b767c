/* SPDX-License-Identifier: MIT */
/*
 * Workloads: their description, parameters and results.
 *
 * A workload is one file, bench/<id>.c, with one struct workload, and a line in
 * workloads.def. It runs on the locks and their peers, or on variants of its own. The
 * loop of `mutex` is compiled for every lock, with the lock inlined, because the lock is
 * all that loop does (subject.h). The other workloads do so much else in an episode that
 * they call lock and unlock through the subject's pointers.
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
	uint32_t ncs;		      /* steps outside of it */
	uint32_t producers, capacity; /* of a queue */
	double writes;		      /* percent of the episodes */
	double seconds;
	double warm_up; /* in seconds, before those; 0 unless warms_up */
	uint64_t seed;
	bool time_waits; /* which reads the clock twice per episode */
};

/* run() sets some fields, the others are zero; NAN: not available. */
struct bench_outcome {
	double value;	  /* in the workload's unit; subjects are ranked by it */
	double ops_per_s; /* the same, if that is the unit */
	double fairness;  /* episodes of the slowest thread / of the fastest */
	bool exclusive;	  /* no update was lost: data and counts agree */
	uint64_t episodes;
	double cpu_seconds;
	long context_switches;
	double figures[WORKLOAD_FIGURES]; /* see workload.figures */
	struct waits waits;		  /* if they were timed */
};

/* Returns false, with errno set, if threads or memory are not available. */
typedef bool workload_run(const struct bench_subject *subject,
			  const struct bench_shape *shape, struct bench_outcome *outcome);

struct workload {
	const char *name;
	const char *about;  /* one line */
	const char *source; /* the paper and section it follows */
	const char *unit;   /* "ops/s", "ns", "bytes" */
	bool less_is_better;
	workload_run *run;

	/* Its own variants, ending with NULL; or NULL: the locks and their peers. */
	const struct bench_subject *const *subjects;
	const char *reference; /* what the others are compared with; NULL: pthread */
	bool many_locks;       /* excludes subjects that are single */

	int least_threads, most_threads; /* 0: any number */
	uint32_t cs, ncs;		 /* defaults; cs 0: it has neither */
	uint32_t producers, capacity;	 /* defaults; 0: none. Needs one thread more than
					  * producers */
	double writes;			 /* default, percent; 0: all episodes are alike */
	bool outnumbers;		 /* also runs with more threads than CPUs */
	bool times_waits;		 /* can time waits, in a run of its own */
	bool warms_up;			 /* supports a warm-up */
	const char *figures[WORKLOAD_FIGURES]; /* names, in JSON and in tables */
};

/* All of workloads.def; ends with NULL. */
extern const struct workload *const workloads[];

/* MutexBench, also for workloads with variants of a lock. */
workload_run mutex_run;

/* Helpers of run() functions. */

/* Zeroed members for crew_run, on separate cache lines; NULL if there is no memory. To be
 * freed. */
void *workload_members(int threads, size_t size);

/* crew_run() that adds CPU time and context switches to *outcome, which it clears
 * first. */
double workload_crew(const struct bench_shape *shape, crew_work *work, void *members,
		     size_t size, pawl_atomic64 *stop, struct bench_outcome *outcome);

/* Sums up episodes by thread; initially zero. */
struct tally {
	int threads;
	uint64_t total, least, most;
};
void tally_add(struct tally *tally, uint64_t episodes);

/* Computes operations per second and fairness. */
void tally_report(const struct tally *tally, double elapsed,
		  struct bench_outcome *outcome);

#endif /* PAWL_BENCH_WORKLOAD_H */
