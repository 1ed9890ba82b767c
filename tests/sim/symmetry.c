/* SPDX-License-Identifier: MIT */
/*
 * One execution of those that differ in who is who: exactly one of n!, and what
 * is wrong with a lock is still found.
 */
#include <sim/check/scenario.h>
#include <sim/seam.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct scenario *find(const char *name)
{
	size_t n = 0;

	while (strcmp(scenario_of(NULL, n)->name, name) != 0)
		n++;
	return scenario_of(NULL, n);
}

static const struct lock_type *find_lock(const char *name)
{
	const struct lock_type *type;

	for (type = sim_lock_types; strcmp(type->name, name) != 0; type++)
		;
	return type;
}

static uint64_t count(const char *lock, const char *scenario, int threads, bool in_turn)
{
	static struct result result;
	struct options options = {.in_turn = in_turn};

	scenario_check(find(scenario), find_lock(lock), threads, 1, &options, &result);
	assert_int_equal(result.verdict, VERDICT_PASSED);
	return result.executions;
}

/* Locks that do not hash what belongs to a thread. */
static const char *const locks[] = {
	"tas",	       "ttas",		"ticket",	 "mcs",
	"clh",	       "tidex",		"hemlock",	 "hemlock-ctr",
	"hemlock-oh1", "hemlock-chain", "reciprocating", "reciprocating-fair",
};
enum { LOCKS = sizeof(locks) / sizeof(locks[0]) };

static void keeps_one_of_six(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < LOCKS; i++) {
		uint64_t all = count(locks[i], "sections", 3, false);

		assert_true(all >= 6);
		if (6 * count(locks[i], "sections", 3, true) != all)
			fail_msg("%s: not one of six", locks[i]);
		if (6 * count(locks[i], "destroy", 3, true) !=
		    count(locks[i], "destroy", 3, false))
			fail_msg("%s, destroyed: not one of six", locks[i]);
	}
}

static void keeps_one_of_twentyfour(void **state)
{
	(void)state;
	assert_int_equal(24 * count("ticket", "sections", 4, true),
			 count("ticket", "sections", 4, false));
	assert_int_equal(24 * count("mcs", "sections", 4, true),
			 count("mcs", "sections", 4, false));
}

/* One of the threads is another: the others are two. */
static void keeps_one_of_two(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < LOCKS; i++)
		if (2 * count(locks[i], "return", 3, true) !=
		    count(locks[i], "return", 3, false))
			fail_msg("%s: not one of two", locks[i]);
}

static void still_finds_what_is_wrong(void **state)
{
	static struct result result;
	struct options options = {.in_turn = true};

	(void)state;
	scenario_check(find("destroy"), find_lock("hemlock-ah"), 3, 1, &options, &result);
	assert_int_equal(result.verdict, VERDICT_FREED);
}

/* A lock that never lets anybody in, and one that lets everybody in. */
static void open_door(void *l)
{
	(void)l;
}

static void closed_door(void *l)
{
	sim_await(SIM_AWAIT_EQ, l, 1, 0, SIM_ACQUIRE);
}

static enum verdict judge_door(void (*lock)(void *))
{
	static struct result result;
	struct lock_type type = *find_lock("ticket");
	struct options options = {.in_turn = true};

	type.lock = lock;
	type.unlock = open_door;
	scenario_check(find("sections"), &type, 3, 1, &options, &result);
	return result.verdict;
}

static void a_door_that_is_no_lock_is_found(void **state)
{
	(void)state;
	assert_int_equal(judge_door(open_door), VERDICT_EXCLUSION);
	assert_int_equal(judge_door(closed_door), VERDICT_DEADLOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_one_of_six),
		cmocka_unit_test(keeps_one_of_twentyfour),
		cmocka_unit_test(keeps_one_of_two),
		cmocka_unit_test(still_finds_what_is_wrong),
		cmocka_unit_test(a_door_that_is_no_lock_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
