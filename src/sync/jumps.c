/* SPDX-License-Identifier: MIT */
/*
 * Jumps (longjmp) out of a wait. A blocked thread is on record here, from before it enters
 * a queue until after it has left, so that a signal handler that jumps out of the wait can
 * withdraw it first. See docs/design/interposer.md.
 */
#include "sync/queues.h"

#include <pawl/runtime.h>
#include <pawl/thread.h>

/* Volatile: a signal handler looks between any two instructions. */
static struct pawl_sleeper *volatile *innermost(void)
{
	return &pawl_self()->asleep;
}

void pawl_wait_begin(struct pawl_sleeper *me)
{
	me->outer = *innermost();
	*innermost() = me;
}

void pawl_wait_end(struct pawl_sleeper *me)
{
	*innermost() = me->outer;
}

bool pawl_jump_matters(void)
{
	return *innermost() != NULL || pawl_critical_frame() != NULL;
}

void pawl_jump_leaves(bool (*is_left)(const void *frame, const void *target),
		      const void *target)
{
	struct pawl_sleeper *me = *innermost();
	const void *critical = pawl_critical_frame();
	uint64_t before;

	if (critical != NULL && is_left(critical, target))
		pawl_die_(
			"a signal handler jumped (longjmp) out of a lock function in the "
			"middle of a change to its queues, which would block other "
			"threads for ever");
	if (me == NULL || !is_left(me, target))
		return;
	before = pawl_os_block_signals(); /* else another handler may jump out of this */
	do {
		me->abandon(me);
		me = me->outer;
		*innermost() = me;
	} while (me != NULL && is_left(me, target));
	pawl_os_restore_signals(before);
}
