/* SPDX-License-Identifier: MIT */
/* What an engine needs to know of the simulated runtime. */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

#include <sim/seam.h>

/* Whether a lease's barrier can go to its CPU alone. */
extern bool sim_barriers_aimed;
/* Whether leases are bound to threads, wherever they run. */
extern bool sim_leases_by_thread;

/* What the clock shows, to the caller; NULL: always 0. */
extern uint64_t (*sim_clock)(void);

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

struct pawl_thread;
void sim_thread_exit(struct pawl_thread *self);

#endif /* SIM_RUNTIME_H */
