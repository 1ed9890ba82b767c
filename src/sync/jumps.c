/* SPDX-License-Identifier: MIT */
/*
 * Waits that a signal's handler may jump out of. One is known here from before its
 * sleeper is in a queue until after it has left, so that whoever jumps can leave for it.
 * It cannot while the waiting thread has the bucket's lock: there no signal comes.
 *
 * A thread can jump only to where it has called setjmp. One that never has therefore need
 * not keep signals away. Should a handler come in, and call setjmp and jump, that is a
 * jump within the handler, which leaves no wait.
 */
#include "sync/queues.h"

#include <pawl/mutex.h>
#include <pawl/thread.h>

#include <signal.h>

/* What pawl_jumps_bar returns if it did not: no thread can block this one. */
static const uint64_t NOT_BARRED = (uint64_t)1 << (SIGKILL - 1);

/* Whether there is somebody who calls pawl_mutex_abandon. */
static bool expected;
/* Volatile: a signal's handler changes the first, and looks at the second. */
static __thread volatile bool may_jump __attribute__((tls_model("initial-exec")));
static __thread volatile unsigned unbarred __attribute__((tls_model("initial-exec")));

void pawl_jumps_expect(void)
{
	expected = true;
}

void pawl_jumps_prepare(void)
{
	may_jump = true;
}

uint64_t pawl_jumps_bar(void)
{
	if (!expected)
		return 0;
	if (may_jump)
		return pawl_os_block_signals();
	unbarred++;
	return NOT_BARRED;
}

void pawl_jumps_allow(uint64_t signals)
{
	if (!expected)
		return;
	if (signals == NOT_BARRED)
		unbarred--;
	else
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
	told = pawl_sleep(me, deadline);
	(void)pawl_wait_end(me);
	return told;
}

void pawl_mutex_abandon(void)
{
	struct pawl_sleeper *me = *innermost();
	uint64_t signals;

	if (me == NULL || unbarred > 0)
		return;
	signals = pawl_os_block_signals(); /* lest another one abandons it as well */
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
	pawl_os_restore_signals(signals);
}
