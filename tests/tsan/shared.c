/* SPDX-License-Identifier: MIT */
/* Mutexes between processes, between the threads of one. */
#include "cases.h"

#include <pawl/shared.h>

#include <errno.h>
#include <sched.h>
#include <time.h>

static struct pawl_shared *region;

static int lock(void)
{
	return pawl_shared_mutex_lock(region, 1);
}

static int try(void)
{
	int error;

	while ((error = pawl_shared_mutex_trylock(region, 1)) == EBUSY)
		sched_yield();
	return error;
}

static int lock_in_time(void)
{
	struct timespec later;

	clock_gettime(CLOCK_MONOTONIC, &later);
	later.tv_sec += 600;
	return pawl_shared_mutex_timedlock(region, 1, CLOCK_MONOTONIC, &later);
}

static int (*enter)(void);

static void hold(void)
{
	demand(lock() == 0, "nobody holds it");
	reach(1);
	linger();
	guarded++;
	pawl_shared_mutex_unlock(region, 1);
}

static void follow(void)
{
	await_step(1);
	demand(enter() == 0, "it comes free");
	guarded++;
	pawl_shared_mutex_unlock(region, 1);
}

static void hand_over(void)
{
	together(hold, follow);
}

static void exit_inside(void)
{
	lock();
	guarded++;
	reach(1);
}

/* Whoever comes after a thread that ended inside sees what it did. */
static void owner_dead(void)
{
	detached(exit_inside);
	await_step(1);
	demand(lock() == EOWNERDEAD, "its holder is no more");
	guarded++;
	pawl_shared_mutex_consistent(region, 1);
	pawl_shared_mutex_unlock(region, 1);
}

static void touch_too_late(void)
{
	lock();
	pawl_shared_mutex_unlock(region, 1);
	exposed++;
	reach(1);
	await_step(2); /* an exit might order the two */
}

static void touch_inside(void)
{
	await_step(1);
	lock();
	exposed++;
	pawl_shared_mutex_unlock(region, 1);
	reach(2);
}

static void overrun(void)
{
	together(touch_too_late, touch_inside);
}

void test_shared(void)
{
	const struct pawl_shared_shape shape = {.mutexes = 2, .threads = 8};

	demand(pawl_shared_create(&region, -1, &shape) == 0, "a region");
	enter = lock;
	clean("shared", "lock", hand_over);
	enter = try;
	clean("shared", "trylock", hand_over);
	enter = lock_in_time;
	clean("shared", "timedlock", hand_over);
	clean("shared", "owner dead", owner_dead);
	racy("shared", "overrun", overrun);
	demand(pawl_shared_detach(region) == 0, "detached");
}
