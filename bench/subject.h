/* SPDX-License-Identifier: MIT */
/*
 * Subjects: the locks that a workload measures. A subject is one of pawl's locks, or a
 * peer from another library, with the loop of the mutex workload compiled for it; or a
 * variant that a workload defines.
 */
#ifndef PAWL_BENCH_SUBJECT_H
#define PAWL_BENCH_SUBJECT_H

#include "crew.h"
#include "mutex.h"

#include <string.h>

/* A condition variable that belongs to a lock. */
struct bench_cond_type {
	void (*init)(void *c);	  /* NULL: zero bytes are valid */
	void (*destroy)(void *c); /* NULL: nothing to do */
	void (*wait)(void *c, void *l);
	bool (*wait_for)(void *c, void *l, uint64_t ns); /* false: timed out */
	void (*signal)(void *c);
	void (*broadcast)(void *c);
};

/* Space for any of them, on separate cache lines. */
struct bench_cond {
	PAWL_SEQUESTER unsigned char bytes[BENCH_LOCK_BYTES];
};

struct bench_subject {
	const char *name;
	/* For a lock: the loop of the mutex workload, on a struct mutex_thread. For a
	 * workload's own variant: its loop, on a member that the workload defines; the
	 * other fields are then unused. */
	crew_work *loop;
	crew_work *timed_loop; /* the same, with each wait timed */

	void (*lock)(void *l);
	void (*unlock)(void *l);
	size_t size;
	void (*init)(void *l);		    /* NULL: zero bytes are an unlocked lock */
	void (*destroy)(void *l);	    /* NULL: nothing to do */
	bool single;			    /* only one such lock can exist in a run */
	const struct bench_cond_type *cond; /* NULL: none */
};

/* Initialises an unlocked lock; end_lock() destroys it. */
static inline void begin_lock(const struct bench_subject *subject, struct bench_lock *l)
{
	memset(l, 0, sizeof(*l));
	if (subject->init != NULL)
		subject->init(l);
}

static inline void end_lock(const struct bench_subject *subject, struct bench_lock *l)
{
	if (subject->destroy != NULL)
		subject->destroy(l);
}

/*
 * Defines the loops of subject `id` from its operations, which are functions of a void *;
 * SUBJECT_LOOPS names them, in the order of struct bench_subject.
 */
#define DEFINE_SUBJECT_LOOPS(id, lock, unlock)                             \
	static __attribute__((flatten)) void id##_mutex(void *m)           \
	{                                                                  \
		mutex_loop((struct mutex_thread *)m, lock, unlock, false); \
	}                                                                  \
	static __attribute__((flatten)) void id##_timed_mutex(void *m)     \
	{                                                                  \
		mutex_loop((struct mutex_thread *)m, lock, unlock, true);  \
	}                                                                  \
	struct bench_subject

#define SUBJECT_LOOPS(id) id##_mutex, id##_timed_mutex

#ifdef __cplusplus
extern "C" {
#endif

/* All subjects: the locks in the order of locks.def, then the peers; ends with NULL. */
extern const struct bench_subject *const bench_subjects[];

/* Those with a condition variable, pawl's first; ends with NULL. */
extern const struct bench_subject *const bench_monitors[];

/* The peers, one file each; those of libraries not found at build time are absent. */
extern const struct bench_subject bench_pthread, bench_pthread_adaptive;
extern const struct bench_subject bench_nsync;
extern const struct bench_subject bench_abseil;
extern const struct bench_subject bench_tbb_mutex, bench_tbb_queuing_mutex;
extern const struct bench_subject bench_parking_lot;
extern const struct bench_subject bench_std;
extern const struct bench_subject bench_ck_mcs, bench_ck_clh, bench_ck_ticket;

#ifdef __cplusplus
}
#endif

#endif /* PAWL_BENCH_SUBJECT_H */
