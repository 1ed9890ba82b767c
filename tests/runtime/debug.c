/* SPDX-License-Identifier: MIT */
/* The debug face: each misuse ends the process with its sentence, and right use
 * does not. */
#define PAWL_DEBUG
#include "harness/child.h"
#include "harness/harness.h"

#include <pawl/cond.h>

#include <string.h>

static struct pawl_mutex m;
static struct pawl_cond c;

static void lock_twice(void)
{
	pawl_mutex_lock(&m);
	pawl_mutex_lock(&m);
}

static void unlock_what_is_not_held(void)
{
	pawl_mutex_unlock(&m);
}

static void unlock_twice(void)
{
	pawl_mutex_lock(&m);
	pawl_mutex_unlock(&m);
	pawl_mutex_unlock(&m);
}

static void wait_without_the_mutex(void)
{
	pawl_cond_wait(&c, &m);
}

static void destroy_while_held(void)
{
	pawl_mutex_lock(&m);
	pawl_mutex_destroy(&m);
}

static void use_it_well(void)
{
	static const struct timespec past = {.tv_sec = 1};
	struct pawl_mutex other = PAWL_MUTEX_INIT;

	pawl_mutex_lock(&m);
	if (!pawl_mutex_trylock(&other) || pawl_mutex_trylock(&other))
		return;
	pawl_cond_timedwait(&c, &m, CLOCK_MONOTONIC, &past);
	pawl_mutex_timedlock(&other, CLOCK_MONOTONIC, &past); /* held: in vain */
	pawl_mutex_unlock(&m);
	pawl_mutex_unlock(&other);
	pawl_mutex_destroy(&other);
	pawl_mutex_destroy(&m);
}

static void dies_saying(void (*misuse)(void), const char *sentence)
{
	struct child child = child_run(misuse);

	assert_int_equal(child.signal, SIGABRT);
	assert_non_null(strstr(child.text, sentence));
}

static void locking_again_is_named(void **state)
{
	(void)state;
	dies_saying(lock_twice, "locks a pawl_mutex that it already holds");
}

static void a_stranger_who_unlocks_is_named(void **state)
{
	(void)state;
	dies_saying(unlock_what_is_not_held,
		    "unlocks a pawl_mutex that it does not hold");
	dies_saying(unlock_twice, "unlocks a pawl_mutex that it does not hold");
	dies_saying(wait_without_the_mutex, "unlocks a pawl_mutex that it does not hold");
}

static void destroying_a_held_mutex_is_named(void **state)
{
	(void)state;
	dies_saying(destroy_while_held, "destroyed while it is held");
}

static void right_use_goes_unremarked(void **state)
{
	struct child child = child_run(use_it_well);

	(void)state;
	assert_string_equal(child.text, "");
	assert_int_equal(child.signal, 0);
	assert_int_equal(child.status, 0);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(locking_again_is_named),
		cmocka_unit_test(a_stranger_who_unlocks_is_named),
		cmocka_unit_test(destroying_a_held_mutex_is_named),
		cmocka_unit_test(right_use_goes_unremarked),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
