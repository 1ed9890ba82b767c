/* SPDX-License-Identifier: MIT */
/*
 * Subjects: what a workload can be run on. A subject is a lock, or a peer from
 * another library, with the loop of every workload compiled for it.
 */
#ifndef PAWL_BENCH_SUBJECT_H
#define PAWL_BENCH_SUBJECT_H

#include "crew.h"
#include "mutex.h"

struct bench_subject {
	const char *name;
	crew_work *mutex;	  /* on a struct mutex_thread */
	void (*init)(void *l);	  /* NULL: zero bytes are an unlocked lock */
	void (*destroy)(void *l); /* NULL: nothing need be done */
};

/*
 * Defines the loops of subject `id` from its operations, which are functions
 * of a void *. Followed by SUBJECT_LOOPS in its struct bench_subject.
 */
#define DEFINE_SUBJECT_LOOPS(id, lock, unlock)                   \
	static __attribute__((flatten)) void id##_mutex(void *m) \
	{                                                        \
		mutex_loop(m, lock, unlock);                     \
	}                                                        \
	struct bench_subject

#define SUBJECT_LOOPS(id) .mutex = id##_mutex

/* All subjects: the locks in the order of locks.def, then the peers. Ended by
 * NULL. */
extern const struct bench_subject *const bench_subjects[];

/* The peers, one file each. */
extern const struct bench_subject bench_pthread;

#endif /* PAWL_BENCH_SUBJECT_H */
