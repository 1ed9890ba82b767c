/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/mcs.h>

int main(void)
{
	static const struct pawl_mcs init = PAWL_MCS_INIT;
	const struct lock_claim claim = {
		.name = "mcs", .init = &init, .size = 16, .core_size = 8};

	return lock_tests(&claim);
}
