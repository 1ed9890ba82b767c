/* SPDX-License-Identifier: MIT */
/*
 * Forks of a process whose other threads are inside everything there is: whatever they
 * hold or are about to change, the child can use what is its own.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include "harness/hang.h"
#include "sleep/parking.h"

#include <pawl/cond.h>
#include <pawl/counter.h>
#include <pawl/hapax.h>
#include <pawl/mcs.h>
#include <pawl/pool.h>
#include <pawl/shared.h>
#include <pawl/ttas.h>

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 6, FORKS = 50, MUTEXES = 4096, OBJECTS = 256 };

static struct {
	pawl_atomic64 stop;
	struct pawl_mutex mutexes[8], waited;
	struct pawl_cond cond;
	struct pawl_ttas ttas;
	struct pawl_hapax hapax;
	struct pawl_mcs mcs;
	struct pawl_lease leases[4];
	struct pawl_counter counter;
	struct pawl_pool pool;
	struct pawl_shared *region;
} all;

static void use_what_waits(unsigned dice)
{
	struct timespec soon = in_ms(CLOCK_MONOTONIC, 0);
	struct pawl_mutex *m = &all.mutexes[dice % COUNT_OF(all.mutexes)];

	pawl_mutex_lock(m);
	if (dice % 16 == 0)
		sched_yield();
	pawl_mutex_unlock(m);
	pawl_mutex_lock(&all.waited);
	if (dice % 4 == 0)
		pawl_cond_broadcast(&all.cond);
	else
		pawl_cond_timedwait(&all.cond, &all.waited, CLOCK_MONOTONIC, &soon);
	pawl_mutex_unlock(&all.waited);
	pawl_ttas_lock_as_(&all.ttas, PAWL_PARK);
	pawl_ttas_unlock_as_(&all.ttas, PAWL_PARK);
	if (pawl_hapax_timedlock_as_(&all.hapax, PAWL_PARK, CLOCK_MONOTONIC, &soon) == 0)
		pawl_hapax_unlock_as_(&all.hapax, PAWL_PARK);
	pawl_mcs_lock_as_(&all.mcs, PAWL_PARK);
	pawl_mcs_unlock_as_(&all.mcs, PAWL_PARK);
	pawl_node_free_(pawl_node_new_());
}

static void use_leases(unsigned dice)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_lease *l = &all.leases[dice % COUNT_OF(all.leases)];
	void *object = pawl_pool_get(&all.pool);

	if (pawl_lease_seize(l, h) == PAWL_LEASE_OK)
		pawl_lease_release(l, h);
	pawl_lease_break(l);
	if (dice % 8 == 0)
		pawl_lease_poll();
	pawl_counter_add(&all.counter, 1);
	if (object != NULL)
		pawl_pool_put(&all.pool, object);
}

static void *be_inside(void *argument)
{
	unsigned dice = (unsigned)(uintptr_t)argument;

	/* Relaxed: it ends by and by. */
	while (pawl_load_relaxed(&all.stop) == 0) {
		dice = dice * 1103515245 + 12345;
		if (dice >> 16 & 1)
			use_what_waits(dice >> 17);
		else
			use_leases(dice >> 17);
		if (pawl_shared_mutex_lock(all.region, 0) == 0)
			pawl_shared_mutex_unlock(all.region, 0);
	}
	return NULL;
}

/* A mutex in every bucket: a wait for it takes the bucket's lock. */
static bool every_bucket_works(void)
{
	static struct pawl_mutex mutexes[MUTEXES];
	bool tried[1 << PAWL_BUCKET_BITS] = {false};
	size_t i;

	for (i = 0; i < MUTEXES; i++) {
		struct timespec now = in_ms(CLOCK_MONOTONIC, 0);
		struct pawl_bucket *bucket = pawl_bucket_lock(&mutexes[i]);
		ptrdiff_t number = bucket - pawl_parking()->first.buckets;

		pawl_bucket_unlock(bucket);
		if (tried[number])
			continue;
		tried[number] = true;
		pawl_mutex_lock(&mutexes[i]);
		if (pawl_mutex_timedlock(&mutexes[i], CLOCK_MONOTONIC, &now) != ETIMEDOUT)
			return false;
		pawl_mutex_unlock(&mutexes[i]);
	}
	return true;
}

/* 0, or a number that says what is not as it should be. */
static int use_all(void)
{
	static struct pawl_hapax hapax[64];
	struct timespec now = in_ms(CLOCK_MONOTONIC, 0);
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_lease l = PAWL_LEASE_INIT;
	void *object;
	int64_t sum;
	size_t i;

	if (!every_bucket_works())
		return 1;
	for (i = 0; i < COUNT_OF(hapax); i++) {
		pawl_hapax_lock(&hapax[i]);
		if (pawl_hapax_timedlock(&hapax[i], CLOCK_MONOTONIC, &now) != ETIMEDOUT)
			return 2;
		pawl_hapax_unlock(&hapax[i]);
	}
	pawl_node_free_(pawl_node_new_());
	pawl_heavy_fence();
	if (pawl_lease_seize(&l, h) != PAWL_LEASE_OK)
		return 3;
	pawl_lease_release(&l, h);
	pawl_lease_break(&l);
	pawl_lease_poll();
	if (!pawl_counter_exact(&all.counter, 1000000000, &sum))
		return 4;
	object = pawl_pool_get(&all.pool);
	if (object == NULL)
		return 5;
	pawl_pool_put(&all.pool, object);
	return 0;
}

/* A region is other processes' as well: threads of the parent may hold it. */
static int use_region(void)
{
	if (pawl_shared_mutex_trylock(all.region, 1) != 0)
		return 6;
	return pawl_shared_mutex_unlock(all.region, 1) == 0 ? 0 : 6;
}

/*
 * A sanitizer's heap, unlike glibc's, may be locked for ever in the child. There,
 * whatever grows has grown before the fork, and who asks for memory says so. (In a region
 * a new process needs a seat.)
 */
int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t),
					      void (*)(const volatile void *))
	__attribute__((weak));

static void malloc_in_child(const volatile void *block, size_t size)
{
	(void)block;
	(void)size;
	_exit(7);
}

static void free_in_child(const volatile void *block)
{
	(void)block;
	_exit(8);
}

static int use_all_in_child(void)
{
	int wrong;

	alarm(HANG_GUARD_S);
	if (__sanitizer_install_malloc_and_free_hooks != NULL) {
		(void)__sanitizer_install_malloc_and_free_hooks(malloc_in_child,
								free_in_child);
		return use_all();
	}
	wrong = use_all();
	return wrong != 0 ? wrong : use_region();
}

static void a_child_can_use_whatever_others_were_inside_of(void **state)
{
	const struct pawl_pool_plan plan = {.size = 64, .limit = OBJECTS};
	const struct pawl_shared_shape shape = {.mutexes = 2};
	struct crew crew = {.size = 0};
	int forks, status;
	uintptr_t i;

	(void)state;
	watchdog("forks");
	assert_int_equal(pawl_pool_create(&all.pool, &plan), 0);
	assert_int_equal(pawl_counter_create(&all.counter, PAWL_SHARDS_LEASED), 0);
	assert_int_equal(pawl_shared_create(&all.region, -1, &shape), 0);
	if (__sanitizer_install_malloc_and_free_hooks != NULL)
		assert_int_equal(use_all(), 0);
	for (i = 1; i <= WORKERS; i++)
		crew_start(&crew, be_inside, (void *)i);
	for (forks = 0; forks < FORKS; forks++) {
		pid_t child = fork();

		if (child == 0)
			_exit(use_all_in_child());
		assert_true(child > 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		watchdog("forks");
	}
	pawl_store_relaxed(&all.stop, 1); /* Relaxed: they end by and by. */
	crew_join(&crew);
	assert_int_equal(pawl_shared_detach(all.region), 0);
	pawl_counter_destroy(&all.counter);
	pawl_pool_destroy(&all.pool);
	watchdog(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_can_use_whatever_others_were_inside_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
