/* SPDX-License-Identifier: MIT */
/*
 * Many threads. What a lock protects here is deliberately not atomic: a broken
 * lock loses counts, and sanitizers see the race.
 */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

/* Something to protect, and who is inside. */
struct guarded {
	enum face face;
	void *l;
	int rounds;
	uint64_t count;
	const void *owner;
	unsigned violations;
	int awaited; /* atomic: threads that have yet to arrive at the start */
};

/* Nobody is done before the last one has begun. */
static void start_together(struct guarded *g)
{
	if (__atomic_sub_fetch(&g->awaited, 1, __ATOMIC_ACQ_REL) >= 0)
		while (__atomic_load_n(&g->awaited, __ATOMIC_ACQUIRE) > 0)
			breathe();
}

static void inside(struct guarded *g, const void *me)
{
	volatile int linger;

	if (g->owner != NULL)
		g->violations++;
	g->owner = me;
	g->count++;
	if (g->count % 64 == 0)
		breathe(); /* long enough for all others to come and wait */
	for (linger = 0; linger < 20; linger++)
		;
	if (g->owner != me)
		g->violations++;
	g->owner = NULL;
}

static void outside(void)
{
	volatile int linger;

	for (linger = 0; linger < 50; linger++)
		;
}

static void *lock_often(void *argument)
{
	struct guarded *g = argument;
	union context context;
	int i;

	start_together(g);
	for (i = 0; i < g->rounds; i++) {
		face_lock(g->face, g->l, &context);
		inside(g, &context);
		face_unlock(g->face, g->l, &context);
		outside();
	}
	return NULL;
}

static void *trylock_often(void *argument)
{
	struct guarded *g = argument;
	union context context;
	int i;

	start_together(g);
	for (i = 0; i < g->rounds; i++) {
		while (!face_trylock(g->face, g->l, &context))
			breathe();
		inside(g, &context);
		face_unlock(g->face, g->l, &context);
		outside();
	}
	return NULL;
}

static void exclude(enum face face, int lockers, int triers, int rounds)
{
	struct crew crew = {.size = 0};
	struct guarded g = {face, NULL, rounds, 0, NULL, 0, lockers + triers};
	int i;

	if (triers > 0)
		need_trylock();
	g.l = face_make(face);
	for (i = 0; i < lockers; i++)
		crew_start(&crew, lock_often, &g);
	for (i = 0; i < triers; i++)
		crew_start(&crew, trylock_often, &g);
	crew_join(&crew);
	assert_int_equal(g.violations, 0);
	assert_int_equal(g.count, (lockers + triers) * rounds);
	face_drop(face, g.l);
}

static void excludes_two_threads(void **state)
{
	(void)state;
	exclude(PLAIN, 2, 0, 3000);
}

static void excludes_four_threads(void **state)
{
	(void)state;
	exclude(PLAIN, 4, 0, 250);
}

static void excludes_sixteen_threads(void **state)
{
	(void)state;
	exclude(PLAIN, 16, 0, 10);
}

static void excludes_two_threads_by_the_explicit_face(void **state)
{
	(void)state;
	exclude(EXPLICIT, 2, 0, 3000);
}

static void excludes_four_threads_by_the_explicit_face(void **state)
{
	(void)state;
	exclude(EXPLICIT, 4, 0, 250);
}

static void excludes_threads_that_only_try(void **state)
{
	(void)state;
	exclude(PLAIN, 0, 3, 500);
}

static void trylock_races_with_lock_and_unlock(void **state)
{
	(void)state;
	exclude(PLAIN, 2, 1, 300);
}

static void try_acquire_races_with_acquire_and_release(void **state)
{
	(void)state;
	exclude(EXPLICIT, 2, 1, 300);
}

/* Many locks at once, contended: taken in order, given back in another. */

enum { SEVERAL = 16 };

struct several {
	struct guarded each[SEVERAL];
	int rounds;
};

static void *hold_several(void *argument)
{
	struct several *s = argument;
	union context contexts[SEVERAL];
	int round, i;

	for (round = 0; round < s->rounds; round++) {
		for (i = 0; i < SEVERAL; i++) {
			face_lock(s->each[i].face, s->each[i].l, &contexts[i]);
			inside(&s->each[i], contexts);
		}
		for (i = 0; i < SEVERAL; i++) {
			/* 7 is coprime to 16: all of them, out of order */
			int j = (i * 7 + round) % SEVERAL;

			inside(&s->each[j], contexts);
			face_unlock(s->each[j].face, s->each[j].l, &contexts[j]);
		}
	}
	return NULL;
}

static void hold_several_by(enum face face)
{
	struct crew crew = {.size = 0};
	struct several s = {.rounds = 150};
	int i;

	for (i = 0; i < SEVERAL; i++)
		s.each[i] = (struct guarded){face, face_make(face), 0, 0, NULL, 0, 0};
	for (i = 0; i < 2; i++)
		crew_start(&crew, hold_several, &s);
	crew_join(&crew);
	for (i = 0; i < SEVERAL; i++) {
		assert_int_equal(s.each[i].violations, 0);
		assert_int_equal(s.each[i].count, 2 * 2 * s.rounds);
		face_drop(face, s.each[i].l);
	}
}

static void several_contended_released_out_of_order(void **state)
{
	(void)state;
	hold_several_by(PLAIN);
}

static void several_contended_cores_released_out_of_order(void **state)
{
	(void)state;
	hold_several_by(EXPLICIT);
}

/* One thread holds several locks, each of them waited for by another. */

static void each_lock_lets_in_its_own_waiter(void **state)
{
	struct crew crew = {.size = 0};
	struct guarded g[3];
	int round, i, j;

	(void)state;
	for (i = 0; i < 3; i++)
		g[i] = (struct guarded){PLAIN, lock_make(), 1, 0, NULL, 0, 0};
	for (round = 0; round < 12; round++) {
		for (i = 0; i < 3; i++)
			under_test->lock(g[i].l);
		for (i = 0; i < 3; i++) {
			struct image before = lock_image(g[i].l);

			crew_start(&crew, lock_often, &g[i]);
			if (arrivals_show())
				await_arrival(g[i].l, &before);
		}
		for (i = 0; i < 3; i++)
			assert_int_equal(g[i].count, round);
		for (i = 0; i < 3; i++) {
			under_test->unlock(g[(i * 2 + round) % 3].l);
			breathe();
			breathe();
			/* Those that we still hold nobody has entered. */
			for (j = i + 1; j < 3; j++)
				assert_int_equal(g[(j * 2 + round) % 3].count, round);
		}
		crew_join(&crew);
	}
	for (i = 0; i < 3; i++) {
		assert_int_equal(g[i].violations, 0);
		lock_drop(g[i].l);
	}
}

/* Nested locks: the inner one is contended by threads that hold no outer. */

struct nest {
	struct guarded outer, inner;
};

static void *go_in_and_further(void *argument)
{
	struct nest *nest = argument;
	int i;

	for (i = 0; i < nest->outer.rounds; i++) {
		under_test->lock(nest->outer.l);
		inside(&nest->outer, nest);
		under_test->lock(nest->inner.l);
		inside(&nest->inner, nest);
		under_test->unlock(nest->inner.l);
		inside(&nest->outer, nest);
		under_test->unlock(nest->outer.l);
	}
	return NULL;
}

static void nested_locks_exclude(void **state)
{
	struct crew crew = {.size = 0};
	struct nest nest = {
		{PLAIN, lock_make(), 300, 0, NULL, 0, 0},
		{PLAIN, lock_make(), 300, 0, NULL, 0, 0},
	};

	(void)state;
	crew_start(&crew, go_in_and_further, &nest);
	crew_start(&crew, go_in_and_further, &nest);
	crew_start(&crew, lock_often, &nest.inner);
	crew_join(&crew);
	assert_int_equal(nest.outer.violations + nest.inner.violations, 0);
	assert_int_equal(nest.outer.count, 2 * 2 * 300);
	assert_int_equal(nest.inner.count, 3 * 300);
	lock_drop(nest.outer.l);
	lock_drop(nest.inner.l);
}

/* Threads come and go, and end right after they handed over. */

static void threads_come_and_go(void **state)
{
	struct guarded g = {PLAIN, lock_make(), 2, 0, NULL, 0, 0};
	int64_t nodes = nodes_abroad();
	struct crew crew = {.size = 0};
	int wave, i;

	(void)state;
	for (wave = 0; wave < 100; wave++) {
		for (i = 0; i < 3; i++)
			crew_start(&crew, lock_often, &g);
		crew_join(&crew);
	}
	assert_int_equal(g.violations, 0);
	assert_int_equal(g.count, 100 * 3 * 2);
	lock_drop(g.l);
	assert_int_equal(nodes_abroad(), nodes);
}

/*
 * Prompt destruction: a reference count that the lock itself protects. Whoever
 * drops the last reference frees the lock, while the one before it may still
 * be on its way out of unlock.
 */

struct counted {
	void *l;
	int references;
};

struct rota {
	enum face face;
	struct counted *current; /* what to work on now */
	int turn;		 /* grows when there is something new */
	int done;		 /* threads that are through with it */
};

enum { SHARERS = 2, LIVES = 200 };

static void *share_and_drop(void *argument)
{
	struct rota *rota = argument;
	union context context;
	int life;

	for (life = 1; life <= LIVES; life++) {
		struct counted *object;
		void *l;
		bool last;

		while (__atomic_load_n(&rota->turn, __ATOMIC_ACQUIRE) < life)
			breathe();
		object = rota->current;
		l = object->l;
		face_lock(rota->face, l, &context);
		last = --object->references == 0;
		face_unlock(rota->face, l, &context);
		if (last) {
			face_drop(rota->face, l);
			free(object);
		}
		__atomic_fetch_add(&rota->done, 1, __ATOMIC_ACQ_REL);
	}
	return NULL;
}

static void last_holder_frees_by(enum face face)
{
	struct crew crew = {.size = 0};
	struct rota rota = {face, NULL, 0, 0};
	int life, i;

	if (under_test->destroy_when == DESTROY_STABLE)
		skip_because("its memory must outlive every unlock (STABLE)");
	for (i = 0; i < SHARERS; i++)
		crew_start(&crew, share_and_drop, &rota);
	for (life = 1; life <= LIVES; life++) {
		struct counted *object = malloc(sizeof(*object));

		assert_non_null(object);
		*object = (struct counted){face_make(face), SHARERS};
		rota.current = object;
		__atomic_store_n(&rota.turn, life, __ATOMIC_RELEASE);
		while (__atomic_load_n(&rota.done, __ATOMIC_ACQUIRE) < life * SHARERS)
			breathe();
	}
	crew_join(&crew);
}

static void last_holder_frees_the_lock(void **state)
{
	(void)state;
	last_holder_frees_by(PLAIN);
}

static void last_holder_frees_the_core(void **state)
{
	(void)state;
	last_holder_frees_by(EXPLICIT);
}

/* A release by somebody else lets the waiter in. */

static void *unlock_for(void *l)
{
	under_test->unlock(l);
	return NULL;
}

static void release_by_another_lets_a_waiter_in(void **state)
{
	struct guarded g = {PLAIN, NULL, 1, 0, NULL, 0, 0};
	struct crew crew = {.size = 0};
	int i;

	(void)state;
	if (under_test->release_by == RELEASE_OWNER)
		skip_because("only the thread that locked may unlock (OWNER)");
	g.l = lock_make();
	for (i = 0; i < 20; i++) {
		struct image before;

		under_test->lock(g.l);
		before = lock_image(g.l);
		crew_start(&crew, lock_often, &g);
		if (arrivals_show())
			await_arrival(g.l, &before);
		assert_int_equal(g.count, i);
		crew_start(&crew, unlock_for, g.l);
		crew_join(&crew);
		assert_int_equal(g.count, i + 1);
	}
	assert_int_equal(g.violations, 0);
	lock_drop(g.l);
}

const struct CMUnitTest stress_cases[] = {
	cmocka_unit_test(excludes_two_threads),
	cmocka_unit_test(excludes_four_threads),
	cmocka_unit_test(excludes_sixteen_threads),
	cmocka_unit_test(excludes_threads_that_only_try),
	cmocka_unit_test(trylock_races_with_lock_and_unlock),
	cmocka_unit_test(several_contended_released_out_of_order),
	cmocka_unit_test(each_lock_lets_in_its_own_waiter),
	cmocka_unit_test(nested_locks_exclude),
	cmocka_unit_test(threads_come_and_go),
	cmocka_unit_test(last_holder_frees_the_lock),
	cmocka_unit_test(release_by_another_lets_a_waiter_in),
};
const size_t stress_case_count = COUNT_OF(stress_cases);

/* For locks that have an explicit face. */
const struct CMUnitTest stress_explicit_cases[] = {
	cmocka_unit_test(excludes_two_threads_by_the_explicit_face),
	cmocka_unit_test(excludes_four_threads_by_the_explicit_face),
	cmocka_unit_test(try_acquire_races_with_acquire_and_release),
	cmocka_unit_test(several_contended_cores_released_out_of_order),
	cmocka_unit_test(last_holder_frees_the_core),
};
const size_t stress_explicit_case_count = COUNT_OF(stress_explicit_cases);
