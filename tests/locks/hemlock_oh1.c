/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/hemlock_oh1.h>

int main(void)
{
	static const struct pawl_hemlock_oh1 init = PAWL_HEMLOCK_OH1_INIT;
	const struct lock_claim claim = {.name = "hemlock-oh1", .init = &init, .size = 8};

	return lock_tests(&claim);
}
