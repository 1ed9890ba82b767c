/* SPDX-License-Identifier: MIT */
/* The harness judges order from a log; this judges the harness. */
#include "harness.h"

static unsigned judge(const struct event *events, size_t count)
{
	struct circulation c = {.threads = 3, .count = count};

	c.events = (struct event *)(uintptr_t)events;
	return worst_bypass(&c);
}

static void arrival_order_is_no_bypass(void **state)
{
	const struct event log[] = {{ARRIVES, 0}, {ARRIVES, 1}, {ENTERS, 0},
				    {ARRIVES, 0}, {ENTERS, 1},	{ENTERS, 0}};

	(void)state;
	assert_int_equal(judge(log, COUNT_OF(log)), 0);
}

static void entering_before_an_earlier_arrival_is_one(void **state)
{
	const struct event log[] = {{ARRIVES, 0}, {ARRIVES, 1}, {ENTERS, 1}, {ENTERS, 0}};

	(void)state;
	assert_int_equal(judge(log, COUNT_OF(log)), 1);
}

static void twice_by_the_same_thread_is_two(void **state)
{
	const struct event log[] = {{ARRIVES, 0}, {ARRIVES, 1}, {ENTERS, 1},
				    {ARRIVES, 1}, {ENTERS, 1},	{ENTERS, 0}};

	(void)state;
	assert_int_equal(judge(log, COUNT_OF(log)), 2);
}

static void once_by_each_of_two_threads_is_one(void **state)
{
	const struct event log[] = {{ARRIVES, 0}, {ARRIVES, 1}, {ARRIVES, 2},
				    {ENTERS, 1},  {ENTERS, 2},	{ENTERS, 0}};

	(void)state;
	assert_int_equal(judge(log, COUNT_OF(log)), 1);
}

static void each_wait_counts_by_itself(void **state)
{
	const struct event log[] = {{ARRIVES, 0}, {ARRIVES, 1}, {ENTERS, 1}, {ENTERS, 0},
				    {ARRIVES, 0}, {ARRIVES, 1}, {ENTERS, 1}, {ENTERS, 0}};

	(void)state;
	assert_int_equal(judge(log, COUNT_OF(log)), 1);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(arrival_order_is_no_bypass),
		cmocka_unit_test(entering_before_an_earlier_arrival_is_one),
		cmocka_unit_test(twice_by_the_same_thread_is_two),
		cmocka_unit_test(once_by_each_of_two_threads_is_one),
		cmocka_unit_test(each_wait_counts_by_itself),
	};

	return cmocka_run_group_tests_name("harness", cases, NULL, NULL);
}
