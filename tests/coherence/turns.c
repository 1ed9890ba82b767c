/* SPDX-License-Identifier: MIT */
/*
 * Several simulations in one process: each comes out as it does alone, whether they
 * follow each other, take turns or are nested. The locks are those whose runtime is
 * shared by all: twa and hapax have waiting arrays, hapax blocks of values.
 */
#include <sim/coherence/workload.h>

#include "registry/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

const struct lock_type *sim_lock_type_find(const char *name);

enum { THREADS = 8, EPISODES = 10000, STOPS_LEAST = 10 };

static struct machine machine;

/* One simulation, in which threads lock and unlock. */
struct scene {
	const struct lock_type *type;
	struct coherence *c;
	void *lock;
	uint64_t order; /* of entry, as a number */
	unsigned left, stops;
	struct coherence_counts counts;
	uint64_t took;
};

static void body(void *argument)
{
	struct scene *scene = argument;

	for (;;) {
		scene->type->lock(scene->lock);
		scene->order = scene->order * 31 + coherence_self();
		scene->left--;
		scene->counts = coherence_counts();
		scene->took = coherence_now();
		if (scene->left == 0)
			coherence_stop();
		scene->type->unlock(scene->lock);
		coherence_delay(coherence_random(100000));
	}
}

static bool at_once(void)
{
	return true;
}

static void open_scene(struct scene *scene, const char *lock, uint64_t seed,
		       bool (*stop)(void))
{
	struct coherence_setup setup = {
		.machine = &machine, .threads = THREADS, .seed = seed, .stop = stop};
	unsigned i;

	memset(scene, 0, sizeof(*scene));
	scene->left = EPISODES;
	scene->c = coherence_open(&setup);
	scene->type = sim_lock_type_find(lock); /* simulated code, like the lock */
	scene->lock = coherence_memory(scene->c, scene->type->size);
	for (i = 0; i < THREADS; i++)
		coherence_spawn(scene->c, i, body, scene);
}

/* Until it is over, or has been asked whether to stop. */
static void go_on(struct scene *scene)
{
	assert_true(coherence_run(scene->c));
	scene->stops++;
}

static void assert_same(const struct scene *a, const struct scene *b)
{
	assert_int_equal(a->order, b->order);
	assert_int_equal(a->took, b->took);
	assert_memory_equal(&a->counts, &b->counts, sizeof(a->counts));
}

static struct scene alone(const char *lock, uint64_t seed)
{
	struct scene scene;

	open_scene(&scene, lock, seed, NULL);
	go_on(&scene);
	coherence_close(scene.c);
	return scene;
}

static void the_second_is_as_if_it_were_the_first(void **state)
{
	struct scene first = alone("twa", 1), other = alone("hapax", 2), again;

	(void)state;
	again = alone("twa", 1);
	assert_same(&again, &first);
	again = alone("hapax", 2);
	assert_same(&again, &other);
	assert_int_not_equal(first.order, other.order);
}

static void take_turns(const char *lock, const char *other)
{
	struct scene expected[2] = {alone(lock, 1), alone(other, 2)}, scene[2];
	unsigned i;

	open_scene(&scene[0], lock, 1, at_once);
	open_scene(&scene[1], other, 2, at_once);
	for (i = 0; scene[0].left + scene[1].left != 0; i = !i)
		if (scene[i].left != 0)
			go_on(&scene[i]);
	for (i = 0; i < 2; i++) {
		assert_true(scene[i].stops >= STOPS_LEAST);
		assert_same(&scene[i], &expected[i]);
		coherence_close(scene[i].c);
	}
}

static void two_that_take_turns_do_not_meet(void **state)
{
	(void)state;
	take_turns("twa", "twa");
	take_turns("hapax", "hapax");
	take_turns("hapax-vw", "mcs");
}

static struct workload_setup inner, outer;
static struct workload_result inner_alone;
static unsigned nested;

static bool run_another(void)
{
	struct workload_result result = workload_run(&inner);

	assert_memory_equal(&result, &inner_alone, sizeof(result));
	nested++;
	return false;
}

static void one_may_run_while_another_does(void **state)
{
	struct workload_result expected, result;

	(void)state;
	inner = (struct workload_setup){
		.engine = {.machine = &machine, .threads = THREADS, .seed = 1},
		.lock = "hapax",
		.cs = 1,
		.episodes = EPISODES,
	};
	outer = inner;
	outer.lock = "twa";
	expected = workload_run(&outer);
	inner_alone = workload_run(&inner);
	outer.engine.stop = run_another;
	result = workload_run(&outer);
	assert_true(nested >= STOPS_LEAST);
	assert_memory_equal(&result, &expected, sizeof(result));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_is_as_if_it_were_the_first),
		cmocka_unit_test(two_that_take_turns_do_not_meet),
		cmocka_unit_test(one_may_run_while_another_does),
	};
	char error[256];

	if (!machine_load(&machine, "intel-x5-2", error, sizeof(error)))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
