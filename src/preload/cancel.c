/* SPDX-License-Identifier: MIT */
/*
 * Threads with asynchronous cancellation that wait for a lock. POSIX forbids them the
 * call; glibc survives a cancellation while such a thread is blocked, so it must here.
 *
 * The wait runs with deferred cancellation. A cancellation acts while the thread sleeps, and
 * at the end of the wait, if it came meanwhile: each time a handler withdraws the waiter
 * from its queues first, and gives back what it was granted, as a jump does
 * (sync/jumps.c). Condition waits see to themselves (cond.c).
 */
#define _GNU_SOURCE
#include "preload/cancel.h"
#include "preload/preload.h"

/* The outermost wait of this thread, if its cancellation is asynchronous outside of it; and
 * the handler that is registered while it sleeps. Volatile: a signal handler looks. */
static __thread struct pawl_sleeper *volatile wait
	__attribute__((tls_model("initial-exec")));
static __thread void *volatile handler __attribute__((tls_model("initial-exec")));

void __real_pawl_wait_begin(struct pawl_sleeper *me);
void __wrap_pawl_wait_begin(struct pawl_sleeper *me);
void __real_pawl_wait_end(struct pawl_sleeper *me);
void __wrap_pawl_wait_end(struct pawl_sleeper *me);
bool __real_pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
			  const struct pawl_deadline *deadline);

static bool is_every(const void *frame, const void *unused)
{
	(void)frame;
	(void)unused;
	return true;
}

static void abandon_all(void *unused)
{
	wait = NULL;
	handler = NULL;
	pawl_jump_leaves(is_every, unused);
}

void __wrap_pawl_wait_begin(struct pawl_sleeper *me)
{
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	__real_pawl_wait_begin(me);
	if (unlikely(type == PTHREAD_CANCEL_ASYNCHRONOUS))
		wait = me;
}

/* The wait is on record until its thread can be cancelled again. */
static __attribute__((noinline)) void end_cancellably(struct pawl_sleeper *me)
{
	int type;

	pthread_cleanup_push(abandon_all, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	pthread_cleanup_pop(0);
	wait = NULL;
	__real_pawl_wait_end(me);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
}

void __wrap_pawl_wait_end(struct pawl_sleeper *me)
{
	if (unlikely(wait == me))
		end_cancellably(me);
	else
		__real_pawl_wait_end(me);
}

static __attribute__((noinline)) bool sleep_cancellably(
	const pawl_atomic64 *word, uint32_t expected,
	const struct pawl_deadline *deadline)
{
	bool woken;
	int type;

	pthread_cleanup_push(abandon_all, NULL);
	handler = &__cancel_buf; /* a name of glibc's macro */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	woken = __real_pawl_os_sleep(word, expected, deadline);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	handler = NULL;
	pthread_cleanup_pop(0);
	return woken;
}

bool cancel_sleep(const pawl_atomic64 *word, uint32_t expected,
		  const struct pawl_deadline *deadline)
{
	if (likely(wait == NULL) || pawl_critical_frame() != NULL)
		return __real_pawl_os_sleep(word, expected, deadline);
	return sleep_cancellably(word, expected, deadline);
}

bool cancel_jump(bool (*is_left)(const void *frame, const void *target),
		 const void *target)
{
	int type;

	if (wait == NULL || !is_left(wait, target))
		return false;
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	if (handler != NULL)
		__pthread_unregister_cancel(handler);
	wait = NULL;
	handler = NULL;
	return true;
}
