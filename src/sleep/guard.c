/* SPDX-License-Identifier: MIT */
/*
 * The lock of a bucket of the parking table: what sleeping is built on cannot
 * use it. 0 free, 1 held, 2 held and somebody may sleep for it. It guards a few
 * instructions, so a short poll mostly does. pawl check looks at it by itself
 * (scenario "guard"), and at what is built on it with a simpler one in its
 * place: otherwise no search would end.
 *
 * Order: [A] pairs with [R], so that what one holder did happens before what the
 * next one does.
 */
#include "sleep/parking.h"

#include <pawl/thread.h>

enum { GUARD_SPIN_NS = 4000 };

static bool lock_until(pawl_atomic64 *guard, const struct pawl_deadline *deadline)
{
	struct pawl_spin spin;

	if (pawl_cas_acquire(guard, 0, 1)) /* [A] */
		return true;
	pawl_spin_begin(&spin, GUARD_SPIN_NS);
	while (pawl_spin_again(&spin))
		if (pawl_cas_acquire(guard, 0, 1)) /* [A] */
			return true;
	/* Who gives up leaves a 2 behind: one wake-up of nobody. */
	while (pawl_exchange_acquire(guard, 2) != 0) /* [A] */
		if (!pawl_os_sleep(guard, 2, deadline))
			return false;
	return true;
}

void pawl_guard_lock(pawl_atomic64 *guard)
{
	(void)lock_until(guard, NULL);
}

bool pawl_guard_lock_for(pawl_atomic64 *guard, uint64_t ns)
{
	struct pawl_deadline deadline = pawl_deadline_in(ns);

	return lock_until(guard, &deadline);
}

void pawl_guard_unlock(pawl_atomic64 *guard)
{
	if (pawl_exchange_release(guard, 0) == 2) /* [R] */
		pawl_os_wake(guard);
}
