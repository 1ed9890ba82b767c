/* SPDX-License-Identifier: MIT */
/*
 * Mutexes between processes. The partner is a process of its own, and lives; the
 * victim's may be killed, at any instruction of the stretch.
 */
#include "stage.h"

#include <pawl/shared.h>

#include <errno.h>

enum { MUTEX, OTHER, MUTEXES };
enum { AGENTS = 16, SOON_NS = 1000000, LOOK_US = 10000 };

/* What the mutex guards: equal, unless somebody is in the middle of it. */
struct books {
	int first, second;
};

static struct pawl_shared *region;
static volatile struct books *books;

/* Whoever comes first makes the region. */
static void begin(void)
{
	const struct pawl_shared_shape shape = {.mutexes = MUTEXES,
						.threads = AGENTS,
						.data_bytes = sizeof(struct books)};

	stage_demand(pawl_shared_attach(&region, REGION_FD) == 0 ||
			     pawl_shared_create(&region, REGION_FD, &shape) == 0,
		     "no region can be had");
	books = pawl_shared_data(region);
}

/* What a lock returned; true if we own it. */
static bool settle(int error)
{
	if (error == EOWNERDEAD) {
		books->second = books->first;
		stage_demand(pawl_shared_mutex_consistent(region, MUTEX) == 0,
			     "it cannot be made consistent");
		return true;
	}
	if (error == EBUSY || error == ETIMEDOUT)
		return false;
	stage_demand(error == 0, "lock fails");
	stage_demand(books->first == books->second, "a death inside is not told");
	return true;
}

static void write_and_unlock(void)
{
	books->second++;
	stage_demand(pawl_shared_mutex_unlock(region, MUTEX) == 0, "unlock fails");
}

static void write_if(bool ours)
{
	if (!ours)
		return;
	books->first++;
	write_and_unlock();
}

static void pass(void)
{
	write_if(settle(pawl_shared_mutex_lock(region, MUTEX)));
}

/* The partner: whatever became of the victim, the mutex can be had, and is free
 * afterwards. */
static void end(void)
{
	int error;

	stage_await_over();
	pass();
	error = pawl_shared_mutex_trylock(region, MUTEX);
	stage_demand(error == 0, "the mutex stays locked, or a death is told twice");
	write_if(error == 0);
}

static void hold_and_let_go(void)
{
	bool ours = settle(pawl_shared_mutex_lock(region, MUTEX));

	stage_placed();
	stage_await_go();
	write_if(ours);
	end();
}

/* Keeps the victim waiting for so long that it looks whether we live. */
static void hold_for_long(void)
{
	bool ours = settle(pawl_shared_mutex_lock(region, MUTEX));

	stage_placed();
	stage_await_go();
	usleep(LOOK_US);
	write_if(ours);
	end();
}

static void queue_up(void)
{
	stage_placed();
	pass();
	end();
}

/* The service, and the child of a fork: neither waits for the victim. */
static void use(void)
{
	stage_demand(pawl_shared_mutex_lock(region, OTHER) == 0, "another mutex fails");
	stage_demand(pawl_shared_mutex_unlock(region, OTHER) == 0,
		     "another mutex cannot be unlocked");
	write_if(settle(pawl_shared_mutex_trylock(region, MUTEX)));
}

/* The victims. */

static void pass_in_time(void)
{
	struct timespec time = stage_in(CLOCK_MONOTONIC, SOON_NS);

	write_if(settle(
		pawl_shared_mutex_timedlock(region, MUTEX, CLOCK_MONOTONIC, &time)));
}

static void take_and_begin(void)
{
	stage_demand(settle(pawl_shared_mutex_lock(region, MUTEX)), "lock fails");
	books->first++;
}

#define PLAY                                                                       \
	.kinds = 1 << SIGNAL | 1 << FORK | 1 << FREEZE | 1 << KILL, .partners = 1, \
	.apart = true, .free = true, .begin = begin, .use = use, .child = use

const struct scenario scenarios[] = {
	{.name = "shared.lock", PLAY, .partner = hold_and_let_go, .victim = pass},
	{.name = "shared.look", PLAY, .partner = hold_for_long, .victim = pass},
	{.name = "shared.timedlock",
	 PLAY,
	 .late = true,
	 .partner = hold_and_let_go,
	 .victim = pass_in_time},
	{.name = "shared.unlock",
	 PLAY,
	 .before = take_and_begin,
	 .partner = queue_up,
	 .victim = write_and_unlock},
	{.name = NULL},
};
