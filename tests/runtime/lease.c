/* SPDX-License-Identifier: MIT */
/* pawl_lease: states, who may take what, nesting, exit, drain, fork. */
#define _GNU_SOURCE
#include "harness/child.h"
#include "harness/harness.h"

#include <pawl/lease.h>

static void one_thread_takes_and_keeps_a_lease(void **state)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_lease l = PAWL_LEASE_INIT;
	int i;

	(void)state;
	watchdog("one thread");
	for (i = 0; i < 1000; i++) {
		assert_int_equal(pawl_lease_acquire(&l, h), PAWL_LEASE_OK);
		pawl_lease_release(&l, h);
	}
	watchdog(NULL);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(one_thread_takes_and_keeps_a_lease),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
