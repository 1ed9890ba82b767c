/* SPDX-License-Identifier: MIT */
/* Cases that belong to one lock alone. */
#ifndef TESTS_LOCKS_CASES_H
#define TESTS_LOCKS_CASES_H

#include "harness/harness.h"

extern const struct CMUnitTest hemlock_scope_cases[];
extern const size_t hemlock_scope_case_count;
extern const struct CMUnitTest node_cases[];
extern const size_t node_case_count;
extern const struct CMUnitTest overlap_cases[];
extern const size_t overlap_case_count;
extern const struct CMUnitTest palindrome_cases[];
extern const size_t palindrome_case_count;
extern const struct CMUnitTest even_shares_cases[];
extern const size_t even_shares_case_count;

#endif /* TESTS_LOCKS_CASES_H */
