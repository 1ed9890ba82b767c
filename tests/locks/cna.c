/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"
#include "locks/cases/cases.h"

#include <pawl/cna.h>

int main(void)
{
	static const struct pawl_cna init = PAWL_CNA_INIT;
	const struct lock_claim claim = {.name = "cna",
					 .init = &init,
					 .size = 16,
					 .core_size = 8,
					 .more = node_cases,
					 .more_count = node_case_count};

	return lock_tests(&claim);
}
