/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"
#include "locks/cases/cases.h"

#include <pawl/hemlock_overlap.h>

int main(void)
{
	static const struct pawl_hemlock_overlap init = PAWL_HEMLOCK_OVERLAP_INIT;
	const struct lock_claim claim = {.name = "hemlock-overlap",
					 .init = &init,
					 .size = 8,
					 .more = overlap_cases,
					 .more_count = overlap_case_count};

	return lock_tests(&claim);
}
