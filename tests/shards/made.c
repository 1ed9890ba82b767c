/* SPDX-License-Identifier: MIT */
/*
 * A thread makes and destroys what has slots, inside a lease, while another one forks:
 * neither waits for the other. Time is counted in looks at the clock, so that a fork gives
 * up on who is inside after a million of them, however long that takes.
 */
#include "harness/child.h"
#include "harness/harness.h"

#include <pawl/idalloc.h>

#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 100, LOOK_NS = 50, LIMIT = 100 };

static struct pawl_lease lease = PAWL_LEASE_INIT;
static pawl_atomic64 looks, rounds, done;

uint64_t __wrap_pawl_os_now(void);
uint64_t __wrap_pawl_os_now(void)
{
	return (pawl_fetch_add_relaxed(&looks, 1) + 1) * LOOK_NS;
}

static void *make_inside(void *argument)
{
	struct pawl_lease_handle *h = pawl_lease_self();

	(void)argument;
	while (pawl_load_acquire(&done) == 0) {
		struct pawl_idalloc ids;

		if (pawl_lease_seize(&lease, h) != PAWL_LEASE_OK)
			continue;
		if (pawl_idalloc_create(&ids, PAWL_SHARDS_LEASED, LIMIT) == 0) {
			pawl_idalloc_destroy(&ids);
			pawl_fetch_add_relaxed(&rounds, 1);
		}
		pawl_lease_release(&lease, h);
	}
	return NULL;
}

static uint64_t poisonings(void)
{
	struct pawl_lease_stats stats;

	pawl_lease_get_stats(&stats);
	return stats.poisoned;
}

static void who_makes_slots_inside_is_not_waited_for_in_vain(void **state)
{
	pthread_t thread;
	int forks, status;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, make_inside, NULL), 0);
	for (forks = 0; forks < FORKS; forks++) {
		uint64_t before = pawl_load_relaxed(&rounds);
		pid_t child;

		while (pawl_load_relaxed(&rounds) == before)
			breathe();
		child = fork();
		if (child == 0)
			_exit(poisonings() == 0 ? 7 : 8);
		assert_true(child > 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 7);
	}
	pawl_store_release(&done, 1);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_makes_slots_inside_is_not_waited_for_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
