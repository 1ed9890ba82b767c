/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/hemlock_oh2.h>

int main(void)
{
	static const struct pawl_hemlock_oh2 init = PAWL_HEMLOCK_OH2_INIT;
	const struct lock_claim claim = {.name = "hemlock-oh2", .init = &init, .size = 8};

	return lock_tests(&claim);
}
