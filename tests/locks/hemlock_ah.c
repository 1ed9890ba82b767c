/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/hemlock_ah.h>

int main(void)
{
	static const struct pawl_hemlock_ah init = PAWL_HEMLOCK_AH_INIT;
	const struct lock_claim claim = {.name = "hemlock-ah", .init = &init, .size = 8};

	return lock_tests(&claim);
}
