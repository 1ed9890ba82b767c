/* SPDX-License-Identifier: MIT */
/*
 * When a test counts as hung. Only a guard, so that a run ends and names the test: nothing is
 * measured by it, and a machine with ten times as many runnable threads as CPUs is far from
 * it. Below the limit that scripts/check has for a whole test.
 */
#ifndef HARNESS_HANG_H
#define HARNESS_HANG_H

enum { HANG_GUARD_S = 600 };

#endif /* HARNESS_HANG_H */
