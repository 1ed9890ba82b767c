/* SPDX-License-Identifier: MIT */
/*
 * What the interposer knows about each thread beyond its thread-local storage:
 * counters, and queue nodes. Memory comes from the system directly, never from
 * the heap, whose locks may be what is being taken.
 *
 * No destructor tells us that a thread is gone: pthread keys are the program's,
 * and the other ways allocate. So a record outlives its thread, with all that
 * is in it, and a later thread takes it over once the kernel knows no thread by
 * its id any more.
 */
#ifndef PAWL_PRELOAD_RECORD_H
#define PAWL_PRELOAD_RECORD_H

#include <pawl/runtime.h>

struct counters {
	pawl_atomic64 acquisitions; /* locks taken, in whatever way */
	pawl_atomic64 contended;    /* of these: not free at first */
	pawl_atomic64 parked;	    /* sleeps while waiting for a lock */
	pawl_atomic64 wakes;	    /* threads woken */
	pawl_atomic64 barriers;	    /* membarrier calls */
	pawl_atomic64 longest;	    /* wait, in nanoseconds */
};

/* Written by its thread alone; the counters are read by others. */
struct record {
	PAWL_SEQUESTER struct counters counters;
	struct pawl_node *nodes; /* free ones */
	unsigned node_count;	 /* of these */
	uint32_t thread;	 /* id of the thread it belongs to */
	struct record *next;	 /* in the list of all, which only grows */
};

/* This thread's id, as the kernel knows it. */
uint32_t my_id(void);

/* This thread's record; makes one at first, or ends the process with a sentence
 * if the system has no memory. */
struct record *my_record(void);

/* The list of all records, for reading. */
struct record *all_records(void);

/* A queue node, and what becomes of it. */
struct pawl_node *node_get(void);
void node_put(struct pawl_node *node);

/* In the child of a fork: the one thread there has a new id. Zeroes the counters
 * of all records, for what they count is the parent's to report. */
void records_forked(void);

#endif /* PAWL_PRELOAD_RECORD_H */
