/* SPDX-License-Identifier: MIT */
/*
 * Fibers run the simulated threads. One runs at a time until it switches; there is no
 * preemption, so an engine's own data needs no locks.
 */
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stddef.h>

struct sim_fiber;

/*
 * Creates a fiber with its own stack. sim_fiber_start reuses the memory, so that one
 * fiber serves many executions. Returns NULL if there is no memory.
 */
struct sim_fiber *sim_fiber_new(size_t stack_size);
void sim_fiber_free(struct sim_fiber *fiber);

/*
 * Makes the fiber call run(argument) when it is resumed next; a call that it was in is
 * abandoned. run must not return; it ends with a last sim_fiber_yield.
 */
void sim_fiber_start(struct sim_fiber *fiber, void (*run)(void *argument),
		     void *argument);

/* Runs the fiber until it yields. Called from outside any fiber. */
void sim_fiber_resume(struct sim_fiber *fiber);

/* Returns to the call of sim_fiber_resume. Called on a fiber. */
void sim_fiber_yield(struct sim_fiber *fiber);

/*
 * For a signal handler that interrupted the fiber and got this context: the fiber
 * continues in to(signal), which must not return. The frames on its stack are abandoned.
 */
void sim_fiber_divert(struct sim_fiber *fiber, void *context, void (*to)(int signal),
		      int signal);

/* The lowest address and the size of the fiber's stack. */
void *sim_fiber_stack(const struct sim_fiber *fiber, size_t *size);

/*
 * The live part of a suspended fiber's stack, and restoring a copy of it, so that the
 * fiber continues from there again. Neither makes an access that AddressSanitizer checks.
 */
const void *sim_fiber_live(const struct sim_fiber *fiber, size_t *size);
void sim_fiber_put(struct sim_fiber *fiber, const void *live, size_t size);

#endif /* SIM_FIBER_H */
