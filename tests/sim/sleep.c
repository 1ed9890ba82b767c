/* SPDX-License-Identifier: MIT */
/*
 * The futex's specification (sim_sleep_sees) against the futex: the same verdicts, but
 * for one who was told and is not woken, which only the futex shows.
 */
#include <sim/check/scenario.h>
#include <sim/seam.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* pawl_os_sleep and pawl_os_wake of sim/runtime.c. */
bool sim_os_sleep(const void *word, uint32_t expected, const void *deadline);
void sim_os_wake(const void *word);

static const struct lock_type *find_lock(const char *name)
{
	const struct lock_type *type;

	for (type = sim_lock_types; strcmp(type->name, name) != 0; type++)
		;
	return type;
}

static enum verdict judge(const struct lock_type *type, int threads, bool sees)
{
	static struct result result;
	struct options options = {.in_turn = false};
	struct scenario scenario;
	size_t n = 0;

	while (strcmp(scenario_of(NULL, n)->name, "sections") != 0)
		n++;
	scenario = *scenario_of(NULL, n);
	scenario.sleep_sees = sees;
	scenario_check(&scenario, type, threads, 1, &options, &result);
	return result.verdict;
}

/* A lock that sleeps, and what may be wrong with it. */

static void lock(void *l)
{
	while (!sim_cas(l, 0, 1, SIM_ACQUIRE, SIM_RELAXED))
		sim_os_sleep(l, 1, NULL);
}

static void unlock(void *l)
{
	sim_store(l, 0, SIM_RELEASE);
	sim_os_wake(l);
}

static void unlock_without_release(void *l)
{
	sim_store(l, 0, SIM_RELAXED);
	sim_os_wake(l);
}

static void unlock_without_store(void *l)
{
	sim_os_wake(l);
}

static void unlock_without_wake(void *l)
{
	sim_store(l, 0, SIM_RELEASE);
}

static enum verdict judge_unlock(void (*unlock_by)(void *), int threads, bool sees)
{
	struct lock_type type = *find_lock("tas");

	type.lock = lock;
	type.unlock = unlock_by;
	return judge(&type, threads, sees);
}

static void says_what_the_futex_says(void **state)
{
	int threads;

	(void)state;
	for (threads = 2; threads <= 3; threads++) {
		assert_int_equal(judge_unlock(unlock, threads, false), VERDICT_PASSED);
		assert_int_equal(judge_unlock(unlock, threads, true), VERDICT_PASSED);
	}
	assert_int_equal(judge(find_lock("mutex"), 2, false), VERDICT_PASSED);
	assert_int_equal(judge(find_lock("mutex"), 2, true), VERDICT_PASSED);
	assert_int_equal(judge_unlock(unlock_without_release, 2, false),
			 judge_unlock(unlock_without_release, 2, true));
	assert_int_not_equal(judge_unlock(unlock_without_release, 2, true),
			     VERDICT_PASSED);
	assert_int_equal(judge_unlock(unlock_without_store, 2, false), VERDICT_DEADLOCK);
	assert_int_equal(judge_unlock(unlock_without_store, 2, true), VERDICT_DEADLOCK);
}

static void only_the_futex_misses_a_wake_up(void **state)
{
	enum verdict verdict = judge_unlock(unlock_without_wake, 2, false);

	(void)state;
	assert_true(verdict == VERDICT_DEADLOCK || verdict == VERDICT_LOST_WAKE_UP);
	assert_int_equal(judge_unlock(unlock_without_wake, 2, true), VERDICT_PASSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_the_futex_says),
		cmocka_unit_test(only_the_futex_misses_a_wake_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
