/* SPDX-License-Identifier: MIT */
/* pawl_mutex, pawl_cond and pawl_rwlock among threads of different priorities on one CPU. */
#include "harness/harness.h"
#include "harness/ranks.h"

#include <pawl/cond.h>
#include <pawl/rwlock.h>

enum { ORDERS = 20 };

static struct pawl_mutex m;
static struct pawl_cond c[2];

static void lock(void)
{
	pawl_mutex_lock(&m);
}

static void unlock(void)
{
	pawl_mutex_unlock(&m);
}

static void wait(int which)
{
	pawl_cond_wait(&c[which], &m);
}

static void tell(int which)
{
	pawl_cond_signal(&c[which]);
}

static const struct ranks_monitor monitor = {lock, unlock, wait, tell};

static void expect_right(enum ranks_verdict verdict)
{
	if (verdict == RANKS_REFUSED)
		skip_because("this process may not have real-time threads");
	assert_int_equal(verdict, RANKS_RIGHT);
	assert_int_equal(pawl_load_relaxed(&m.word), 0); /* Relaxed: nobody is there */
	/* Nobody is queued; unlocks may still be counted. Relaxed: likewise. */
	assert_int_equal((uint32_t)pawl_load_relaxed(&m.due), 0);
}

static void the_holder_is_outranked(void **state)
{
	(void)state;
	expect_right(ranks_arrive(&monitor, SCHED_FIFO));
	expect_right(ranks_arrive(&monitor, SCHED_RR));
}

static void all_ranks_compete(void **state)
{
	(void)state;
	expect_right(ranks_compete(&monitor, SCHED_FIFO));
	expect_right(ranks_compete(&monitor, SCHED_RR));
}

static void ranks_wait_for_each_other(void **state)
{
	(void)state;
	expect_right(ranks_queue(&monitor, SCHED_FIFO));
	expect_right(ranks_queue(&monitor, SCHED_RR));
}

static struct pawl_rwlock rwlock;

static void write_lock(void)
{
	pawl_rwlock_write_lock(&rwlock);
}

static void write_unlock(void)
{
	pawl_rwlock_write_unlock(&rwlock);
}

static const struct ranks_monitor writers = {write_lock, write_unlock, NULL, NULL};

static void the_highest_is_served_first(void **state)
{
	static const int policies[] = {SCHED_FIFO, SCHED_RR};
	int i;

	(void)state;
	for (i = 0; i < ORDERS; i++) {
		expect_right(ranks_lock_in_order(&monitor, policies[i % 2]));
		expect_right(ranks_wait_in_order(&monitor, policies[i % 2]));
		expect_right(ranks_lock_in_order(&writers, policies[i % 2]));
	}
}

static void a_crowd_on_a_busy_cpu_gets_on(void **state)
{
	(void)state;
	expect_right(ranks_crowd(&monitor, 2000));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(the_holder_is_outranked),
		cmocka_unit_test(all_ranks_compete),
		cmocka_unit_test(ranks_wait_for_each_other),
		cmocka_unit_test(the_highest_is_served_first),
		cmocka_unit_test(a_crowd_on_a_busy_cpu_gets_on),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
