/* SPDX-License-Identifier: MIT */
#include "harness/harness.h"

#include <pawl/mutex.h>

int main(void)
{
	static const struct pawl_mutex init = PAWL_MUTEX_INIT;
	const struct lock_claim claim = {.name = "mutex", .init = &init, .size = 16};

	return lock_tests(&claim);
}
