/* SPDX-License-Identifier: MIT */
/*
 * The reverse fence service of src/sleep/barrier.c: whoever is served by
 * somebody else's barrier must have what one of its own would have given. Part
 * of the simulated world, like those of the locks.
 */
#include "outside.h"

#include "../../src/sleep/fences.h"

enum { ASKERS = 2 };

/* Askers store to x and load y, on the heavy side; the last thread stores to y
 * and loads both x, on the light side. What they saw is in the rest. */
static struct scene {
	struct pawl_barriers barriers;
	pawl_atomic64 x[ASKERS], y;
	pawl_atomic64 y_seen[ASKERS], x_seen[ASKERS];
} * scene;

static void set_up(void *argument)
{
	(void)argument;
	scene = explore_allocate(sizeof(*scene), 128);
	explore_label(scene, "scene");
}

/* Relaxed, all of it: the fences are what is looked at. */
static void pass_thread(int thread, unsigned cpu)
{
	int i;

	if (thread < ASKERS) {
		pawl_store_relaxed(&scene->x[thread], 1);
		pawl_barriers_pass(&scene->barriers, cpu);
		pawl_store_relaxed(&scene->y_seen[thread], pawl_load_relaxed(&scene->y));
		return;
	}
	pawl_store_relaxed(&scene->y, 1);
	pawl_bare_light_fence();
	for (i = 0; i < ASKERS; i++)
		pawl_store_relaxed(&scene->x_seen[i], pawl_load_relaxed(&scene->x[i]));
}

static void shared_thread(void *argument, int thread)
{
	(void)argument;
	pass_thread(thread, PAWL_ALL_CPUS);
}

/* aimed: all run on the CPU that is aimed at. */
static void aimed_thread(void *argument, int thread)
{
	(void)argument;
	pass_thread(thread, 0);
}

static void one_has_seen(void *argument)
{
	int i;

	(void)argument;
	for (i = 0; i < ASKERS; i++)
		if (explore_final(&scene->y_seen[i].raw) == 0 &&
		    explore_final(&scene->x_seen[i].raw) == 0)
			explore_fail(VERDICT_ASSERTION,
				     "neither side of the fence saw the other");
}

const struct lock_type fence_types[] = {
	{.name = "fence", .base = "fence", .header = "pawl/atomic.h"},
	{.name = NULL},
};

const struct scenario fence_scenarios[] = {
	{"shared", "two ask for the heavy fence, one passes the light one", 3, 3, 1, 1,
	 always, passes, set_up, shared_thread, one_has_seen, 0, false, false},
	{"aimed", "the same, aimed at the CPU of the light one", 3, 3, 1, 1, always,
	 passes, set_up, aimed_thread, one_has_seen, 0, false, false},
	{.name = NULL},
};
