/* SPDX-License-Identifier: MIT */
/* What an engine needs to know of the simulated runtime. */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

#include <sim/seam.h>

/* Of threads that read a pawl_rwlock, at most; and as many as this, in one execution. */
enum { SIM_MOST_READS = 1024 };
extern int sim_reads; /* 4 unless an engine has more threads */

/* Gives the running thread the record of its number. Without, its record has no room. */
void sim_give_reads(int thread);

/* What takes their place: the shipped ones, src/sync/reads.c. NULL: nothing does. */
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

/* A pawl_rwlock for engines that measure reads: as readers find it for good. */
enum sim_rwlock_form { SIM_RWLOCK_COUNTED, SIM_RWLOCK_FENCED, SIM_RWLOCK_BIASED };
size_t sim_rwlock_size(void);
void sim_rwlock_make(void *l, enum sim_rwlock_form form);
void sim_rwlock_read(void *l);
void sim_rwlock_leave(void *l);

/* Whether a lease's barrier can go to its CPU alone. */
extern bool sim_barriers_aimed;
/* Whether leases are bound to threads, wherever they run. */
extern bool sim_leases_by_thread;
/* Whether threads may use restartable sequences. */
extern bool sim_sequences;

/* What the clock shows, to the caller; NULL: always 0. */
extern uint64_t (*sim_clock)(void);
extern unsigned sim_reserves; /* that pawl_os_reserve grants; UINT_MAX: all */
/* The caller's real-time priority; NULL: 0. */
extern unsigned (*sim_priority)(void);
/* A signal that comes just before signals are blocked: its handler; NULL: none does. */
extern void (*sim_signal)(void);
/* Told that the caller enters (1) or leaves (-1) what no jump may leave; NULL: nobody is. */
extern void (*sim_critical)(int change);
/* What a yield does; NULL: nothing. */
extern void (*sim_yield)(void);

/* Puts waiting arrays and hapax supply back to the state of a new process. */
void sim_reset(void);

/* These, and no more, put away and brought back: so that simulations take turns. */
size_t sim_runtime_size(void);
void sim_runtime_save(void *state);
void sim_runtime_load(const void *state);

/* Size of a thread's storage, which starts all zero and 128-byte aligned. */
size_t sim_thread_size(void);

/* Whether sim_thread_exit must run, on its fiber, before the thread is gone. */
bool sim_thread_wants_exit(const void *thread);

void sim_thread_exit(struct pawl_thread *self);

#endif /* SIM_RUNTIME_H */
