/* SPDX-License-Identifier: MIT */
/*
 * Waits that a signal's handler may jump out of. One is known here while it may, so that
 * whoever jumps can leave for it. Otherwise, such as while the waiting thread has the lock
 * of a bucket, signals are barred.
 *
 * A thread can jump only to where it has called setjmp. One that never has therefore need
 * not keep signals away. Should a handler come in, and call setjmp and jump, that is a
 * jump within the handler, which leaves no wait.
 */
#include "sync/queues.h"

#include <pawl/mutex.h>
#include <pawl/thread.h>

/* Whether there is somebody who calls pawl_mutex_abandon. */
static bool expected;
/* Whether this thread has called setjmp, and how often it has barred signals: then `blocked`
 * says whether it had to. Volatile: a signal's handler changes the first, and looks at the
 * others. */
static __thread volatile bool may_jump __attribute__((tls_model("initial-exec")));
static __thread volatile unsigned barred __attribute__((tls_model("initial-exec")));
static __thread volatile bool blocked __attribute__((tls_model("initial-exec")));
static __thread uint64_t signals __attribute__((tls_model("initial-exec")));

void pawl_jumps_expect(void)
{
	expected = true;
}

void pawl_jumps_prepare(void)
{
	may_jump = true;
}

void pawl_jumps_bar(void)
{
	if (!expected)
		return;
	if (barred == 0 && may_jump) {
		signals = pawl_os_block_signals();
		blocked = true;
	}
	barred++;
}

void pawl_jumps_allow(void)
{
	if (!expected || --barred != 0 || !blocked)
		return;
	blocked = false;
	pawl_os_restore_signals(signals);
}

/* Volatile: a signal's handler looks, between any two steps. */
static struct pawl_sleeper *volatile *innermost(void)
{
	return &pawl_self()->asleep;
}

void pawl_wait_begin(struct pawl_sleeper *me)
{
	me->outer = *innermost();
	*innermost() = me;
}

bool pawl_wait_end(struct pawl_sleeper *me)
{
	*innermost() = me->outer;
	return !me->abandoned;
}

bool pawl_sleep_queued(struct pawl_sleeper *me, const struct pawl_deadline *deadline)
{
	bool told;

	pawl_wait_begin(me);
	pawl_jumps_allow();
	told = pawl_sleep(me, deadline);
	pawl_jumps_bar();
	(void)pawl_wait_end(me);
	return told;
}

void pawl_mutex_abandon(void)
{
	struct pawl_sleeper *me = *innermost();
	uint64_t before;

	if (me == NULL || (barred > 0 && !blocked))
		return;
	before = pawl_os_block_signals(); /* lest another one abandons it as well */
	for (; me != NULL; me = me->outer) {
		if (me->abandon != NULL)
			me->abandon(me);
		else if (pawl_mutex_leave_queue(me))
			pawl_mutex_unlock(me->mutex);
		me->abandoned = true;
		/* Relaxed: our own. */
		pawl_store_relaxed(&me->state, SLEEPER_WOKEN);
	}
	*innermost() = NULL;
	pawl_os_restore_signals(before);
}
