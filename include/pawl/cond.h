/* SPDX-License-Identifier: MIT */
/*
 * pawl/cond.h - condition variable for pawl_mutex.
 *
 * Choose it  to sleep until another thread, under the same mutex, has changed
 *            something. Wait in a loop: a wake-up for no reason is allowed.
 * Avoid it   with any other lock of the library.
 * Source     pawl.
 * Departs    from nothing.
 * Cost       signal and broadcast with nobody waiting: 1 load; 8 bytes, 0 is
 *            ready for use.
 *
 * State (waiters): how many threads wait in the parking table under this
 * address. A signal takes the one that came last, or the first if that has waited
 * for long. One that sleeps, and would find its mutex held by the signaller, is
 * put at the end of the mutex's queue; so a broadcast under the mutex wakes one
 * thread at the most, and the others follow as they get the mutex.
 *
 *   I1  A waiter is in the table, and counted, before it lets go of the mutex:
 *       who then changes something under the mutex, and signals, sees it.
 *   I2  A waiter that was signalled touches the condition variable no more.
 *
 * Order      the mutex does all of it.
 * Lifetime   signal's and broadcast's last access to *c comes before the first
 *            waiter is told: it may free *c once it has the mutex.
 * Checked    tests/runtime/cond.c; pawl check cond.
 */
#ifndef PAWL_COND_H
#define PAWL_COND_H

#include <pawl/mutex.h>

struct pawl_cond {
	pawl_atomic64 waiters;
};

#define PAWL_COND_INIT PAWL_ZERO

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

void pawl_cond_wait_slow_(struct pawl_cond *c, struct pawl_mutex *m);
int pawl_cond_wait_until_(struct pawl_cond *c, struct pawl_mutex *m, int clock,
			  const struct timespec *time);
void pawl_cond_signal_slow_(struct pawl_cond *c, bool all) __attribute__((cold));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Lets go of *m and sleeps until signalled, or for no reason; holds *m again
 * on return. Requires the caller to own *m; waiters should use the same one. */
PAWL_NOTED void pawl_cond_wait(struct pawl_cond *c, struct pawl_mutex *m) PAWL_REQUIRES(m)
{
	pawl_note_unlocking(m, "mutex");
	pawl_cond_wait_slow_(c, m);
	pawl_note_locked(m, true);
}

/*
 * The same, until the clock (CLOCK_REALTIME or CLOCK_MONOTONIC) has reached the
 * time. Returns 0, ETIMEDOUT, or EINVAL for another clock or a bad time, and
 * then has not let go of *m. errno stays as it was.
 */
PAWL_NOTED int pawl_cond_timedwait(struct pawl_cond *c, struct pawl_mutex *m, int clock,
				   const struct timespec *time) PAWL_REQUIRES(m)
{
	int error;

	pawl_note_unlocking(m, "mutex");
	error = pawl_cond_wait_until_(c, m, clock, time);
	pawl_note_locked(m, true);
	return error;
}

/* Wakes one waiter, if there is any. */
static inline void pawl_cond_signal(struct pawl_cond *c)
{
	/* Relaxed: whoever is owed a wake-up was counted before (I1). */
	if (pawl_load_relaxed(&c->waiters) != 0)
		pawl_cond_signal_slow_(c, false);
}

/* Wakes all waiters: those that would find *m held, as they get it. */
static inline void pawl_cond_broadcast(struct pawl_cond *c)
{
	/* Relaxed: whoever is owed a wake-up was counted before (I1). */
	if (pawl_load_relaxed(&c->waiters) != 0)
		pawl_cond_signal_slow_(c, true);
}

#endif /* PAWL_COND_H */
