/* SPDX-License-Identifier: MIT */
/*
 * A program that is linked with the archive, and uses locks in a constructor that runs
 * before any other, and takes many keys in another one: the thread's end is noticed.
 */
#define _GNU_SOURCE
#include "harness/harness.h"

#include <pawl/lease.h>
#include <pawl/rwlock.h>

#include <stdlib.h>
#include <string.h>

enum { KEYS = 40 };

static struct pawl_rwlock rwlock = PAWL_RWLOCK_INIT;

/* Ours, of the same priority, is linked behind it. */
__attribute__((constructor(101))) static void use_locks(void)
{
	pawl_rwlock_read_lock(&rwlock);
	pawl_rwlock_read_unlock(&rwlock);
}

__attribute__((constructor)) static void take_keys(void)
{
	pthread_key_t key;
	int i;

	for (i = 0; i < KEYS; i++)
		if (pthread_key_create(&key, NULL) != 0)
			abort();
}

static void *use_lease(void *unused)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_lease l = PAWL_LEASE_INIT;

	assert_false(pawl_self()->exited);
	assert_int_equal(pawl_lease_acquire(&l, h), PAWL_LEASE_OK);
	pawl_lease_release(&l, h);
	pawl_lease_break(&l);
	return unused;
}

static void a_use_in_a_constructor_ends_no_thread(void **state)
{
	(void)state;
	use_lease(NULL);
}

static void keys_of_a_constructor_end_no_thread(void **state)
{
	struct crew crew = {.size = 0};

	(void)state;
	crew_start(&crew, use_lease, NULL);
	crew_join(&crew);
}

/* Programs clear their environment when they start. */
static char asked_for[32];

static void settings_are_read_at_load(void **state)
{
	(void)state;
	if (asked_for[0] == '\0')
		skip();
	assert_string_equal(pawl_lease_mode_name(pawl_lease_mode()), asked_for);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_use_in_a_constructor_ends_no_thread),
		cmocka_unit_test(keys_of_a_constructor_end_no_thread),
		cmocka_unit_test(settings_are_read_at_load),
	};
	const char *setting = getenv("PAWL_LEASE_MODE");

	if (setting != NULL)
		strncpy(asked_for, setting, sizeof(asked_for) - 1);
	clearenv();
	return cmocka_run_group_tests_name("early", cases, NULL, NULL);
}
