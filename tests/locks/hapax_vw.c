/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/hapax_vw.h>

int main(void)
{
	static const struct pawl_hapax_vw init = PAWL_HAPAX_VW_INIT;
	const struct lock_claim claim = {
		.name = "hapax-vw", .init = &init, .size = 24, .core_size = 16};

	return lock_tests(&claim);
}
