/* SPDX-License-Identifier: MIT */
/*
 * pawl/semaphore.h - bounded binary semaphore: first come, first served.
 *
 * Choose it  to pass one unit of something between threads: one thread may wait
 *            for it and another post it. A post too many is an error.
 * Avoid it   for mutual exclusion (mutex.h), and for more than one unit.
 * Source     Dice & Kogan, "Hapax Locks", PPoPP 2026, appendix B: thread-oblivious
 *            locks as bounded binary semaphores.
 * Departs    from nothing there: the paper has the idea, not the code.
 * Cost       wait 1 RMW, post 1 RMW; 24 bytes, 0 = one unit is there.
 *
 * State (hapax lock, holds): holds is the context of the wait that took the unit,
 * or 0. To start without a unit, wait once right after initialisation.
 *
 *   (free, 0) --wait--> (held, 0) --> (held, h) --post--> (held, 0) --> (free, 0)
 *
 *   I1  Only the thread that changes holds from h to 0 releases the lock, with h;
 *       so a unit that was taken once is posted once.
 *   I2  holds is 0 when the lock is released, so what the next wait stores there
 *       is not lost.
 *
 * Order      What a thread did before a post happens before what another does
 *            after the wait that takes the unit: [A] and [R] of hapax.h.
 * Lifetime   The release of the lock is post's last access to *s.
 * Checked    tests/runtime/semaphore.c; pawl check semaphore; mutants I1, I2, R.
 */
#ifndef PAWL_SEMAPHORE_H
#define PAWL_SEMAPHORE_H

#include <pawl/hapax.h>

#include <errno.h>

struct pawl_semaphore {
	struct pawl_hapax_core core;
	pawl_atomic64 holds; /* I1 */
};

#define PAWL_SEMAPHORE_INIT PAWL_ZERO

/* Records that this wait took the unit, so that a post can release the lock. */
static inline void pawl_semaphore_took_(struct pawl_semaphore *s,
					const struct pawl_hapax_context *context)
{
	/* Relaxed: a posting thread knows by other means that the wait is over;
	 * otherwise its post may return EOVERFLOW. */
	pawl_store_relaxed(&s->holds, context->hapax);
}

/* Waits, in order of arrival, until there is a unit, and takes it. */
static inline void pawl_semaphore_wait_as_(struct pawl_semaphore *s, enum pawl_wait how)
{
	struct pawl_hapax_context context;

	pawl_hapax_acquire_(&s->core, &context, how);
	pawl_semaphore_took_(s, &context);
}

/* Takes the unit if it is there and no thread waits for it; never waits. */
static inline bool pawl_semaphore_trywait(struct pawl_semaphore *s)
{
	struct pawl_hapax_context context;

	if (!pawl_hapax_try_acquire_(&s->core, &context))
		return false;
	pawl_semaphore_took_(s, &context);
	return true;
}

/* As wait, until the clock has reached the time; returns as
 * pawl_hapax_timed_acquire_ does. */
static inline int pawl_semaphore_timedwait_as_(struct pawl_semaphore *s,
					       enum pawl_wait how, int clock,
					       const struct timespec *time)
{
	struct pawl_hapax_context context;
	int error = pawl_hapax_timed_acquire_(&s->core, &context, how, clock, time);

	if (error == 0)
		pawl_semaphore_took_(s, &context);
	return error;
}

/*
 * Puts the unit back, for the first waiter. Any thread may call it. Returns 0; or
 * EOVERFLOW, without effect, if the unit was not taken: if no wait has ended since
 * the last post.
 */
static inline int pawl_semaphore_post_as_(struct pawl_semaphore *s, enum pawl_wait how)
{
	/* Relaxed: selects one of several posting threads (I1); the release below orders. */
	struct pawl_hapax_context context = {pawl_exchange_relaxed(&s->holds, 0)};

	if (context.hapax == 0)
		return EOVERFLOW;
	pawl_hapax_release_(&s->core, &context, how); /* I2 */
	return 0;
}

/* As above, with waiters that sleep: a wait for a unit usually takes long. */

static inline void pawl_semaphore_wait(struct pawl_semaphore *s)
{
	pawl_semaphore_wait_as_(s, PAWL_PARK);
}

static inline int pawl_semaphore_timedwait(struct pawl_semaphore *s, int clock,
					   const struct timespec *time)
{
	return pawl_semaphore_timedwait_as_(s, PAWL_PARK, clock, time);
}

static inline int pawl_semaphore_post(struct pawl_semaphore *s)
{
	return pawl_semaphore_post_as_(s, PAWL_PARK);
}

#endif /* PAWL_SEMAPHORE_H */
