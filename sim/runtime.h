/* SPDX-License-Identifier: MIT */
/* The simulated runtime, as engines see it. */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

#include <sim/seam.h>

/* Read records of pawl_rwlock: the most there can be, and how many an execution uses. */
enum { SIM_MOST_READS = 1024 };
extern int sim_reads; /* engines with more than four threads set it */

/* Gives the running thread the read record with its number. A thread without one finds
 * its record full. */
void sim_give_reads(int thread);

/* The shipped read records, src/sync/reads.c, for scenarios that check these; NULL: the
 * records of sim/runtime.c. */
struct pawl_reads;
struct pawl_reads_scan;
struct pawl_thread;
struct sim_records {
	struct pawl_reads *(*first)(void);
	struct pawl_reads *(*further)(void);
	struct pawl_reads *(*next)(struct pawl_reads_scan *scan);
	void (*exit)(struct pawl_thread *self);
};
extern const struct sim_records *sim_records;

/* A pawl_rwlock in a fixed mode, for engines that measure reads. */
enum sim_rwlock_form { SIM_RWLOCK_COUNTED, SIM_RWLOCK_FENCED, SIM_RWLOCK_BIASED };
size_t sim_rwlock_size(void);
void sim_rwlock_make(void *l, enum sim_rwlock_form form);
void sim_rwlock_read(void *l);
void sim_rwlock_leave(void *l);

/* Whether a lease's barrier can target its CPU alone. */
extern bool sim_barriers_aimed;
/* Whether leases are bound to threads instead of CPUs. */
extern bool sim_leases_by_thread;
/* Whether threads may use restartable sequences. */
extern bool sim_sequences;

/* The clock that the caller reads; NULL: always 0. */
extern uint64_t (*sim_clock)(void);
extern unsigned sim_reserves; /* that pawl_os_reserve grants; UINT_MAX: all */
/* The caller's real-time priority; NULL: 0. */
extern unsigned (*sim_priority)(void);
/* The handler of a signal that arrives just before signals are blocked; NULL: none. */
extern void (*sim_signal)(void);
/* Called when the caller enters (1) or leaves (-1) a section that no jump may leave, or NULL. */
extern void (*sim_critical)(int change);
/* Called by pawl_os_yield; NULL: it does nothing. */
extern void (*sim_yield)(void);

/* Restores the waiting arrays and the hapax supply to the state of a new process. */
void sim_reset(void);

/* Saves and restores this state alone, so that several simulations can take turns. */
size_t sim_runtime_size(void);
void sim_runtime_save(void *state);
void sim_runtime_load(const void *state);

/* Size of a thread's storage, which is initially zero and 128-byte aligned. */
size_t sim_thread_size(void);

/* Whether sim_thread_exit must run on the thread's fiber before the thread ends. */
bool sim_thread_wants_exit(const void *thread);

void sim_thread_exit(struct pawl_thread *self);

#endif /* SIM_RUNTIME_H */
