/* SPDX-License-Identifier: MIT */
/* The scoped form of hemlock: the grant word is on the holder's stack. */
#include "cases.h"

#include <pawl/hemlock.h>

#include <string.h>

struct shared {
	struct pawl_hemlock l;
	uint64_t count;
};

enum { ROUNDS = 300 };

static void *lock_scoped(void *argument)
{
	struct shared *s = argument;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct pawl_hemlock_scope scope = PAWL_HEMLOCK_SCOPE_INIT;

		pawl_hemlock_scope_lock(&s->l, &scope);
		s->count++;
		pawl_hemlock_scope_unlock(&s->l, &scope);
	}
	return NULL;
}

static void *lock_plain(void *argument)
{
	struct shared *s = argument;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		pawl_hemlock_lock(&s->l);
		s->count++;
		pawl_hemlock_unlock(&s->l);
	}
	return NULL;
}

static void exclude(int scoped, int plain)
{
	struct shared s = {.count = 0};
	struct crew crew = {.size = 0};
	int i;

	for (i = 0; i < scoped; i++)
		crew_start(&crew, lock_scoped, &s);
	for (i = 0; i < plain; i++)
		crew_start(&crew, lock_plain, &s);
	crew_join(&crew);
	assert_int_equal(s.count, (scoped + plain) * ROUNDS);
	assert_int_equal(pawl_load_relaxed(&s.l.tail), 0);
}

static void scoped_lock_excludes(void **state)
{
	(void)state;
	exclude(3, 0);
}

static void scoped_and_plain_mix_on_one_lock(void **state)
{
	(void)state;
	exclude(2, 2);
}

static void scoped_trylock(void **state)
{
	struct pawl_hemlock l = PAWL_HEMLOCK_INIT;
	struct pawl_hemlock_scope first = PAWL_HEMLOCK_SCOPE_INIT;
	struct pawl_hemlock_scope second = PAWL_HEMLOCK_SCOPE_INIT;

	(void)state;
	assert_true(pawl_hemlock_scope_trylock(&l, &first));
	assert_false(pawl_hemlock_scope_trylock(&l, &second));
	assert_false(pawl_hemlock_trylock(&l));
	pawl_hemlock_scope_unlock(&l, &first);
	assert_true(pawl_hemlock_trylock(&l));
	assert_false(pawl_hemlock_scope_trylock(&l, &second));
	pawl_hemlock_unlock(&l);
}

static void scoped_locks_are_released_out_of_order(void **state)
{
	struct pawl_hemlock l[8];
	struct pawl_hemlock_scope scope[8];
	int i;

	(void)state;
	memset(l, 0, sizeof(l));
	memset(scope, 0, sizeof(scope));
	for (i = 0; i < 8; i++)
		pawl_hemlock_scope_lock(&l[i], &scope[i]);
	for (i = 0; i < 8; i++)
		pawl_hemlock_scope_unlock(&l[i * 3 % 8], &scope[i * 3 % 8]);
	for (i = 0; i < 8; i++)
		assert_int_equal(pawl_load_relaxed(&l[i].tail), 0);
}

/* A scope is reusable as soon as unlock returned: the grant is 0 again. */
static void scope_is_empty_after_unlock(void **state)
{
	struct shared s = {.count = 0};
	struct pawl_hemlock_scope scope = PAWL_HEMLOCK_SCOPE_INIT;
	struct crew crew = {.size = 0};
	int i;

	(void)state;
	crew_start(&crew, lock_plain, &s);
	for (i = 0; i < ROUNDS; i++) {
		pawl_hemlock_scope_lock(&s.l, &scope);
		s.count++;
		pawl_hemlock_scope_unlock(&s.l, &scope);
		assert_int_equal(pawl_load_relaxed(&scope.grant), 0);
	}
	crew_join(&crew);
	assert_int_equal(s.count, 2 * ROUNDS);
}

/* The holder of two contended locks, one of each form. */
static void *lock_once(void *argument)
{
	struct shared *s = argument;

	pawl_hemlock_lock(&s->l);
	s->count++;
	pawl_hemlock_unlock(&s->l);
	return NULL;
}

static void scoped_and_plain_are_held_together(void **state)
{
	struct shared a = {.count = 0}, b = {.count = 0};
	struct crew crew = {.size = 0};
	int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		struct pawl_hemlock_scope scope = PAWL_HEMLOCK_SCOPE_INIT;
		struct image before;

		pawl_hemlock_scope_lock(&a.l, &scope);
		pawl_hemlock_lock(&b.l);
		before = lock_image(&a.l);
		crew_start(&crew, lock_once, &a);
		await_arrival(&a.l, &before);
		before = lock_image(&b.l);
		crew_start(&crew, lock_once, &b);
		await_arrival(&b.l, &before);
		pawl_hemlock_scope_unlock(&a.l, &scope);
		pawl_hemlock_unlock(&b.l);
		crew_join(&crew);
	}
	assert_int_equal(a.count, 20);
	assert_int_equal(b.count, 20);
}

const struct CMUnitTest hemlock_scope_cases[] = {
	cmocka_unit_test(scoped_lock_excludes),
	cmocka_unit_test(scoped_and_plain_mix_on_one_lock),
	cmocka_unit_test(scoped_trylock),
	cmocka_unit_test(scoped_locks_are_released_out_of_order),
	cmocka_unit_test(scope_is_empty_after_unlock),
	cmocka_unit_test(scoped_and_plain_are_held_together),
};
const size_t hemlock_scope_case_count = COUNT_OF(hemlock_scope_cases);
