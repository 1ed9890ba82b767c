/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"
#include "locks/cases/cases.h"

#include <pawl/hemlock.h>

int main(void)
{
	static const struct pawl_hemlock init = PAWL_HEMLOCK_INIT;
	const struct lock_claim claim = {.name = "hemlock",
					 .init = &init,
					 .size = 8,
					 .more = hemlock_scope_cases,
					 .more_count = hemlock_scope_case_count};

	return lock_tests(&claim);
}
