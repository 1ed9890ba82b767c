/* SPDX-License-Identifier: MIT */
/*
 * pawl/cond.h - condition variable for pawl_mutex.
 *
 * Choose it  to sleep until another thread, under the same mutex, has changed
 *            something. Wait in a loop: wake-ups may be spurious.
 * Avoid it   with any other lock of the library.
 * Source     pawl.
 * Departs    from nothing.
 * Cost       signal and broadcast without waiters: 1 load; 8 bytes, 0 is
 *            ready for use.
 *
 * State (waiters): how many threads wait in the parking table under this
 * address. A signal selects the waiter with the highest real-time priority; if none has
 * one, the newest, or the oldest if that has waited for long. If the waiter sleeps and
 * the signaller holds its mutex, the signal requeues it for the mutex. So a broadcast
 * under the mutex wakes at most one thread, and the others wake as they get the mutex.
 *
 *   I1  A waiter is in the table, and counted, before it releases the mutex: a
 *       thread that then changes something under the mutex, and signals, sees it.
 *   I2  A waiter that was signalled touches the condition variable no more.
 *
 * Order      the mutex does all of it.
 * Lifetime   signal's and broadcast's last access to *c comes before they wake or
 *            requeue the first waiter, which may free *c once it has the mutex.
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

/* Releases *m and sleeps until signalled, or until a spurious wake-up; owns *m again on
 * return. Requires the caller to own *m; all waiters should use the same mutex. */
PAWL_NOTED void pawl_cond_wait(struct pawl_cond *c, struct pawl_mutex *m) PAWL_REQUIRES(m)
{
	pawl_note_unlocking(m, "mutex");
	pawl_cond_wait_slow_(c, m);
	pawl_note_locked(m, true);
}

/*
 * As pawl_cond_wait, until the clock (CLOCK_REALTIME or CLOCK_MONOTONIC) has reached
 * the time. Returns 0, ETIMEDOUT, or EINVAL for another clock or a bad time, without
 * having released *m. errno stays as it was.
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
	/* Relaxed: a waiter that must not be missed was counted before (I1). */
	if (pawl_load_relaxed(&c->waiters) != 0)
		pawl_cond_signal_slow_(c, false);
}

/* Wakes all waiters; one that would find its mutex held wakes when it gets the mutex. */
static inline void pawl_cond_broadcast(struct pawl_cond *c)
{
	/* Relaxed: a waiter that must not be missed was counted before (I1). */
	if (pawl_load_relaxed(&c->waiters) != 0)
		pawl_cond_signal_slow_(c, true);
}

#endif /* PAWL_COND_H */
