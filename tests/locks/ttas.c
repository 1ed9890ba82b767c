/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/ttas.h>

int main(void)
{
	static const struct pawl_ttas init = PAWL_TTAS_INIT;
	const struct lock_claim claim = {.name = "ttas", .init = &init, .size = 8};

	return lock_tests(&claim);
}
