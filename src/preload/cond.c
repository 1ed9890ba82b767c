/* SPDX-License-Identifier: MIT */
/*
 * pthread_cond_* and cnd_*, over pawl_cond and any mutex.
 *
 * A waiter enrolls, lets go of its mutex and sleeps. With the default lock a
 * signal moves it to the mutex's queue; with any other lock, and with a mutex
 * that is glibc's, the signal wakes it and it locks the mutex again.
 *
 * Cancellation acts while it sleeps, and only then. A waiter that is cancelled
 * gets its mutex back before the program's cleanup handlers run. If a signal had
 * reached it already, it passes that on: it may have been the only one. A waiter whose
 * signal handler jumps out of the wait passes it on as well, and does not get its mutex.
 *
 * A process-shared condition variable is glibc's, and so are its waiters, except one with
 * a mutex of ours, which glibc cannot unlock. Such a stray waits in the parking table, under
 * the address of the condition variable, and writes nothing to it. A signal wakes a stray
 * of this condition variable, if there is one, besides what glibc does.
 */
#define _GNU_SOURCE
#include "preload/profile.h"
#include "preload/record.h"
#include "sync/queues.h"
#include "preload/stats.h"

#include <errno.h>
#include <string.h>
#include <threads.h>

#define SITE __builtin_return_address(0)

static struct cond *ours(pthread_cond_t *cond)
{
	return (struct cond *)cond;
}

static bool is_foreign(const struct cond *c)
{
	return ((c->flags | c->older_flags) & COND_SHARED) != 0;
}

struct wait {
	struct pawl_sleeper me;	 /* first: found by it */
	struct pawl_cond *plain; /* where it enrolled */
	struct mutex *mutex;
	const void *site;	/* return address of the program's call */
	bool woken;		/* sleep or withdraw has said that a signal came */
	int cancel_type;	/* the program's */
	void *volatile handler; /* of cancellation: what a jump must unregister, or NULL */
	/* If it is counted: when a signal put it into the queue of its mutex, and when
	 * it was called out of that. */
	uint64_t queued, called;
};

static_assert(offsetof(struct wait, me) == 0, "a wait is found by its sleeper");

static int signal_foreign(struct cond *c, bool all)
{
	pthread_cond_t *theirs = (pthread_cond_t *)c;
	int error = all ? glibc()->cond_broadcast(theirs) : glibc()->cond_signal(theirs);

	/* Last, and by the address alone: a stray that is woken may free *c. */
	if (pawl_may_be_parked(&c->plain))
		pawl_cond_signal_slow_(&c->plain, all);
	return error;
}

/* What others do to a waiter passes through here; see CMakeLists.txt. The sleepers that
 * came to a pawl_cond, and know since when, are those of this file. */

bool __real_pawl_mutex_enqueue(struct pawl_mutex *m, struct pawl_sleeper *sleeper);
bool __wrap_pawl_mutex_enqueue(struct pawl_mutex *m, struct pawl_sleeper *sleeper);
bool __real_pawl_sleeper_notify(struct pawl_sleeper *sleeper, enum sleeper_state state);
bool __wrap_pawl_sleeper_notify(struct pawl_sleeper *sleeper, enum sleeper_state state);

bool __wrap_pawl_mutex_enqueue(struct pawl_mutex *m, struct pawl_sleeper *sleeper)
{
	if (unlikely(stats_on))
		((struct wait *)(void *)sleeper)->queued = pawl_os_now();
	return __real_pawl_mutex_enqueue(m, sleeper);
}

bool __wrap_pawl_sleeper_notify(struct pawl_sleeper *sleeper, enum sleeper_state state)
{
	if (unlikely(stats_on) && sleeper->since != 0)
		((struct wait *)(void *)sleeper)->called = pawl_os_now();
	return __real_pawl_sleeper_notify(sleeper, state);
}

/*
 * Gets the mutex that it is queued for. Counts the time in the queue, and from now
 * on; but not how long it took the system to let a thread run that was called.
 */
static void take_queued(struct wait *w)
{
	uint64_t back = likely(!stats_on) ? 0 : pawl_os_now();
	uint64_t called = w->called;

	pawl_mutex_lock_queued(w->me.mutex, &w->me);
	if (unlikely(stats_on)) {
		stats_requeued(called - w->queued + pawl_os_now() - back);
		stats_acquired();
	}
}

/* Gets the mutex back after a wait that a signal ended, or nothing did. */
static int take_back(struct wait *w, bool signalled)
{
	bool queued = signalled && w->me.mutex != NULL && w->me.address == w->me.mutex;

	if (queued)
		take_queued(w);
	return mutex_resume(w->mutex, queued, w->site);
}

/* A signal that reached somebody who will not act on it goes to the next. Only
 * the table is asked: the condition variable may be gone, if nobody waits. */
static void pass_on(struct wait *w)
{
	pawl_cond_signal_slow_(w->plain, false);
}

static void cancelled(void *argument)
{
	struct wait *w = argument;
	bool signalled;

	w->handler = NULL;
	signalled = !pawl_cond_withdraw(w->plain, &w->me);
	w->woken = signalled;
	stats_in_cond = false;
	if (unlikely(profile_on))
		profile_waited();
	take_back(w, signalled);
	pawl_wait_end(&w->me);
	if (signalled)
		pass_on(w);
}

/* A jump out of the wait, at any instruction of it. */
static void abandon(struct pawl_sleeper *me)
{
	struct wait *w = (struct wait *)(void *)me;
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	if (w->handler != NULL)
		__pthread_unregister_cancel(w->handler);
	stats_in_cond = false;
	if (unlikely(profile_on))
		profile_waited();
	if (pawl_cond_leave(w->plain, me, w->woken))
		pass_on(w);
	pthread_setcanceltype(w->cancel_type, &type);
}

/* Sleeps until a signal comes, or the deadline (false); cancellation acts. */
static bool sleep_cancellably(struct wait *w, const struct pawl_deadline *deadline)
{
	bool woken;
	int type;

	pawl_critical_enter(); /* a jump must know what to unregister */
	/* Registers the handler by hand, not by tables: the cancellation may
	 * come at any instruction, not only inside a call. */
	pthread_cleanup_push(cancelled, w);
	w->handler = &__cancel_buf; /* a name of glibc's macro */
	pawl_critical_leave();
	stats_in_cond = true;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	woken = pawl_sleep(&w->me, deadline);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	stats_in_cond = false;
	w->handler = NULL;
	pthread_cleanup_pop(0);
	return woken;
}

/* The wait itself, which is on record. */
static int wait_on_record(struct wait *w, const struct cond *c,
			  const struct pawl_deadline *deadline)
{
	int error;

	pawl_cond_enroll(w->plain, &w->me);
	error = mutex_suspend(w->mutex, w->site);
	if (error != 0) { /* glibc's: nothing but a wake-up can have come */
		if (!pawl_cond_withdraw(w->plain, &w->me))
			pass_on(w);
		return error;
	}
	if (unlikely(profile_on))
		profile_wait(c, PROFILE_COND, 0, w->site);
	pawl_cond_poll(w->plain, &w->me);
	w->woken = sleep_cancellably(w, deadline) ||
		   !pawl_cond_withdraw(w->plain, &w->me);
	if (unlikely(profile_on))
		profile_waited();
	error = take_back(w, w->woken);
	if (error != 0)
		return error;
	return w->woken ? 0 : ETIMEDOUT;
}

static int wait_until(struct cond *c, struct mutex *m,
		      const struct pawl_deadline *deadline, const void *site)
{
	struct wait w = {.me = {.abandon = abandon, .foreign_cond = is_foreign(c)},
			 .mutex = m,
			 .plain = &c->plain,
			 .site = site};
	int error = mutex_may_suspend(m), type;

	/* Before a signal can reach us: it would move us to the queue of a mutex
	 * that we do not hold. */
	if (error != 0)
		return error;
	w.me.mutex = mutex_queue(m);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &w.cancel_type);
	pawl_wait_begin(&w.me);
	error = wait_on_record(&w, c, deadline);
	pawl_wait_end(&w.me);
	pthread_setcanceltype(w.cancel_type, &type);
	return error;
}

static bool leave_to_glibc(const struct cond *c, const struct mutex *m)
{
	start_if_first();
	return is_foreign(c) && mutex_is_foreign(m);
}

static int wait_on_clock(struct cond *c, struct mutex *m, clockid_t clock,
			 const struct timespec *time, const void *site)
{
	struct pawl_deadline deadline;
	int error = pawl_deadline_at(&deadline, clock, time);

	return error != 0 ? error : wait_until(c, m, &deadline, site);
}

/* The functions themselves. */

EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;

	if (leave_to_glibc(ours(cond), m))
		return glibc()->cond_wait(cond, mutex);
	return wait_until(ours(cond), m, NULL, SITE);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *time)
{
	struct mutex *m = (struct mutex *)mutex;
	clockid_t clock = CLOCK_REALTIME;

	if (leave_to_glibc(ours(cond), m))
		return glibc()->cond_timedwait(cond, mutex, time);
	if ((ours(cond)->flags & COND_MONOTONIC) != 0)
		clock = CLOCK_MONOTONIC;
	return wait_on_clock(ours(cond), m, clock, time, SITE);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  clockid_t clock, const struct timespec *time)
{
	struct mutex *m = (struct mutex *)mutex;

	if (leave_to_glibc(ours(cond), m))
		return glibc()->cond_clockwait(cond, mutex, clock, time);
	return wait_on_clock(ours(cond), m, clock, time, SITE);
}

EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
	struct cond *c = ours(cond);

	if (unlikely(is_foreign(c)))
		return signal_foreign(c, false);
	pawl_cond_signal(&c->plain);
	return 0;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
	struct cond *c = ours(cond);

	if (unlikely(is_foreign(c)))
		return signal_foreign(c, true);
	pawl_cond_broadcast(&c->plain);
	return 0;
}

EXPORT int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	clockid_t clock = CLOCK_REALTIME;
	int shared = PTHREAD_PROCESS_PRIVATE;

	start_if_first();
	if (attr != NULL) {
		pthread_condattr_getpshared(attr, &shared);
		pthread_condattr_getclock(attr, &clock);
	}
	if (shared == PTHREAD_PROCESS_SHARED)
		return glibc()->cond_init(cond, attr);
	if (unlikely(profile_on))
		profile_initialised(cond, SITE);
	memset(cond, 0, sizeof(*cond));
	if (clock == CLOCK_MONOTONIC)
		ours(cond)->flags = COND_MONOTONIC;
	return 0;
}

/* Nothing is kept that could be destroyed, and nobody who was signalled comes
 * back to it: even one that was never initialised may be destroyed. */
EXPORT int pthread_cond_destroy(pthread_cond_t *cond)
{
	start_if_first();
	if (is_foreign(ours(cond)))
		return glibc()->cond_destroy(cond);
	return 0;
}

/* C11. */

static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "a cnd_t is a cond");

static int in_c11(int error)
{
	if (error == 0)
		return thrd_success;
	return error == ETIMEDOUT ? thrd_timedout : thrd_error;
}

EXPORT int cnd_init(cnd_t *cnd)
{
	return in_c11(pthread_cond_init((pthread_cond_t *)cnd, NULL));
}

EXPORT int cnd_wait(cnd_t *cnd, mtx_t *mtx)
{
	return in_c11(pthread_cond_wait((pthread_cond_t *)cnd, (pthread_mutex_t *)mtx));
}

EXPORT int cnd_timedwait(cnd_t *restrict cnd, mtx_t *restrict mtx,
			 const struct timespec *restrict time)
{
	return in_c11(pthread_cond_timedwait((pthread_cond_t *)cnd,
					     (pthread_mutex_t *)mtx, time));
}

EXPORT int cnd_signal(cnd_t *cnd)
{
	return in_c11(pthread_cond_signal((pthread_cond_t *)cnd));
}

EXPORT int cnd_broadcast(cnd_t *cnd)
{
	return in_c11(pthread_cond_broadcast((pthread_cond_t *)cnd));
}

EXPORT void cnd_destroy(cnd_t *cnd)
{
	pthread_cond_destroy((pthread_cond_t *)cnd);
}
