/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/hapax.h>

int main(void)
{
	static const struct pawl_hapax init = PAWL_HAPAX_INIT;
	const struct lock_claim claim = {
		.name = "hapax", .init = &init, .size = 24, .core_size = 16};

	return lock_tests(&claim);
}
