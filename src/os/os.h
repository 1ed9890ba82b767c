/* SPDX-License-Identifier: MIT */
/*
 * What pawl asks of the operating system; one file per system implements it.
 * Nothing here sets errno.
 */
#ifndef PAWL_OS_OS_H
#define PAWL_OS_OS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <pawl/atomic.h>

/*
 * Prepares pawl_os_barrier. Returns false if the system has or allows no such
 * thing, for whatever reason. Call it any number of times.
 */
bool pawl_os_barrier_prepare(void);

/*
 * Makes every running thread of this process pass a full memory barrier
 * between call and return. Returns false, having done nothing, unless
 * pawl_os_barrier_prepare has returned true.
 */
bool pawl_os_barrier(void);

/*
 * The same for threads that run on one CPU, of those that have pawl_os_cpu_word
 * say so: who is elsewhere, or not running, has passed or will pass a barrier
 * on the way there. Ends the restartable sequences that these are in. False, having done
 * nothing, where the system cannot.
 */
bool pawl_os_barrier_cpu_prepare(void);
bool pawl_os_barrier_cpu(unsigned cpu);

/* As pawl_os_barrier, and ends the restartable sequences that other threads are in.
 * Needs pawl_os_barrier_cpu_prepare. */
bool pawl_os_barrier_restart(void);

/*
 * Does what the barriers do, for one CPU or for all that are online, where the system
 * refuses those: goes there, so that others leave it. Takes as long as it takes to get
 * there, milliseconds where others are busy. False if this thread may not go there.
 */
#define PAWL_OS_ONLINE (~0u)
bool pawl_os_visit(unsigned cpu);

/*
 * Where the system keeps the number of the CPU that the calling thread runs on,
 * up to date whenever that thread looks; NULL if it does not for this thread.
 */
const uint32_t *pawl_os_cpu_word(void);

/* The same for the thread's concurrency id: no two running threads have the same
 * one, and all are less than the number of threads, and of CPUs. */
const uint32_t *pawl_os_cid_word(void);

/* The number of every CPU, and every concurrency id, is less; UINT_MAX if the system
 * does not say. */
unsigned pawl_os_cpu_limit(void);
/* How many CPUs there may be. For policies only: in a container it may be wrong. */
unsigned pawl_os_likely_cpus(void);

/*
 * What sees to fork, thread exit and unload, src/life: whatever a program is linked
 * with that uses the system is linked with that as well.
 */
extern const char pawl_life[];

/* A time to stop waiting at, on one of the two clocks people use. */
struct pawl_deadline {
	bool realtime; /* CLOCK_REALTIME, else CLOCK_MONOTONIC */
	struct timespec time;
};

/*
 * Sleeps if *word is `expected`, until pawl_os_wake(word), or for no reason at
 * all; not at all if it is something else. Compares the low 32 bits. Returns
 * false if the deadline passed first; no deadline is NULL. Signals do not end
 * a sleep in any way that shows.
 */
bool pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
		   const struct pawl_deadline *deadline);

/* Wakes one thread that sleeps on this word. The word itself may be gone; then
 * nothing happens, or somebody else wakes up for no reason. */
void pawl_os_wake(const pawl_atomic64 *word);

/* Keeps signals from the calling thread, until restore: for what a handler must not find
 * half done. Not those that it would cause itself, for which the system then would end the
 * process. Returns what was blocked before. */
uint64_t pawl_os_block_signals(void);
void pawl_os_restore_signals(uint64_t blocked);

/* Whether these eight bytes can be read. A system call says so, and no signal. */
bool pawl_os_is_mapped(const volatile void *address);

/* The calling thread's real-time priority: 1 to 99 under SCHED_FIFO and SCHED_RR, more than
 * these under SCHED_DEADLINE; 0 under any other policy. A system call. */
unsigned pawl_os_priority(void);

/* Lets another thread have this CPU, if one waits for it. */
void pawl_os_yield(void);

/* Lets any other thread run, also one of lower priority than a real-time thread that
 * calls it: sleeps for a moment. */
void pawl_os_step_aside(void);

/* How many CPUs this process may use. */
unsigned pawl_os_cpus(void);

/* The CPU and the NUMA node this thread runs on, or did a moment ago; 0 if
 * unknown. */
unsigned pawl_os_cpu(void);
unsigned pawl_os_node(void);

/* The first of those CPUs that share the third-level cache with this one, and whether all
 * do that are online; false if the system does not say. */
bool pawl_os_cache_of(unsigned cpu, unsigned *first, bool *all);

/* How many NUMA nodes this machine has or may get; 1 if unknown. */
unsigned pawl_os_nodes(void);

/* Nanoseconds on a clock that never goes back. */
uint64_t pawl_os_now(void);

/* Which process this is: fork makes another. */
uint64_t pawl_os_process(void);

/* A number that no other process can tell, and that differs from program to program. */
uint64_t pawl_os_seed(void);

/* Address space with zeros, that becomes memory where it is written to; NULL if
 * there is none. Release takes both back. */
void *pawl_os_reserve(size_t bytes);
void pawl_os_release(void *start, size_t bytes);

/* Gives the memory of the whole pages between start and end back; they are zero
 * when next read. Returns how many bytes these were. */
size_t pawl_os_discard(void *start, size_t bytes);
/* Makes it zero, and gives whole pages back, however many there are. */
void pawl_os_clear(void *start, size_t bytes);

/*
 * Memory that the process has once, however many copies of this library it has loaded: a
 * part for each layer that needs one. Zeros at first, and never given back. All copies
 * that a process loads ask for the same number of bytes, or the later one ends the process
 * with a sentence (protocol.h). The first call may wait for the loader's list of objects.
 */
enum pawl_part { PAWL_PART_PARKING, PAWL_PART_HAPAX, PAWL_PART_READS, PAWL_PARTS };
void *pawl_os_part(enum pawl_part part, size_t bytes);

/* When this copy is loaded: ends the process if it does not fit to the others. */
void pawl_os_meet_copies(void);

/* Before a fork; and in the child: true for the first copy that asks about this part, which
 * has to put it in order. Later copies find what the child has done with it since. */
void pawl_os_parts_fork(void);
bool pawl_os_part_forked(enum pawl_part part);

/* Nanoseconds until the deadline, at most an hour's; 0 if it has come. */
uint64_t pawl_os_until(const struct pawl_deadline *deadline);

/* Writes the text to stderr, as far as that is possible. */
void pawl_os_complain(const char *text);

#endif /* PAWL_OS_OS_H */
