/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"
#include "locks/cases/cases.h"

#include <pawl/reciprocating_fair.h>

int main(void)
{
	static const struct pawl_reciprocating_fair init = PAWL_RECIPROCATING_FAIR_INIT;
	const struct lock_claim claim = {.name = "reciprocating-fair",
					 .init = &init,
					 .size = 32,
					 .core_size = 8,
					 .more = even_shares_cases,
					 .more_count = even_shares_case_count};

	return lock_tests(&claim);
}
