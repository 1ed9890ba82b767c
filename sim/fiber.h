/* SPDX-License-Identifier: MIT */
/*
 * Fibers: the simulated threads. One runs at a time, until it switches; there
 * is no preemption, so an engine's own data needs no protection.
 */
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stddef.h>

struct sim_fiber;

/*
 * Makes a fiber with a stack of its own. Its memory is kept and reused by
 * sim_fiber_start, so that one fiber can serve many executions. Returns NULL if
 * there is no memory.
 */
struct sim_fiber *sim_fiber_new(size_t stack_size);
void sim_fiber_free(struct sim_fiber *fiber);

/*
 * Sets the fiber up to call run(argument) when it is next resumed, whatever it
 * was doing before: an abandoned call is simply forgotten. run must not return;
 * it ends by sim_fiber_yield for the last time.
 */
void sim_fiber_start(struct sim_fiber *fiber, void (*run)(void *argument),
		     void *argument);

/* Runs the fiber until it yields. Called from outside any fiber. */
void sim_fiber_resume(struct sim_fiber *fiber);

/* Goes back to where this fiber was resumed from. Called on a fiber. */
void sim_fiber_yield(struct sim_fiber *fiber);

/*
 * For the handler of a signal that came while the fiber ran, and which got this context:
 * the fiber goes on in to(signal), which must not return. All that was on its stack is
 * forgotten.
 */
void sim_fiber_divert(struct sim_fiber *fiber, void *context, void (*to)(int signal),
		      int signal);

/* The lowest address and the size of the fiber's stack. */
void *sim_fiber_stack(const struct sim_fiber *fiber, size_t *size);

/*
 * The live part of the stack of a fiber that has yielded; and putting such a
 * part back, copied before, so that the fiber goes on from there once more.
 * Neither calls anything that AddressSanitizer would stop.
 */
const void *sim_fiber_live(const struct sim_fiber *fiber, size_t *size);
void sim_fiber_put(struct sim_fiber *fiber, const void *live, size_t size);

#endif /* SIM_FIBER_H */
