/* SPDX-License-Identifier: MIT */
/* The records of what threads read; see pawl/rwlock.h. */
#ifndef PAWL_SYNC_READS_H
#define PAWL_SYNC_READS_H

#include <pawl/rwlock.h>

/* A thread's record, from its first read on. Threads past their exit, and whoever
 * finds no memory, get one without room. */
struct pawl_reads *pawl_reads_first(void);

static inline struct pawl_reads *pawl_reads_mine(void)
{
	struct pawl_reads *r = pawl_self()->reads;

	return __builtin_expect(r != NULL, true) ? r : pawl_reads_first();
}

/* All records, from 0 to the first NULL. Whoever made one before a light fence is
 * there after the heavy one. */
struct pawl_reads *pawl_reads_at(unsigned i);

/* At a thread's exit: leaves its record to others, unless it still reads. */
void pawl_reads_exit(struct pawl_thread *self);

/* In the child of a fork: only this thread reads. */
void pawl_reads_forget(void);

#endif /* PAWL_SYNC_READS_H */
