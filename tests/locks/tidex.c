/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/tidex.h>

int main(void)
{
	static const struct pawl_tidex init = PAWL_TIDEX_INIT;
	const struct lock_claim claim = {
		.name = "tidex", .init = &init, .size = 24, .core_size = 16};

	return lock_tests(&claim);
}
