/* SPDX-License-Identifier: MIT */
/* The harness judges order from a log, and children; this judges the harness. */
#include "child.h"
#include "harness.h"

#include <time.h>
#include <unistd.h>

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

static void hang(void)
{
	for (;;)
		pause();
}

static void a_child_that_hangs_is_killed(void **state)
{
	const unsigned before = child_patience;
	struct child child;

	(void)state;
	child_patience = 1;
	child = child_run(hang);
	child_patience = before;
	assert_int_equal(child.signal, SIGKILL);
}

static void outlast_a_stopped_parent(void)
{
	const struct timespec longer_than_its_patience = {3, 0};

	kill(getppid(), SIGSTOP);
	nanosleep(&longer_than_its_patience, NULL);
	kill(getppid(), SIGCONT);
}

static void have_a_child_that_stops_us(void)
{
	struct child child;

	child_patience = 2;
	child = child_run(outlast_a_stopped_parent);
	_exit(child.status == 0 && child.signal == 0 ? 0 : 1);
}

/* As when the machine has no time for either. */
static void time_that_its_parent_did_not_have_is_no_hang(void **state)
{
	struct child child = child_run(have_a_child_that_stops_us);

	(void)state;
	assert_int_equal(child.signal, 0);
	assert_int_equal(child.status, 0);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(arrival_order_is_no_bypass),
		cmocka_unit_test(entering_before_an_earlier_arrival_is_one),
		cmocka_unit_test(twice_by_the_same_thread_is_two),
		cmocka_unit_test(once_by_each_of_two_threads_is_one),
		cmocka_unit_test(each_wait_counts_by_itself),
		cmocka_unit_test(a_child_that_hangs_is_killed),
		cmocka_unit_test(time_that_its_parent_did_not_have_is_no_hang),
	};

	return cmocka_run_group_tests_name("harness", cases, NULL, NULL);
}
