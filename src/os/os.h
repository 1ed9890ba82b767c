/* SPDX-License-Identifier: MIT */
/*
 * What pawl needs from the operating system; one file per system implements it. No
 * function here changes errno.
 */
#ifndef PAWL_OS_OS_H
#define PAWL_OS_OS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <pawl/atomic.h>

/*
 * Registers the process for pawl_os_barrier. False if the system lacks it or forbids it.
 * May be called any number of times.
 */
bool pawl_os_barrier_prepare(void);

/*
 * Makes every running thread of this process execute a full memory barrier between call
 * and return. Returns false, having done nothing, unless pawl_os_barrier_prepare has
 * returned true.
 */
bool pawl_os_barrier(void);

/*
 * The same for the threads that run on one CPU, as pawl_os_cpu_word shows it to them: a
 * thread that is elsewhere, or not running, executes a barrier when it is switched in or
 * out. Aborts their restartable sequences. False, having done nothing, where the system
 * cannot do it.
 */
bool pawl_os_barrier_cpu_prepare(void);
bool pawl_os_barrier_cpu(unsigned cpu);

/* As pawl_os_barrier, and aborts the restartable sequences of other threads. Needs
 * pawl_os_barrier_cpu_prepare. */
bool pawl_os_barrier_restart(void);

/*
 * Does what the barriers do where the system forbids them, for one CPU or for all that
 * are online: this thread migrates to each CPU, which switches out the thread that runs
 * there. Takes milliseconds where CPUs are busy. False if this thread may not run there.
 */
#define PAWL_OS_ONLINE (~0u)
bool pawl_os_visit(unsigned cpu);

/*
 * Where the system keeps the number of the CPU that the calling thread runs on; always
 * current for that thread. NULL if this thread has no such word.
 */
const uint32_t *pawl_os_cpu_word(void);

/* The same for the thread's concurrency id (mm_cid): unique among running threads, and
 * less than both the number of threads and the number of CPUs. */
const uint32_t *pawl_os_cid_word(void);

/* An upper bound (exclusive) of CPU numbers and concurrency ids; UINT_MAX if unknown. */
unsigned pawl_os_cpu_limit(void);
/* An estimate of the number of CPUs. For policies only: in a container it may be
 * wrong. */
unsigned pawl_os_likely_cpus(void);

/*
 * Defined by src/life: a reference to it links the handlers for fork, thread exit and
 * unload into every program that uses the system.
 */
extern const char pawl_life[];

/* An absolute deadline on one of the two clocks. */
struct pawl_deadline {
	bool realtime; /* CLOCK_REALTIME, else CLOCK_MONOTONIC */
	struct timespec time;
};

/*
 * Sleeps if *word == expected (the low 32 bits), until pawl_os_wake(word) or a spurious
 * wake-up; returns at once if they differ. Returns false if the deadline passed first;
 * NULL is no deadline. After a signal handler it returns as after a spurious wake-up.
 */
bool pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
		   const struct pawl_deadline *deadline);

/* Wakes one thread that sleeps on this word. The word's memory may already be freed; then
 * the call does nothing, or causes a spurious wake-up elsewhere. */
void pawl_os_wake(const pawl_atomic64 *word);

/* Blocks signals in the calling thread until restore, so that no handler sees an
 * intermediate state. Synchronous signals (SIGSEGV, ...) stay unblocked: the kernel kills
 * a process that blocks them. Returns the old mask. */
uint64_t pawl_os_block_signals(void);
void pawl_os_restore_signals(uint64_t blocked);

/* Whether these eight bytes can be read. Tested by a system call, so no signal is
 * raised. */
bool pawl_os_is_mapped(const volatile void *address);

/* The calling thread's real-time priority: 1 to 99 under SCHED_FIFO and SCHED_RR, more than
 * these under SCHED_DEADLINE; 0 under any other policy. A system call. */
unsigned pawl_os_priority(void);

/* Yields the CPU to another runnable thread, if there is one. */
void pawl_os_yield(void);

/* Sleeps for a moment, so that even threads of lower priority than a real-time caller
 * run. */
void pawl_os_step_aside(void);

/* The number of CPUs that this process may use. */
unsigned pawl_os_cpus(void);

/* The CPU and the NUMA node that this thread runs on, possibly out of date; 0 if
 * unknown. */
unsigned pawl_os_cpu(void);
unsigned pawl_os_node(void);

/* The first CPU that shares the third-level cache with this one, and whether all online
 * CPUs share it; false if unknown. */
bool pawl_os_cache_of(unsigned cpu, unsigned *first, bool *all);

/* The number of NUMA nodes, including those that may be added later; 1 if unknown. */
unsigned pawl_os_nodes(void);

/* Nanoseconds on a monotonic clock. */
uint64_t pawl_os_now(void);

/* An id of this process; differs between a parent and its forked child. */
uint64_t pawl_os_process(void);

/* A random number that other processes cannot guess; differs at each program start. */
uint64_t pawl_os_seed(void);

/* Reserves zeroed address space that is backed by memory on first write; NULL on failure.
 * Release unmaps it. */
void *pawl_os_reserve(size_t bytes);
void pawl_os_release(void *start, size_t bytes);

/* Frees the memory of the whole pages in the range; they read as zero afterwards. Returns
 * the number of bytes freed. */
size_t pawl_os_discard(void *start, size_t bytes);
/* Zeroes the range, and frees the memory of its whole pages. */
void pawl_os_clear(void *start, size_t bytes);

/*
 * Memory that exists once per process, however many copies of the library are loaded: one
 * part for each layer that needs one. Initially zero, never freed. All copies must ask
 * for the same size; otherwise the later copy ends the process with a message
 * (protocol.h). The first call may wait for the loader's lock.
 */
enum pawl_part { PAWL_PART_PARKING, PAWL_PART_HAPAX, PAWL_PART_READS, PAWL_PARTS };
void *pawl_os_part(enum pawl_part part, size_t bytes);

/* At load: ends the process if this copy is incompatible with those already loaded. */
void pawl_os_meet_copies(void);

/* Before a fork; and, in the child, true for the first copy that asks about this part,
 * which must repair it. Later copies find it repaired, and perhaps in use. */
void pawl_os_parts_fork(void);
bool pawl_os_part_forked(enum pawl_part part);

/* Nanoseconds until the deadline, capped at one hour; 0 if it has passed. */
uint64_t pawl_os_until(const struct pawl_deadline *deadline);

/* Writes the text to stderr; errors are ignored. */
void pawl_os_complain(const char *text);

#endif /* PAWL_OS_OS_H */
