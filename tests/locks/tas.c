/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/tas.h>

int main(void)
{
	static const struct pawl_tas init = PAWL_TAS_INIT;
	const struct lock_claim claim = {.name = "tas", .init = &init, .size = 8};

	return lock_tests(&claim);
}
