/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/twa.h>

int main(void)
{
	static const struct pawl_twa init = PAWL_TWA_INIT;
	const struct lock_claim claim = {.name = "twa", .init = &init, .size = 16};

	return lock_tests(&claim);
}
