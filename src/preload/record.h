/* SPDX-License-Identifier: MIT */
/*
 * What the interposer knows about each thread beyond its thread-local storage:
 * counters. Memory comes from the system directly, never from
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

#include <stddef.h>

struct counters {
	pawl_atomic64 acquisitions; /* mutexes taken, in whatever way */
	pawl_atomic64 contended;    /* of these: not free at first */
	pawl_atomic64 reads;	    /* read-write locks taken to read */
	pawl_atomic64 writes;	    /* and to write */
	pawl_atomic64 rw_contended; /* of these: not to be had at first */
	pawl_atomic64 rw_longest;   /* wait for one, in nanoseconds */
	pawl_atomic64 parked;	    /* sleeps while waiting for a lock */
	pawl_atomic64 waits;	    /* sleeps while waiting for a signal */
	pawl_atomic64 wakes;	    /* threads woken, for whatever reason */
	pawl_atomic64 barriers;	    /* membarrier calls */
	pawl_atomic64 longest;	    /* wait for a mutex, in nanoseconds */
	pawl_atomic64 waited;	    /* for mutexes, all of it, in nanoseconds */
	pawl_atomic64 rw_waited;    /* for read-write locks */
	pawl_atomic64 requeued;	    /* for mutexes whose queue a signal had put it into */
};

/* Written by its thread alone; the counters are read by others. */
struct record {
	PAWL_SEQUESTER struct counters counters;
	struct profile_thread *profile; /* NULL: none */
	uint32_t thread;		/* id of the thread it belongs to */
	struct record *next;		/* in the list of all, which only grows */
};

/*
 * Where this thread's id stands, seen from its thread pointer: glibc's own, which
 * is right after every kind of fork and clone too, or else a copy of ours that is 0
 * until it is asked for. Set by identity_start(), at the very first call. Volatile, so that
 * no look comes before that at not_plain: see start.c.
 */
extern volatile ptrdiff_t identity_at __attribute__((visibility("hidden")));
void identity_start(void);
uint32_t identity_ask(void) __attribute__((cold));

/* This thread's id, as the kernel knows it; 0 if it must be asked for. */
static inline uint32_t identity_look(void)
{
	return *(const volatile uint32_t *)((const char *)__builtin_thread_pointer() +
					    identity_at);
}

/* The same, never 0. */
static inline uint32_t my_id(void)
{
	uint32_t id = identity_look();

	return __builtin_expect(id != 0, true) ? id : identity_ask();
}

/* This thread's record; makes one at first, or ends the process with a sentence
 * if the system has no memory. */
struct record *my_record(void);

/* The same, or NULL if it has none yet: for what happens on the way to one. */
struct record *my_record_if_any(void);

/* The list of all records, for reading. */
struct record *all_records(void);

/* In the child of a fork: the one thread there has a new id. Zeroes the counters
 * of all records, for what they count is the parent's to report. */
void records_forked(void);

#endif /* PAWL_PRELOAD_RECORD_H */
