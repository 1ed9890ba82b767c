/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"
#include "locks/cases/cases.h"

#include <pawl/reciprocating.h>

int main(void)
{
	static const struct pawl_reciprocating init = PAWL_RECIPROCATING_INIT;
	const struct lock_claim claim = {.name = "reciprocating",
					 .init = &init,
					 .size = 24,
					 .core_size = 8,
					 .more = palindrome_cases,
					 .more_count = palindrome_case_count};

	return lock_tests(&claim);
}
