/* SPDX-License-Identifier: MIT */
/* What an engine needs to know of the simulated runtime. */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

#include <sim/seam.h>

/* Threads that use leases, in one execution. */
enum { SIM_MAX_LEASE_HANDLES = 8 };

/* The same for read-write locks: gives the running thread the record of its number.
 * Without it its record has no room. */
enum { SIM_MAX_READS = 4 };
void sim_give_reads(int thread);

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
