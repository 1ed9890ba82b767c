/* SPDX-License-Identifier: MIT */
/*
 * The parking table, src/sleep/park.c, where the system refuses the heavy fence: to
 * everybody and for long, or from one moment on. That a sleeper and a waker see each
 * other is what all locks that sleep rely on. Part of the simulated world, like
 * scenario.c.
 */
#include "outside.h"

#include "../../src/sleep/parking.h"

#include <sim/runtime.h>

static struct scene {
	pawl_atomic64 word; /* what is waited for */
	uint64_t given;	    /* plain: what comes with it */
	pawl_atomic64 settled;
} * scene;

/* Whose clock says that wakers have long seen the refusal; a thread's own. */
static bool later[MAX_THREADS];

OUTSIDE static uint64_t time_of_thread(void)
{
	return later[explore_thread()] ? UINT64_MAX : 0;
}

OUTSIDE static void wait_for_long(void)
{
	later[explore_thread()] = true;
}

OUTSIDE static bool refused_to_last(void)
{
	return explore_thread() == 2;
}

OUTSIDE static void start_clocks(void)
{
	int t;

	for (t = 0; t < MAX_THREADS; t++)
		later[t] = false;
	sim_clock = time_of_thread;
}

static void set_up(void *argument)
{
	(void)argument;
	scene = explore_allocate(sizeof(*scene), 128);
	explore_label(scene, "scene");
	start_clocks();
}

static void await_word(void)
{
	pawl_await_eq_acquire(&scene->word, 1, PAWL_PARK);
	if (scene->given != 1)
		explore_fail(VERDICT_ASSERTION, "woken, and nothing is there");
}

static void give_word(void)
{
	scene->given = 1;
	pawl_store_release(&scene->word, 1);
	pawl_notify(&scene->word, 1, PAWL_PARK);
}

/* settled: the refusal is old, so a sleeper trusts that wakers pass a fence. */
static void settled_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		pawl_park_fence();
		wait_for_long();
		pawl_store_release(&scene->settled, 1);
		await_word();
	} else {
		pawl_await_eq_acquire(&scene->settled, 1, PAWL_SPIN);
		give_word();
	}
}

/* half-way: one sleeps, having passed the fence; then it is refused to another. */
static void half_way_set_up(void *argument)
{
	set_up(argument);
	sim_refuses = refused_to_last;
}

static void half_way_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		await_word();
	else if (thread == 1)
		give_word();
	else
		pawl_park_fence();
}

/* together: several find out at the same time. */
static void together_thread(void *argument, int thread)
{
	(void)argument, (void)thread;
	if (thread == 0)
		wait_for_long();
	pawl_park_fence();
}

const struct lock_type park_types[] = {
	{.name = "park", .base = "park", .header = "pawl/park.h"},
	{.name = NULL},
};

const struct scenario park_scenarios[] = {
	{"settled", "membarrier was refused long ago", 2, 2, 1, 1, always, passes, set_up,
	 settled_thread, NULL, .without_membarrier = true},
	{"half-way", "membarrier is refused while somebody sleeps", 3, 3, 1, 1, always,
	 passes, half_way_set_up, half_way_thread, NULL},
	{"together", "several find out that membarrier is refused", 3, 3, 1, 1, always,
	 passes, set_up, together_thread, NULL, .without_membarrier = true},
	{.name = NULL},
};
