/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/hemlock_ctr.h>

int main(void)
{
	static const struct pawl_hemlock_ctr init = PAWL_HEMLOCK_CTR_INIT;
	const struct lock_claim claim = {.name = "hemlock-ctr", .init = &init, .size = 8};

	return lock_tests(&claim);
}
