/* SPDX-License-Identifier: MIT */
/* What an engine needs to know of the simulated runtime. */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

#include <sim/seam.h>

/* Threads that use leases, in one execution. */
enum { SIM_MAX_LEASE_HANDLES = 8 };

/* Of threads that read a pawl_rwlock, at most; and as many as this, in one execution. */
enum { SIM_MOST_READS = 1024 };
extern int sim_reads; /* 4 unless an engine has more threads */

/* Gives the running thread the record of its number. Without, its record has no room. */
void sim_give_reads(int thread);

/* A pawl_rwlock for engines that measure reads: as readers find it for good. */
enum sim_rwlock_form { SIM_RWLOCK_COUNTED, SIM_RWLOCK_FENCED, SIM_RWLOCK_BIASED };
size_t sim_rwlock_size(void);
void sim_rwlock_make(void *l, enum sim_rwlock_form form);
void sim_rwlock_read(void *l);
void sim_rwlock_leave(void *l);

/* Whether a lease's barrier can go to its CPU alone. */
extern bool sim_barriers_aimed;

/* Puts waiting arrays and hapax supply back to the state of a new process. */
void sim_reset(void);

/* Size of a thread's storage, which starts all zero and 128-byte aligned. */
size_t sim_thread_size(void);

/* Whether sim_thread_exit must run, on its fiber, before the thread is gone. */
bool sim_thread_wants_exit(const void *thread);

struct pawl_thread;
void sim_thread_exit(struct pawl_thread *self);

#endif /* SIM_RUNTIME_H */
