/* SPDX-License-Identifier: MIT */
/* What a lock is and does when nobody else wants it. */
#include "harness.h"

#include <pawl/atomic.h>

#include <stdlib.h>
#include <string.h>

enum { MANY = 64 };

/* Runs something in another thread and waits for its end. */
static void elsewhere(void *(*run)(void *), void *argument)
{
	struct crew crew = {.size = 0};

	crew_start(&crew, run, argument);
	crew_join(&crew);
}

static bool all_zero(const void *p, size_t size)
{
	const char *bytes = p;
	size_t i;

	for (i = 0; i < size; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

static void init_macro_is_all_zero(void **state)
{
	(void)state;
	assert_true(all_zero(claimed->init, under_test->size));
}

static void size_is_what_is_claimed(void **state)
{
	(void)state;
	assert_int_equal(under_test->size, claimed->size);
	assert_int_equal(under_test->core_size, claimed->core_size);
}

static void zeroed_memory_is_unlocked(void **state)
{
	void *l = lock_make();

	(void)state;
	under_test->lock(l);
	under_test->unlock(l);
	lock_drop(l);
}

static void zeroed_core_is_unlocked(void **state)
{
	union context context;
	void *core;

	(void)state;
	core = core_make();
	under_test->acquire(core, &context);
	under_test->release(core, &context);
	core_drop(core);
}

static void lock_and_unlock_repeat(void **state)
{
	void *l = lock_make();
	int i;

	(void)state;
	for (i = 0; i < 10000; i++) {
		under_test->lock(l);
		under_test->unlock(l);
	}
	lock_drop(l);
}

/* An object that takes the place of another starts afresh. */
static void memory_zeroed_again_is_a_new_lock(void **state)
{
	void *l = lock_make();
	int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		under_test->lock(l);
		under_test->unlock(l);
		if (under_test->destroy != NULL)
			under_test->destroy(l);
		memset(l, 0, under_test->size);
	}
	lock_drop(l);
}

static void *lock_unlock_once(void *l)
{
	under_test->lock(l);
	under_test->unlock(l);
	return NULL;
}

static void other_threads_use_it_in_turn(void **state)
{
	void *l = lock_make();
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		elsewhere(lock_unlock_once, l);
		lock_unlock_once(l);
	}
	lock_drop(l);
}

/* trylock */

struct attempt {
	enum face face;
	void *l;
	bool owned;
};

/* Tries, and gives back what it got. */
static void *attempt(void *argument)
{
	struct attempt *a = argument;
	union context context;

	a->owned = face_trylock(a->face, a->l, &context);
	if (a->owned)
		face_unlock(a->face, a->l, &context);
	return NULL;
}

static bool free_for_others(enum face face, void *l)
{
	struct attempt a = {face, l, false};

	elsewhere(attempt, &a);
	return a.owned;
}

static void trylock_owns_a_free_lock_by(enum face face)
{
	union context context;
	void *l;

	need_trylock();
	l = face_make(face);
	assert_true(face_trylock(face, l, &context));
	assert_false(free_for_others(face, l));
	face_unlock(face, l, &context);
	assert_true(free_for_others(face, l));
	face_drop(face, l);
}

static void trylock_fails_on_a_held_lock_by(enum face face)
{
	union context context;
	struct image before, after;
	void *l;
	int i;

	need_trylock();
	l = face_make(face);
	face_lock(face, l, &context);
	before = lock_image(l);
	for (i = 0; i < 3; i++)
		assert_false(free_for_others(face, l));
	after = lock_image(l);
	assert_memory_equal(&before, &after, sizeof(before)); /* did not queue */
	face_unlock(face, l, &context);
	assert_true(free_for_others(face, l));
	face_lock(face, l, &context);
	face_unlock(face, l, &context);
	face_drop(face, l);
}

static void trylock_owns_a_free_lock(void **state)
{
	(void)state;
	trylock_owns_a_free_lock_by(PLAIN);
}

static void trylock_fails_on_a_held_lock(void **state)
{
	(void)state;
	trylock_fails_on_a_held_lock_by(PLAIN);
}

static void try_acquire_owns_a_free_core(void **state)
{
	(void)state;
	trylock_owns_a_free_lock_by(EXPLICIT);
}

static void try_acquire_fails_on_a_held_core(void **state)
{
	(void)state;
	trylock_fails_on_a_held_lock_by(EXPLICIT);
}

static void trylock_by_the_holder_fails(void **state)
{
	void *l;

	(void)state;
	need_trylock();
	l = lock_make();
	under_test->lock(l);
	assert_false(under_test->trylock(l));
	under_test->unlock(l);
	assert_true(under_test->trylock(l));
	assert_false(under_test->trylock(l));
	under_test->unlock(l);
	lock_drop(l);
}

static void trylock_and_lock_alternate(void **state)
{
	void *l;
	int i;

	(void)state;
	need_trylock();
	l = lock_make();
	for (i = 0; i < 1000; i++) {
		under_test->lock(l);
		under_test->unlock(l);
		assert_true(under_test->trylock(l));
		under_test->unlock(l);
	}
	lock_drop(l);
}

/* Many locks at once. */

static void shuffle(size_t *order, size_t n)
{
	static uint64_t x = 88172645463325252u;
	size_t i, j, swap;

	for (i = 0; i < n; i++)
		order[i] = i;
	for (i = n - 1; i > 0; i--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		j = (size_t)(x % (i + 1));
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
}

static void many_held_and_released_out_of_order_by(enum face face)
{
	union context contexts[MANY];
	void *locks[MANY];
	size_t order[MANY], i;
	int round;

	for (i = 0; i < MANY; i++)
		locks[i] = face_make(face);
	for (round = 0; round < 20; round++) {
		shuffle(order, MANY);
		for (i = 0; i < MANY; i++)
			face_lock(face, locks[order[i]], &contexts[order[i]]);
		if (under_test->trylock != NULL && round == 0)
			for (i = 0; i < MANY; i++)
				assert_false(face_trylock(face, locks[i],
							  &(union context){{0}}));
		shuffle(order, MANY);
		for (i = 0; i < MANY; i++)
			face_unlock(face, locks[order[i]], &contexts[order[i]]);
	}
	for (i = 0; i < MANY; i++)
		face_drop(face, locks[i]);
}

static void many_held_and_released_out_of_order(void **state)
{
	(void)state;
	many_held_and_released_out_of_order_by(PLAIN);
}

static void many_cores_held_and_released_out_of_order(void **state)
{
	(void)state;
	many_held_and_released_out_of_order_by(EXPLICIT);
}

/* The context is the caller's to keep, and nothing but context and core is
 * touched: both are allocated to the byte. */
static void context_is_kept_outside(void **state)
{
	void *cores[8], *contexts[8];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(cores); i++) {
		cores[i] = core_make();
		contexts[i] = malloc(under_test->context_size);
		assert_non_null(contexts[i]);
		under_test->acquire(cores[i], contexts[i]);
	}
	for (i = 0; i < COUNT_OF(cores); i++) {
		void *moved = malloc(under_test->context_size);

		assert_non_null(moved);
		memcpy(moved, contexts[i], under_test->context_size);
		free(contexts[i]);
		under_test->release(cores[i], moved);
		free(moved);
		core_drop(cores[i]);
	}
}

/* Releasing for somebody else. */

struct errand {
	enum face face;
	void *l;
	union context *context;
};

static void *release_for(void *argument)
{
	struct errand *e = argument;

	face_unlock(e->face, e->l, e->context);
	return NULL;
}

static void another_thread_releases_by(enum face face)
{
	union context context;
	struct errand errand = {face, NULL, &context};
	int64_t nodes;
	int i;

	if (under_test->release_by == RELEASE_OWNER)
		skip_because("only the thread that locked may unlock (OWNER)");
	nodes = nodes_abroad();
	errand.l = face_make(face);
	for (i = 0; i < 50; i++) {
		face_lock(face, errand.l, &context);
		elsewhere(release_for, &errand);
	}
	face_lock(face, errand.l, &context);
	face_unlock(face, errand.l, &context);
	face_drop(face, errand.l);
	/* This thread may keep nodes; those that are gone may not. */
	assert_int_equal(nodes_abroad(), nodes);
}

static void another_thread_releases(void **state)
{
	(void)state;
	another_thread_releases_by(PLAIN);
}

static void another_thread_releases_with_the_context(void **state)
{
	(void)state;
	another_thread_releases_by(EXPLICIT);
}

/* Threads that end. */

static void *use_several(void *argument)
{
	void **locks = argument;
	size_t i;

	for (i = 0; i < 8; i++)
		under_test->lock(locks[i]);
	for (i = 0; i < 8; i++)
		under_test->unlock(locks[i]);
	return NULL;
}

static void thread_exit_leaves_nothing(void **state)
{
	int64_t before = nodes_abroad();
	void *locks[8];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(locks); i++)
		locks[i] = lock_make();
	for (i = 0; i < 20; i++)
		elsewhere(use_several, locks);
	for (i = 0; i < COUNT_OF(locks); i++)
		lock_drop(locks[i]);
	assert_int_equal(nodes_abroad(), before);
}

static pthread_key_t end_key;

/* pawl's own destructor comes after those of a program's keys, in the first round: what is
 * set again comes after it. */
static void use_at_the_very_end(void *l)
{
	static __thread bool second_round;

	if (!second_round)
		pthread_setspecific(end_key, l);
	second_round = true;
	lock_unlock_once(l);
	lock_unlock_once(l);
}

static void *leave_a_last_will(void *l)
{
	lock_unlock_once(l);
	pthread_setspecific(end_key, l);
	return NULL;
}

/* Destructors of thread-specific data run before and after pawl's own farewell. */
static void usable_while_the_thread_exits(void **state)
{
	int64_t before = nodes_abroad();
	void *l = lock_make();
	int i;

	(void)state;
	assert_int_equal(pthread_key_create(&end_key, use_at_the_very_end), 0);
	for (i = 0; i < 20; i++)
		elsewhere(leave_a_last_will, l);
	lock_drop(l);
	pthread_key_delete(end_key);
	assert_int_equal(nodes_abroad(), before);
}

const struct CMUnitTest state_cases[] = {
	cmocka_unit_test(init_macro_is_all_zero),
	cmocka_unit_test(size_is_what_is_claimed),
	cmocka_unit_test(zeroed_memory_is_unlocked),
	cmocka_unit_test(lock_and_unlock_repeat),
	cmocka_unit_test(memory_zeroed_again_is_a_new_lock),
	cmocka_unit_test(other_threads_use_it_in_turn),
	cmocka_unit_test(trylock_owns_a_free_lock),
	cmocka_unit_test(trylock_fails_on_a_held_lock),
	cmocka_unit_test(trylock_by_the_holder_fails),
	cmocka_unit_test(trylock_and_lock_alternate),
	cmocka_unit_test(many_held_and_released_out_of_order),
	cmocka_unit_test(another_thread_releases),
	cmocka_unit_test(thread_exit_leaves_nothing),
	cmocka_unit_test(usable_while_the_thread_exits),
};
const size_t state_case_count = COUNT_OF(state_cases);

/* For locks that have an explicit face. */
const struct CMUnitTest state_explicit_cases[] = {
	cmocka_unit_test(zeroed_core_is_unlocked),
	cmocka_unit_test(try_acquire_owns_a_free_core),
	cmocka_unit_test(try_acquire_fails_on_a_held_core),
	cmocka_unit_test(many_cores_held_and_released_out_of_order),
	cmocka_unit_test(context_is_kept_outside),
	cmocka_unit_test(another_thread_releases_with_the_context),
};
const size_t state_explicit_case_count = COUNT_OF(state_explicit_cases);
