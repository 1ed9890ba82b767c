/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/hemlock_chain.h>

int main(void)
{
	static const struct pawl_hemlock_chain init = PAWL_HEMLOCK_CHAIN_INIT;
	const struct lock_claim claim = {
		.name = "hemlock-chain", .init = &init, .size = 8};

	return lock_tests(&claim);
}
