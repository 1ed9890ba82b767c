/* SPDX-License-Identifier: MIT */
/*
 * pawl/thread.h - the thread seam: storage that belongs to the current thread,
 * and the choices a lock may ask for.
 *
 * All-zero storage is valid: no thread registers, and no lock runs code when
 * a thread starts. Fields that other threads write are sequestered. The mailboxes
 * of the Hemlock variants share a line: a program rarely uses two of them at once.
 *
 * The back end supplies, in pawl/backend/thread.h:
 *   pawl_self()           this thread's storage
 *   pawl_thread_id()      this thread: a multiple of 8, other than 0, that no other living
 *                         thread of the process has; the same number in every copy of the
 *                         library that the process has loaded
 *   pawl_one_in(n)        true about once in n calls, at random
 *   pawl_spin_begin(spin, ns)
 *   pawl_spin_again(spin) pauses before the next poll; false once ns nanoseconds are
 *                         used up
 *   pawl_spin_change(spin, w, seen)
 *                         polls without pauses until *w differs from seen; false once
 *                         ns nanoseconds are used up
 *   pawl_spin_look(spin, w)
 *                         samples *w, relaxed; learns what a cache-line transfer costs
 *                         from how long the load took
 *   pawl_spin_pace(spin, sections)
 *                         whether `sections` critical sections since the last poll are
 *                         more than the lock could pass between CPUs in that time
 *   pawl_spin_told(w, value)
 *                         polls while *w is value, if polling paid off recently; true
 *                         if *w has changed
 *   pawl_spin_woken(told) records that this thread slept, and was woken at time `told`
 *   pawl_wake_cost()      estimated nanoseconds from a wake-up until the sleeper runs
 *   pawl_spin_while(w, value, ns)
 *                         polls while *w is value, for ns nanoseconds at most
 *   pawl_spin_past(w, value)
 *                         polls while *w is value, which another thread is about to
 *                         change; sleeps in between, in case that thread has no CPU
 *   pawl_cpu_now(told)    the CPU that this thread runs on, read from *told, which the
 *                         kernel keeps up to date; by an instruction if told == NULL,
 *                         where there is one. 2^31 or more once the kernel has stopped
 *                         updating it
 *   pawl_numa_node()      the last-level cache (LLC) of the CPU that this thread runs
 *                         on, or ran on recently: one number for all CPUs that share
 *                         the cache, or a NUMA node; PAWL_NO_HOME if there is only one
 *   pawl_at_thread_exit() makes pawl_thread_exit_() clean up this thread's storage
 *                         before the storage goes away
 *   PAWL_WAITING_SLOTS    slots in each waiting array, a power of two
 *   PAWL_NUMA_STREAK      how many times in a row a NUMA-aware lock stays within one LLC
 *                         while threads of other LLCs wait
 *   PAWL_NUMA_LOOKS       a thread re-reads its LLC once in this many uses
 *   PAWL_MUTEX_BYPASS     bypass budget: how many unlocks may pass over the head of a
 *                         mutex's queue. Only a head that cannot run uses it up; one
 *                         that runs demands a hand-off much sooner
 *   PAWL_MUTEX_NAPS       number of timed sleeps of a head, each twice as long as the
 *                         one before, before it demands a hand-off
 *   PAWL_MUTEX_SLICE      for how many wake-ups a woken head waits for a CPU before its
 *                         waker cedes the CPU to it; PAWL_NEVER: the waker never does
 *   PAWL_MUTEX_TRIES      how often an arrival polls again instead of sleeping while
 *                         the woken head has no CPU yet
 *   PAWL_MUTEX_WATCHED    how many unlocks are counted for polling threads
 *   PAWL_RWLOCK_NAPS      number of timed sleeps of a reader, each twice as long as the
 *                         one before, before it queues; or one sleep of that total
 *   PAWL_RWLOCK_LOOK      once in this many reads of locks that are not biased, a thread
 *                         samples whether the lock should be
 *   PAWL_RWLOCK_CLOCK     a multiple of that: once in this many reads, the sample may
 *                         read the clock
 *   PAWL_RWLOCK_QUIET     this many samples without a write between them make a lock
 *                         fenced
 *   PAWL_READS_BITS       log2 of how many biased reads a thread's record has room for
 *   PAWL_READS_CHUNK      how many records are allocated at once, 64 at most
 *   PAWL_READS_CHUNKS     maximal number of such allocations
 *   PAWL_GONE_BITS        log2 of the number of lists of hapax waiters that timed out
 *   PAWL_HAPAX_BLOCK_BITS log2 of how many hapax values a thread draws at once
 */
#ifndef PAWL_THREAD_H
#define PAWL_THREAD_H

#include <pawl/atomic.h>

/* The machine has a single LLC, or this thread's is not known yet. */
#define PAWL_NO_HOME UINT32_MAX
#define PAWL_NEVER   UINT32_MAX

struct pawl_lease_handle;
struct pawl_node;
struct pawl_reads;
struct pawl_sleeper;

/* What a thread waits on in the reciprocating locks. One per thread is enough: a
 * thread waits for one lock at a time. */
struct pawl_element {
	pawl_atomic64 gate; /* 0 = wait; else: enter, and here is the end mark */
	uint64_t aside;	    /* reciprocating-fair: written before the gate */
	uint64_t next;	    /* reciprocating-fair: written before the gate */
};

/*
 * Padding, not alignment, keeps the parts on different lines: the loader may align
 * thread-local storage to half a line only (arch.h). What other threads write is within
 * one line in any case; the thread's own fields are within one or two.
 */
struct pawl_thread {
	__attribute__((aligned(PAWL_THREAD_ALIGN))) struct pawl_element element;
	char apart[128 - sizeof(struct pawl_element)];

	pawl_atomic64 grant;	     /* hemlock, -ctr, -ah, -oh2 */
	pawl_atomic64 overlap_grant; /* hemlock-overlap */
	pawl_atomic64 hinted_grant;  /* hemlock-oh1 */
	pawl_atomic64 chain;	     /* hemlock-chain */

	/* From here on touched by this thread alone. */
	char further_apart[128 - 4 * sizeof(pawl_atomic64)];
	uint64_t next_hapax;		 /* 0 modulo the block = draw one */
	struct pawl_node *free_nodes;	 /* mcs, clh */
	struct pawl_lease_handle *lease; /* lease: NULL until first used */
	struct pawl_sleeper *asleep;	 /* mutex: its entry while it sleeps in a queue */
	struct pawl_reads *reads;	 /* rwlock: NULL until first used */
	struct pawl_reads *more_reads; /* rwlock: records for what `reads` cannot hold */
	uint64_t coin;		       /* state of pawl_one_in */
	uint32_t slow_reads;	       /* rwlock: reads of locks that were not biased */
	char identity[2];	       /* tidex: only their addresses count */
	bool exit_arranged;	       /* pawl_at_thread_exit was called */
	bool exited;		       /* pawl_thread_exit_ has run */
	char behind[128 -
		    PAWL_THREAD_ALIGN]; /* keeps neighbouring storage off our lines */
};

/* How long a thread has polled and may go on polling; all values are clock times. */
struct pawl_spin {
	uint64_t since, until;
	uint64_t looked; /* time of the last poll */
	uint64_t pause;	 /* nanoseconds to wait before the next poll */
	uint64_t seen;	 /* last value that pawl_spin_look read */
};

enum pawl_pace { PAWL_PACE_SLOW, PAWL_PACE_UNCLEAR, PAWL_PACE_FAST };

#include <pawl/backend/thread.h>

#endif /* PAWL_THREAD_H */
