/* SPDX-License-Identifier: MIT */
/*
 * pawl/thread.h - the thread seam: storage that belongs to the current thread,
 * and the choices a lock may ask for.
 *
 * All-zero storage is valid: no thread registers, and no lock runs code when
 * a thread starts. What other threads write to is sequestered; two kinds of
 * mailbox share a line, for a program rarely uses two kinds of Hemlock at once.
 *
 * The back end supplies, in pawl/backend/thread.h:
 *   pawl_self()           this thread's storage
 *   pawl_thread_id()      this thread: a multiple of 8, other than 0, that no other living
 *                         thread of the process has; the same number in every copy of the
 *                         library that the process has loaded
 *   pawl_one_in(n)        true about once in n calls, at random
 *   pawl_spin_begin(spin, ns)
 *   pawl_spin_again(spin) lets a while pass before the next poll; false once ns
 *                         nanoseconds are used up
 *   pawl_spin_change(spin, w, seen)
 *                         polls without a pause until *w is another value; false
 *                         once ns nanoseconds are used up
 *   pawl_spin_look(spin, w)
 *                         what is in *w, relaxed; and how long it took to get here
 *   pawl_spin_pace(spin, sections)
 *                         so many sections have passed since the last poll: is
 *                         that faster than the lock could go back and forth?
 *   pawl_spin_told(w, value)
 *                         polls while *w is value, if that has helped of late;
 *                         true if it is another one now
 *   pawl_spin_woken(told) this thread slept, and was woken at that time
 *   pawl_wake_cost()      nanoseconds that it takes a sleeper to get up
 *   pawl_spin_while(w, value, ns)
 *                         polls while *w is value, for ns nanoseconds at most
 *   pawl_spin_past(w, value)
 *                         polls while *w is value, which another thread is about to
 *                         change; and sleeps in between, lest that one has no CPU
 *   pawl_cpu_now(told)    the CPU that this thread runs on, read anew each time from
 *                         where the system keeps it up to date; told == NULL: by
 *                         asking the CPU, where it can be asked. From 2^31 on if the
 *                         system has ceased to tell
 *   pawl_numa_node()      the home of the CPU that this thread runs on, or did a moment
 *                         ago: a number for all that share a last-level cache, or a
 *                         NUMA node; PAWL_NO_HOME if the machine has one only
 *   pawl_at_thread_exit() arranges that this thread's storage is tidied up by
 *                         pawl_thread_exit_() before it goes away
 *   PAWL_WAITING_SLOTS    slots in each waiting array, a power of two
 *   PAWL_NUMA_STREAK      how often a lock that knows homes stays at one while others wait
 *                         for it
 *   PAWL_NUMA_LOOKS       of so many times that a thread needs its home, it asks once
 *   PAWL_MUTEX_BYPASS     how many unlocks may pass over the head of a mutex's
 *                         queue; reached only by a head that cannot run, for one
 *                         that runs asks for its turn much sooner
 *   PAWL_MUTEX_NAPS       how often such a head dozes, each time twice as long,
 *                         before it asks
 *   PAWL_MUTEX_SLICE      for how many wake-ups such a head waits for a CPU before the
 *                         thread that woke it makes room; PAWL_NEVER: it does not
 *   PAWL_MUTEX_TRIES      how often an arrival polls anew rather than sleep while
 *                         the head that was woken has not got a CPU yet
 *   PAWL_MUTEX_WATCHED    how many unlocks are counted for those who poll
 *   PAWL_RWLOCK_NAPS      how often a reader dozes, each time twice as long, before
 *                         it asks for its turn; or once, as long as all that
 *   PAWL_RWLOCK_LOOK      of so many reads of locks that are not biased, a thread looks
 *                         once whether they should be
 *   PAWL_RWLOCK_CLOCK     a multiple of that: of so many reads, a look may read the
 *                         clock
 *   PAWL_RWLOCK_QUIET     so many such looks, between which nobody wrote, make a lock
 *                         fenced
 *   PAWL_READS_BITS       log2 of how many biased reads a thread's record has room for
 *   PAWL_READS_CHUNK      how many records are made at once, 64 at most
 *   PAWL_READS_CHUNKS     how often
 *   PAWL_GONE_BITS        log2 of how many lists there are of hapax waiters that
 *                         gave up
 *   PAWL_HAPAX_BLOCK_BITS log2 of how many hapax values a thread draws at once
 */
#ifndef PAWL_THREAD_H
#define PAWL_THREAD_H

#include <pawl/atomic.h>

/* No home, or not known yet. */
#define PAWL_NO_HOME UINT32_MAX
#define PAWL_NEVER   UINT32_MAX

struct pawl_lease_handle;
struct pawl_node;
struct pawl_reads;
struct pawl_sleeper;

/* What a thread waits on in the reciprocating locks; one is enough, for a
 * thread waits for one lock at a time. */
struct pawl_element {
	pawl_atomic64 gate; /* 0 = wait; else: enter, and here is the end mark */
	uint64_t aside;	    /* reciprocating-fair: written before the gate */
	uint64_t next;	    /* reciprocating-fair: written before the gate */
};

/*
 * Its parts keep clear of each other by distance, so that a line, or half a line where
 * the loader gives no more (arch.h), is enough to align to: what others write is within
 * a line in any case, the thread's own fields are in one, or in two.
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
	uint64_t next_hapax;		      /* 0 modulo the block = draw one */
	struct pawl_node *free_nodes;	      /* mcs, clh */
	struct pawl_lease_handle *lease;      /* lease: NULL until first used */
	struct pawl_sleeper *asleep;	      /* mutex: whose queue it sleeps in */
	struct pawl_reads *reads;	      /* rwlock: NULL until first used */
	struct pawl_reads *more_reads;	      /* rwlock: what that has no room for */
	uint64_t coin;			      /* state of pawl_one_in */
	uint32_t slow_reads;		      /* rwlock: of locks that were not biased */
	char identity[2];		      /* tidex: only their addresses count */
	bool exit_arranged;		      /* pawl_at_thread_exit was called */
	bool exited;			      /* pawl_thread_exit_ has run */
	char behind[128 - PAWL_THREAD_ALIGN]; /* others' storage is as far away */
};

/* How long somebody has been polling, and will go on to; all on the clock. */
struct pawl_spin {
	uint64_t since, until;
	uint64_t looked; /* when it last polled */
	uint64_t pause;	 /* nanoseconds to let pass before the next poll */
	uint64_t seen;	 /* by pawl_spin_look */
};

enum pawl_pace { PAWL_PACE_SLOW, PAWL_PACE_UNCLEAR, PAWL_PACE_FAST };

#include <pawl/backend/thread.h>

#endif /* PAWL_THREAD_H */
