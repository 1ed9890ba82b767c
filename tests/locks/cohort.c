/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"
#include "locks/cases/cases.h"

#include <pawl/cohort.h>

int main(void)
{
	static const struct pawl_cohort init = PAWL_COHORT_INIT;
	const struct lock_claim claim = {.name = "cohort",
					 .init = &init,
					 .size = 4240,
					 .core_size = 4224,
					 .more = node_cases,
					 .more_count = node_case_count};

	return lock_tests(&claim);
}
