/* SPDX-License-Identifier: MIT */
/* The records of what threads read; see pawl/rwlock.h. */
#ifndef PAWL_SYNC_READS_H
#define PAWL_SYNC_READS_H

#include <pawl/rwlock.h>

/* A thread's record, from its first read on. Threads past their exit share one that has no free
 * slot. */
struct pawl_reads *pawl_reads_first(void);

/* One more for this thread, in front of its more_reads: for notes of reads that are counted.
 * Writers do not look at it. */
struct pawl_reads *pawl_reads_further(void);

static inline struct pawl_reads *pawl_reads_mine(void)
{
	struct pawl_reads *r = pawl_self()->reads;

	return __builtin_expect(r != NULL, true) ? r : pawl_reads_first();
}

/* A search through the records of all threads that may announce a read, from all zero to the
 * first NULL. The record of a thread that announces a read before its light fence, or as
 * [S] of pawl/rwlock.h does, is found by a search after the heavy one, or after [S]. */
struct pawl_reads_scan {
	struct pawl_reads_table *table;
	unsigned chunk;
	uint64_t left; /* of the chunk before: a bit for each record */
};
struct pawl_reads *pawl_reads_next(struct pawl_reads_scan *scan);

/* At a thread's exit, and when it unlocks later: leaves its records to other threads, but those
 * by which it still reads. */
void pawl_reads_exit(struct pawl_thread *self);

/* In the child of a fork: only this thread reads. */
void pawl_reads_forget(void);

/* readers.c: where a record has l, with these marks, whether or not NESTED; or NULL. */
pawl_atomic64 *pawl_reads_find(struct pawl_reads *r, const struct pawl_rwlock *l,
			       uint64_t marks);

/* Whether this thread reads *l. */
bool pawl_rwlock_reads(const struct pawl_rwlock *l);

/* Ends a read of *l that some thread began which will not end it; false if nobody's
 * record has one. */
bool pawl_rwlock_end_other(struct pawl_rwlock *l);

/*
 * The memory of *l is about to become a new lock: reads of the old one that were never ended
 * are over, and threads that wait for it are left asleep, but for their deadlines. `was_one`:
 * *l still is what the old lock left there. Otherwise this ends the reads of this thread
 * alone, and costs a look at its record.
 */
void pawl_rwlock_forget(struct pawl_rwlock *l, bool was_one);

/* In the child of a fork: *l, which this thread reads, has no other readers, and no
 * writer that waits. What this thread's records say of *l: it is announced, or counted. */
void pawl_rwlock_survive(struct pawl_rwlock *l, bool announced, bool counted);

/* In the child of a fork: another thread was about to find out whether it may be
 * counted as a reader of *l. */
void pawl_rwlock_uncount(struct pawl_rwlock *l);

#endif /* PAWL_SYNC_READS_H */
