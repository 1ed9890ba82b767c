/* SPDX-License-Identifier: MIT */
/*
 * The heavy side of the asymmetric fence.
 *
 * Until the barrier is known to work the light side is a full fence, which
 * pairs with the heavy side's own full fence. The switch to the light form may
 * happen while other threads run: a heavy side whose barrier call came too
 * early to succeed had passed its full fence by then, so a thread that already
 * sees the switch also sees the stores before that fence. Should the system
 * come to refuse the barrier later on, the light side is a full fence again.
 */
#include "os.h"

#include <pawl/atomic.h>

uint64_t pawl_light_fence_full = 1;

/* Relaxed throughout: see above for what makes it enough. */
static pawl_atomic64 *full(void)
{
	return (pawl_atomic64 *)&pawl_light_fence_full;
}

__attribute__((constructor)) static void choose_light_fence(void)
{
	if (pawl_os_barrier_prepare())
		pawl_store_relaxed(full(), 0);
}

bool pawl_heavy_fence_native(void)
{
	pawl_arch_full_fence();
	if (pawl_os_barrier())
		return true;
	if (pawl_load_relaxed(full()) == 0)
		pawl_store_relaxed(full(), 1);
	return false;
}
