/* SPDX-License-Identifier: MIT */
/*
 * A thousand waiters for one lock, which its holder keeps for a while: each of them
 * sleeps a few times, once for each stage of its way to the front, and not again and
 * again. Sleeps are counted by the system, as context switches.
 */
#define _GNU_SOURCE
#include "harness/harness.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { CROWD = 1000, HOLD_MS = 1000 };

static const struct lock_type *type;
static void *lock;
static uint64_t arrived;

static void *visit(void *unused)
{
	__atomic_fetch_add(&arrived, 1, __ATOMIC_RELEASE);
	type->lock(lock);
	type->unlock(lock);
	return unused;
}

static long sleeps_so_far(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

/* How often a crowd sleeps until all have had the lock. */
static long sleeps_of(const char *name)
{
	static pthread_t threads[CROWD];
	const struct timespec hold = {HOLD_MS / 1000, HOLD_MS % 1000 * 1000000};
	long before = sleeps_so_far(), sleeps;
	pthread_attr_t small;
	int i;

	type = lock_type_find(name);
	assert_non_null(type);
	lock = calloc(1, 256);
	arrived = 0;
	assert_int_equal(pthread_attr_init(&small), 0);
	pthread_attr_setstacksize(&small, 256 * 1024);
	type->lock(lock);
	for (i = 0; i < CROWD; i++)
		assert_int_equal(pthread_create(&threads[i], &small, visit, NULL), 0);
	while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < CROWD)
		breathe();
	nanosleep(&hold, NULL);
	type->unlock(lock);
	for (i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	sleeps = sleeps_so_far() - before;
	pthread_attr_destroy(&small);
	free(lock);
	print_message("%s: %ld sleeps\n", name, sleeps);
	return sleeps;
}

static void a_crowd_does_not_wake_for_nothing(void **state)
{
	long few = sleeps_of("ticket+park");

	(void)state;
	watchdog("crowd");
	assert_true(sleeps_of("twa+park") <= 10 * few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crowd_does_not_wake_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
