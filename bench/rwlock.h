/* SPDX-License-Identifier: MIT */
/*
 * Read-write locks: every thread reads a record under the lock, and writes it at times.
 * The subjects of bench_rwlocks are such locks, and pawl's mutex, for which reading is
 * writing.
 *
 * A writer changes one half of the record when it begins and the other when it ends, --cs
 * steps later; a reader reads one half, does --cs steps of its own, and reads the other:
 * both must be of the same write. No write may be lost.
 */
#ifndef PAWL_BENCH_RWLOCK_H
#define PAWL_BENCH_RWLOCK_H

#include "workload.h"

#include "lcg.h"

/* Lock, record and constants are on separate cache lines. */
struct rwlock_bench {
	struct bench_lock lock;
	PAWL_SEQUESTER volatile uint64_t begun; /* under the lock; equal except during */
	volatile uint64_t ended;		/* a write. A random number generator */
	PAWL_SEQUESTER pawl_atomic64 stop;
	uint32_t cs, ncs;
};

struct rwlock_thread {
	PAWL_SEQUESTER struct rwlock_bench *bench;
	uint64_t own;	  /* the private generator; stored lest it be optimised away */
	uint64_t ahead;	  /* reads before the first write */
	uint32_t between; /* before any other: a random number below this */
	bool timed;
	bool wrong; /* read an inconsistent record */
	uint64_t reads, writes;
	struct waits waits;
};

/* The four operations of a lock, each a function of a void *. */
#define RWLOCK_OPERATIONS                                       \
	void (*read_lock)(void *), void (*read_unlock)(void *), \
		void (*write_lock)(void *), void (*write_unlock)(void *)

static inline __attribute__((always_inline)) void rwlock_episodes(
	struct rwlock_thread *me, RWLOCK_OPERATIONS, uint32_t cs, uint32_t ncs,
	bool timed)
{
	struct rwlock_bench *bench = me->bench;
	/* Reads have a countdown of their own, and all differences are combined: the
	 * fastest locks take less time than the loop. */
	uint64_t own = me->own, ahead = me->ahead, planned = ahead, writes = 0;
	uint64_t wrong = 0;

	do {
		uint64_t before = timed ? waits_now() : 0;

		if (__builtin_expect(ahead > 0, true)) {
			uint64_t seen;

			read_lock(&bench->lock);
			if (timed)
				waits_add(&me->waits, waits_now() - before);
			seen = bench->begun;
			own = lcg_walk(own, cs);
			wrong |= seen ^ bench->ended;
			read_unlock(&bench->lock);
			ahead--;
		} else {
			uint64_t value;

			write_lock(&bench->lock);
			if (timed)
				waits_add(&me->waits, waits_now() - before);
			value = bench->ended;
			wrong |= value ^ bench->begun;
			bench->begun = ~value;
			value = lcg_walk(value, cs);
			bench->ended = value;
			bench->begun = value;
			write_unlock(&bench->lock);
			writes++;
			own = lcg_next(own);
			ahead = lcg_below(own, me->between);
			planned += ahead;
		}
		if (ncs > 0) {
			own = lcg_next(own);
			own = lcg_walk(own, lcg_below(own, ncs));
		}
		/* Relaxed: only ends the loop. */
	} while (pawl_load_relaxed(&bench->stop) == CREW_GO);
	me->own = own;
	me->reads = planned - ahead;
	me->writes = writes;
	me->wrong = wrong != 0;
}

/*
 * The work of a thread. The operations, and the default lengths of the sections, are
 * constants at every call, as in mutex.h.
 */
static inline __attribute__((always_inline)) void rwlock_loop(struct rwlock_thread *me,
							      RWLOCK_OPERATIONS)
{
	const struct rwlock_bench *bench = me->bench;

	if (me->timed)
		rwlock_episodes(me, read_lock, read_unlock, write_lock, write_unlock,
				bench->cs, bench->ncs, true);
	else if (bench->cs == 1 && bench->ncs == 0)
		rwlock_episodes(me, read_lock, read_unlock, write_lock, write_unlock, 1,
				0, false);
	else
		rwlock_episodes(me, read_lock, read_unlock, write_lock, write_unlock,
				bench->cs, bench->ncs, false);
}

/* Defines the loop of subject `id`, id_rwlock, from its operations. */
#define DEFINE_RWLOCK_LOOP(id, read_lock, read_unlock, write_lock, write_unlock) \
	static __attribute__((flatten)) void id##_rwlock(void *m)                \
	{                                                                        \
		rwlock_loop((struct rwlock_thread *)m, read_lock, read_unlock,   \
			    write_lock, write_unlock);                           \
	}                                                                        \
	struct bench_subject

/* All threads do the same; or the first one is the only writer, or the only reader. */
enum rwlock_lone { LONE_NOBODY, LONE_WRITER, LONE_READER };

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the subject's loop; returns false as run() does. The figure is that of all
 * threads, or of the lone one. */
bool rwlock_run(const struct bench_subject *subject, const struct bench_shape *shape,
		enum rwlock_lone lone, struct bench_outcome *outcome);

/* pawl's first; ends with NULL. */
extern const struct bench_subject *const bench_rwlocks[];

/* The peers, defined in the files of their mutexes. */
extern const struct bench_subject bench_pthread_rwlock, bench_pthread_rwlock_writer;
extern const struct bench_subject bench_std_shared;
extern const struct bench_subject bench_nsync_rwlock;
extern const struct bench_subject bench_abseil_rwlock;
extern const struct bench_subject bench_tbb_rw_mutex, bench_tbb_spin_rw_mutex;
extern const struct bench_subject bench_ck_rwlock, bench_ck_brlock, bench_ck_pflock;

#ifdef __cplusplus
}
#endif

/* clang-format off */
#define LONE_FIGURES "longest_wait_ms", "others_per_s"
/* clang-format on */

#endif /* PAWL_BENCH_RWLOCK_H */
