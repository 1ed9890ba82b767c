/* SPDX-License-Identifier: MIT */
/*
 * MutexBench: every thread takes one central lock, advances a shared random number
 * generator, releases the lock and advances a generator of its own by a random number of
 * steps (Reciprocating paper, section 7.1; Hemlock paper, section 5.1).
 */
#ifndef PAWL_BENCH_MUTEX_H
#define PAWL_BENCH_MUTEX_H

#include "crew.h"
#include "lcg.h"
#include "waits.h"

#include <pawl/atomic.h>

enum { BENCH_LOCK_BYTES = 4352 };

/* Space for any subject's lock, on separate cache lines. */
struct bench_lock {
	PAWL_SEQUESTER unsigned char bytes[BENCH_LOCK_BYTES];
};

/* Lock, shared data and constants are on separate cache lines. */
struct mutex_bench {
	struct bench_lock lock;
	PAWL_SEQUESTER uint64_t shared; /* under the lock */
	PAWL_SEQUESTER pawl_atomic64 stop;
	uint32_t cs, ncs;
};

struct mutex_thread {
	PAWL_SEQUESTER struct mutex_bench *bench;
	uint64_t own; /* the private generator; stored lest it be optimised away */
	uint64_t episodes;
	uint64_t unheeded;  /* of the warm-up */
	uint64_t seen;	    /* value of stop when the counted episodes began */
	struct waits waits; /* only if the run times them */
};

static inline __attribute__((always_inline)) void mutex_episodes(struct mutex_thread *me,
								 void (*lock)(void *),
								 void (*unlock)(void *),
								 uint32_t cs,
								 uint32_t ncs, bool timed)
{
	struct mutex_bench *bench = me->bench;
	uint64_t own = me->own, episodes = 0, phase = CREW_GO;

	/* Relaxed, both: stop only ends the warm-up and the run. */
	do {
		me->seen = phase;
		me->unheeded = episodes;
		do {
			uint64_t before = timed ? waits_now() : 0;

			lock(&bench->lock);
			if (timed)
				waits_add(&me->waits, waits_now() - before);
			bench->shared = lcg_walk(bench->shared, cs);
			unlock(&bench->lock);
			if (ncs > 0) {
				own = lcg_next(own);
				own = lcg_walk(own, lcg_below(own, ncs));
			}
			episodes++;
		} while (pawl_load_relaxed(&bench->stop) == phase); /* Relaxed. */
		phase = pawl_load_relaxed(&bench->stop);	    /* Relaxed. */
	} while (phase != CREW_END);
	me->own = own;
	me->episodes = episodes;
}

/*
 * The work of a thread. `lock`, `unlock` and `timed` are constants at every call and are
 * inlined into the loop. So are the default lengths of the sections: counting their steps
 * would cost a third of a ticket lock.
 */
static inline __attribute__((always_inline)) void mutex_loop(struct mutex_thread *me,
							     void (*lock)(void *),
							     void (*unlock)(void *),
							     bool timed)
{
	const struct mutex_bench *bench = me->bench;

	if (bench->cs == 1 && bench->ncs == 0)
		mutex_episodes(me, lock, unlock, 1, 0, timed);
	else
		mutex_episodes(me, lock, unlock, bench->cs, bench->ncs, timed);
}

#endif /* PAWL_BENCH_MUTEX_H */
