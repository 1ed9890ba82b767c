/* SPDX-License-Identifier: MIT */
/*
 * The debug face: each misuse ends the process with its sentence, and right use
 * does not. Who may unlock is what the registry says, whose locks are built here
 * with the debug face.
 */
#include "harness/child.h"
#include "harness/harness.h"

#include <pawl/cond.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pawl_mutex m;
static struct pawl_cond c;
static const struct lock_type *type;
static void *lock;

static void lock_twice(void)
{
	type->lock(lock);
	type->lock(lock);
}

static void unlock_what_is_not_held(void)
{
	type->unlock(lock);
}

static void unlock_twice(void)
{
	type->lock(lock);
	type->unlock(lock);
	type->unlock(lock);
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

static void *unlock(void *unused)
{
	type->unlock(lock);
	return unused;
}

static void unlock_elsewhere(void)
{
	pthread_t other;

	type->lock(lock);
	pthread_create(&other, NULL, unlock, NULL);
	pthread_join(other, NULL);
	type->lock(lock); /* it is free again */
	type->unlock(lock);
}

static int said[2]; /* a pipe */

static void *unlock_when_told(void *unused)
{
	char text[2048];
	ssize_t n = read(said[0], text, sizeof(text));

	if (n > 0 && write(1, text, (size_t)n) == n)
		type->unlock(lock);
	return unused;
}

/* Waits for another thread, which unlocks when the debug face has spoken. */
static void lock_twice_and_be_helped(void)
{
	int standard_error = dup(2);
	pthread_t other;

	if (pipe(said) != 0)
		return;
	dup2(2, 1);
	dup2(said[1], 2);
	pthread_create(&other, NULL, unlock_when_told, NULL);
	type->lock(lock);
	type->lock(lock);
	type->unlock(lock);
	pthread_join(other, NULL);
	dup2(standard_error, 2);
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

static void expect_unremarked(void (*run)(void))
{
	struct child child = child_run(run);

	assert_string_equal(child.text, "");
	assert_int_equal(child.signal, 0);
	assert_int_equal(child.status, 0);
}

/* For each lock of the registry, all zero. */
static void for_each_lock(void (*check)(void))
{
	for (type = lock_types; type->name != NULL; type++) {
		lock = calloc(1, type->size);
		assert_non_null(lock);
		check();
		free(lock);
	}
}

static void check_locking_again(void)
{
	struct child child;

	if (type->release_by == RELEASE_OWNER) {
		dies_saying(lock_twice, "which would wait for itself for ever");
		return;
	}
	child = child_run(lock_twice_and_be_helped);
	assert_non_null(strstr(child.text, "waits for another thread to unlock it"));
	assert_int_equal(child.signal, 0);
	assert_int_equal(child.status, 0);
}

static void locking_again_is_named(void **state)
{
	(void)state;
	for_each_lock(check_locking_again);
}

static void check_unlocking_what_is_free(void)
{
	dies_saying(unlock_what_is_not_held, "but nobody holds it");
	dies_saying(unlock_twice, "but nobody holds it");
}

static void unlocking_what_is_free_is_named(void **state)
{
	(void)state;
	for_each_lock(check_unlocking_what_is_free);
	dies_saying(wait_without_the_mutex, "but nobody holds it");
}

static void check_unlocking_elsewhere(void)
{
	if (type->release_by == RELEASE_OWNER)
		dies_saying(unlock_elsewhere, "which alone may");
	else
		expect_unremarked(unlock_elsewhere);
}

static void who_may_unlock_is_what_the_registry_says(void **state)
{
	(void)state;
	for_each_lock(check_unlocking_elsewhere);
}

static void destroying_a_held_mutex_is_named(void **state)
{
	(void)state;
	dies_saying(destroy_while_held, "while it is held; it was locked at");
}

static void right_use_goes_unremarked(void **state)
{
	(void)state;
	expect_unremarked(use_it_well);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(locking_again_is_named),
		cmocka_unit_test(unlocking_what_is_free_is_named),
		cmocka_unit_test(who_may_unlock_is_what_the_registry_says),
		cmocka_unit_test(destroying_a_held_mutex_is_named),
		cmocka_unit_test(right_use_goes_unremarked),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
