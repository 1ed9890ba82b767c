/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of pawl/shared.h: src/shared/shared.c as it is, called as users call it.
 * Each thread is a process with one thread, unless it says otherwise; they see the
 * region at the same address. shared_create.h has what is done to files, region.c.
 *
 * Every call's result is compared with what the header says. Which results must come
 * up is part of a scenario, so that none passes because nothing happened.
 */
#ifndef CHECK_SHARED_CALLS_H
#define CHECK_SHARED_CALLS_H

#include "results.h"
#include "shared_world.h"

#include <pawl/backend/debug.h>
#include <pawl/thread.h>
#include <shared/shared.h>
#include <sleep/parking.h>

#include <stdlib.h>

/* The system's side, for shared.c. */

static bool one_process; /* all threads are of one */

OUTSIDE uint64_t pawl_os_process(void)
{
	return one_process ? 1 : (uint64_t)explore_thread() + 1;
}

OUTSIDE uint64_t pawl_os_thread_name(void)
{
	return (uint64_t)explore_thread() + FIRST_NAME;
}

OUTSIDE bool pawl_os_barrier_all_prepare(void)
{
	return sim_membarrier_works;
}

/*
 * shared.c keeps what belongs to a thread in a variable of the thread's. Threads are
 * fibers here, so its declaration is made that of a function, which finds the right one.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#define __thread
#define tls_model(model) unused
#define mine		 (*my_own())
#define malloc(size)	 explore_allocate(size, _Alignof(struct seat))
#define free(seat)	 explore_free(seat)
#include <shared/shared.c>
#undef free
#undef malloc
#undef tls_model
#undef __thread
#pragma GCC diagnostic pop

static __typeof__(mine) own[THREADS];

OUTSIDE static __typeof__(&own[0]) my_own(void)
{
	return &own[explore_thread()];
}
#undef mine

/* The region, where shared.c expects its mutexes. */
static struct {
	union {
		struct pawl_shared shared;
		char front[SHARED_FRONT + SHARED_HEADER];
	};
	struct world world;
} attached;

enum { FIRST, SECOND, MUTEXES };

static const struct timespec soon = {.tv_sec = 1};

/* What may be seen. */
enum {
	SAW_LOCKED,
	SAW_OWNER_DEAD,
	SAW_LOST,
	SAW_BUSY,
	SAW_LATE,
	SAW_NO_AGENT,
	SAW_HELD_AT_DETACH,
	SAW_DETACHED,
};

static const char *const sight_names[] = {
	[SAW_LOCKED] = "a lock that returns 0",
	[SAW_OWNER_DEAD] = "EOWNERDEAD",
	[SAW_LOST] = "ENOTRECOVERABLE",
	[SAW_BUSY] = "EBUSY from trylock",
	[SAW_LATE] = "ETIMEDOUT",
	[SAW_NO_AGENT] = "EAGAIN",
	[SAW_HELD_AT_DETACH] = "EBUSY from detach",
	[SAW_DETACHED] = "a detach that returns 0",
};

static void set_up_calls(unsigned mortals, unsigned agents, bool together)
{
	set_up_in(&attached.world, mortals, agents);
	region.mutex_count = MUTEXES;
	attached.shared = (struct pawl_shared){.r = region, .serial = 1};
	attachments = &attached.shared;
	one_process = together;
	seen = 0;
}

static void calls_end(void *argument)
{
	at_the_end(argument);
	scenario_saw(seen);
}

static int lock_first(void)
{
	return pawl_shared_mutex_lock(&attached.shared, FIRST);
}

static int try_first(void)
{
	return pawl_shared_mutex_trylock(&attached.shared, FIRST);
}

static int lock_first_soon(void)
{
	return pawl_shared_mutex_timedlock(&attached.shared, FIRST, CLOCK_MONOTONIC,
					   &soon);
}

static int unlock_first(void)
{
	return pawl_shared_mutex_unlock(&attached.shared, FIRST);
}

static int mend_first(void)
{
	return pawl_shared_mutex_consistent(&attached.shared, FIRST);
}

/* Who does not own it can do nothing about it. */
static void be_outside(void)
{
	expect("unlock outside", unlock_first(), EPERM);
	expect("consistent outside", mend_first(), EPERM);
}

/* Inside, as told by `result`. */
static void begin_section(int thread, int result)
{
	if (result == EOWNERDEAD) {
		see(SAW_OWNER_DEAD);
		world->told++;
		world->inside = 0;
		expect("consistent after a death", mend_first(), 0);
	} else {
		expect("lock", result, 0);
		see(SAW_LOCKED);
	}
	if (world->inside != 0)
		explore_fail(VERDICT_ASSERTION, "thread %d died inside, unreported",
			     (int)world->inside - 1);
	world->inside = (uint64_t)thread + 1;
	world->entries++;
}

static void end_section(void)
{
	world->inside = 0;
	expect("unlock", unlock_first(), 0);
}

static void pass(int thread, int result)
{
	begin_section(thread, result);
	/* A death comes before a write: one here is a death inside. */
	pawl_store_relaxed(&world->work, 1);
	end_section();
}

static void pass_once(int thread)
{
	pass(thread, lock_first());
}

/* errors: one is killed at any step, or not; who is inside is told so. */
static void pass_and_ask(int thread)
{
	begin_section(thread, lock_first());
	expect("consistent for nothing", mend_first(), EINVAL);
	expect("lock inside", lock_first(), EDEADLK);
	expect("timedlock inside", lock_first_soon(), EDEADLK);
	expect("trylock inside", try_first(), EBUSY);
	end_section();
}

static void call_in_vain(void)
{
	static const struct timespec never = {.tv_nsec = 1000000000};
	struct pawl_shared *s = &attached.shared;

	expect("lock of none", pawl_shared_mutex_lock(s, MUTEXES), EINVAL);
	expect("trylock of none", pawl_shared_mutex_trylock(s, MUTEXES), EINVAL);
	expect("timedlock of none",
	       pawl_shared_mutex_timedlock(s, MUTEXES, CLOCK_MONOTONIC, &soon), EINVAL);
	expect("timedlock by no clock", pawl_shared_mutex_timedlock(s, FIRST, -1, &soon),
	       EINVAL);
	expect("timedlock until no time",
	       pawl_shared_mutex_timedlock(s, FIRST, CLOCK_REALTIME, &never), EINVAL);
	expect("unlock of none", pawl_shared_mutex_unlock(s, MUTEXES), EINVAL);
	expect("consistent of none", pawl_shared_mutex_consistent(s, MUTEXES), EINVAL);
}

static void calls_one_dies(void *argument)
{
	(void)argument;
	set_up_calls(1, THREADS, false);
}

static void second_asks(void *argument, int thread)
{
	(void)argument;
	if (thread == 1)
		call_in_vain();
	live(thread == 0 ? pass_once : pass_and_ask, thread);
}

/* errors-try: one is killed at any step, another tries. */
static void try_to_pass(int thread)
{
	int error = try_first();

	if (error == EBUSY) {
		see(SAW_BUSY);
		be_outside();
	} else {
		pass(thread, error);
	}
}

static void second_tries(void *argument, int thread)
{
	(void)argument;
	live(thread == 0 ? pass_once : try_to_pass, thread);
}

/* errors-lost: who is told of a death mends nothing, and nobody gets in again. Who has
 * left it, lost or not, is outside. */
static void leave_it_broken(int thread)
{
	int error = lock_first();

	(void)thread;
	if (error == EOWNERDEAD) {
		see(SAW_OWNER_DEAD);
		world->told++;
		expect("unlock", unlock_first(), 0);
		/* One of them: all would be too many steps. */
		if (sim_one_in(2))
			expect("lock of a lost one", lock_first(), ENOTRECOVERABLE);
		else if (sim_one_in(2))
			expect("trylock of a lost one", try_first(), ENOTRECOVERABLE);
		else
			expect("timedlock of a lost one", lock_first_soon(),
			       ENOTRECOVERABLE);
		be_outside();
		see(SAW_LOST);
	} else {
		expect("lock", error, 0);
		see(SAW_LOCKED);
		expect("unlock", unlock_first(), 0);
		be_outside();
	}
}

static void second_mends_nothing(void *argument, int thread)
{
	(void)argument;
	live(thread == 0 ? pass_once : leave_it_broken, thread);
}

/*
 * errors-timed: one waits for a while, or gives up, and holds another mutex. It has two
 * agents then. While the one that it left behind is of use to nobody it gets that again.
 */
static void calls_three_agents(void *argument)
{
	(void)argument;
	set_up_calls(0, THREADS, false);
}

static void hold_and_wait(int thread)
{
	struct pawl_shared *s = &attached.shared;
	int error;

	expect("lock of the second", pawl_shared_mutex_lock(s, SECOND), 0);
	error = lock_first_soon();
	if (error == ETIMEDOUT) {
		see(SAW_LATE);
		be_outside();
		error = lock_first_soon();
	}
	if (error == ETIMEDOUT || error == EAGAIN)
		see(error == EAGAIN ? SAW_NO_AGENT : SAW_LATE);
	else
		pass(thread, error);
	expect("lock of what it holds", pawl_shared_mutex_lock(s, SECOND), EDEADLK);
	expect("unlock of the second", pawl_shared_mutex_unlock(s, SECOND), 0);
}

static void second_holds_and_waits(void *argument, int thread)
{
	(void)argument;
	live(thread == 0 ? pass_once : hold_and_wait, thread);
}

/* errors-agents: there is one agent for two. Who has left gives it back, and it is
 * there then; who is killed may leave it, too. */
static void calls_one_agent(void *argument)
{
	(void)argument;
	set_up_calls(1, 1, false);
}

static void pass_and_go(int thread)
{
	int error = lock_first();

	if (error == EAGAIN) {
		see(SAW_NO_AGENT);
	} else {
		pass(thread, error);
		pawl_shared_leave(NULL);
	}
	pawl_store_release(&world->held, 1);
}

static void pass_if_possible(int thread)
{
	bool all_left = pawl_load_acquire(&world->held) != 0;
	int error = lock_first();

	if (error == EAGAIN && all_left)
		explore_fail(VERDICT_ASSERTION, "no agent, though all have left");
	if (error == EAGAIN)
		see(SAW_NO_AGENT);
	else
		pass(thread, error);
}

static void both_want_it(void *argument, int thread)
{
	(void)argument;
	live(thread == 0 ? pass_and_go : pass_if_possible, thread);
}

/*
 * errors-exit: two threads of one process. One leaves, or exits inside, or stays inside;
 * then the other detaches the region, and nothing is done if the first is still there.
 */
static void calls_together(void *argument)
{
	(void)argument;
	set_up_calls(1, 2, true);
	lives[0].dying = true; /* by itself */
}

static void end_somehow(int thread)
{
	uint64_t how = 1;

	begin_section(thread, lock_first());
	if (sim_one_in(2)) {
		end_section();
		pawl_shared_leave(NULL);
	} else if (sim_one_in(2)) {
		pawl_shared_leave(NULL);
		be_gone(thread);
	} else {
		how = 2;
	}
	pawl_store_release(&world->held, how);
}

static void try_and_detach(int thread)
{
	uint64_t how;
	int error;

	try_to_pass(thread);
	how = pawl_await_ne_acquire(&world->held, 0, PAWL_SPIN);
	error = pawl_shared_delist(&attached.shared);
	expect("detach", error, how == 2 ? EBUSY : 0);
	see(error == EBUSY ? SAW_HELD_AT_DETACH : SAW_DETACHED);
	if (error == 0 && (attachments != NULL || own[thread].seats != NULL))
		explore_fail(VERDICT_ASSERTION, "it is detached, and still known");
}

static void second_detaches(void *argument, int thread)
{
	(void)argument;
	live(thread == 0 ? end_somehow : try_and_detach, thread);
}

/* errors-fork: one forks inside; the child, thread 1, has a copy, and holds nothing. */
static void fork_inside(int thread)
{
	struct seat *copy = explore_allocate(sizeof(*copy), _Alignof(struct seat));

	begin_section(thread, lock_first());
	*copy = *own[thread].seats;
	own[1] = own[thread];
	own[1].seats = copy;
	pawl_store_release(&world->held, 1);
	pawl_store_relaxed(&world->work, 1);
	end_section();
}

static void be_the_child(int thread)
{
	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	pawl_shared_forked();
	be_outside();
	try_to_pass(thread);
	pass_once(thread);
}

static void first_forks(void *argument, int thread)
{
	(void)argument;
	live(thread == 0 ? fork_inside : be_the_child, thread);
}

/* errors-three: as errors, with one more that tries first. */
static void others_ask_and_try(void *argument, int thread)
{
	(void)argument;
	live(thread == 0 ? pass_once : thread == 1 ? pass_and_ask : try_to_pass, thread);
}

#endif /* CHECK_SHARED_CALLS_H */
