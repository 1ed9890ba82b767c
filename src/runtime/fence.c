/* SPDX-License-Identifier: MIT */
/*
 * The heavy side of the asymmetric fence.
 *
 * Until the barrier is known to work the light side is a full fence, which
 * pairs with the heavy side's own full fence. The switch to the light form may
 * happen while other threads run: a heavy side whose barrier call came too
 * early to succeed had passed its full fence by then, so a thread that already
 * sees the switch also sees the stores before that fence.
 */
#include "os.h"

#include <pawl/atomic.h>

bool pawl_light_fence_is_full = true;

__attribute__((constructor)) static void choose_light_fence(void)
{
	if (pawl_os_barrier_prepare())
		pawl_light_fence_is_full = false;
}

void pawl_heavy_fence_native(void)
{
	pawl_arch_full_fence();
	pawl_os_barrier();
}
