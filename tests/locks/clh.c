/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/clh.h>

int main(void)
{
	static const struct pawl_clh init = PAWL_CLH_INIT;
	const struct lock_claim claim = {
		.name = "clh", .init = &init, .size = 24, .core_size = 8};

	return lock_tests(&claim);
}
