/* SPDX-License-Identifier: MIT */
/* Scenarios of every lock of the registry. */
#include "locks.h"

#include <sim/runtime.h>

#include <pawl/thread.h>

#include <string.h>

/* sections: every thread locks and unlocks, again and again. */
void sections_thread(void *argument, int thread)
{
	struct check *c = argument;
	int k;

	(void)thread;
	for (k = 0; k < c->episodes; k++)
		check_visit(c, 0);
}

void sections_set_up(void *argument)
{
	struct check *c = argument;

	check_set_up(c);
	c->expected[0] = (uint64_t)(c->threads * c->episodes);
}

/* explicit: the same through the face that keeps its context elsewhere. */
static void explicit_thread(void *argument, int thread)
{
	struct check *c = argument;
	uint64_t context[8];
	int k;

	(void)thread;
	for (k = 0; k < c->episodes; k++) {
		check_arrive(c, 0, c->type->core_size);
		c->type->acquire(c->locks[0], context);
		check_enter(c, 0);
		explore_leave(0);
		c->type->release(c->locks[0], context);
	}
}

OUTSIDE static bool explicit_applies(const struct lock_type *type)
{
	return type->acquire != NULL && type->context_size <= 8 * sizeof(uint64_t);
}

/* destroy: whoever finds itself the last user frees the lock at once. */
static void destroy_thread(void *argument, int thread)
{
	struct check *c = argument;
	bool last;

	(void)thread;
	check_lock(c, 0);
	last = --c->shared->users == 0;
	check_unlock(c, 0);
	if (last) {
		if (c->type->destroy != NULL)
			c->type->destroy(c->locks[0]);
		explore_free(c->locks[0]);
	}
}

OUTSIDE static enum verdict destroy_expected(const struct lock_type *type)
{
	return type->destroy_when == DESTROY_STABLE ? VERDICT_FREED : VERDICT_PASSED;
}

/* exit: a thread goes away, with its storage, right after its unlock. */
static void exit_thread(void *argument, int thread)
{
	sections_thread(argument, thread);
	explore_exit();
}

/* What a thread allocated is gone with it; but each clh lock keeps a node. */
static void exit_finished(void *argument)
{
	struct check *c = argument;
	size_t left = explore_allocated().left;

	check_finished(c);
	if (left > 0 && c->type->destroy_when != DESTROY_DESTROY)
		explore_fail(VERDICT_SPACE, "%zu bytes are left of threads that exited",
			     left);
}

/* after-exit: a thread whose storage the runtime is done with locks once more, as
 * destructors do that run later, and then it goes away. */
static void after_exit_thread(void *argument, int thread)
{
	struct check *c = argument;

	check_visit(c, 0);
	if (thread == 0) {
		sim_thread_exit(pawl_self());
		check_visit(c, 0);
		pawl_self()->exit_arranged = false; /* nobody comes again */
	}
	explore_exit();
}

/* trylock: every other thread tries instead, once or twice. */
static void trylock_thread(void *argument, int thread)
{
	struct check *c = argument;
	int k;

	for (k = 0; k < c->episodes; k++) {
		if (thread % 2 == 0)
			check_visit(c, 0);
		else if (check_trylock(c, 0))
			check_unlock(c, 0);
	}
}

OUTSIDE static bool trylock_applies(const struct lock_type *type)
{
	return type->trylock != NULL;
}

/* nested: one thread holds two locks, and others wait for either of them. */
static void nested_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread > 0) {
		check_visit(c, thread % LOCKS);
		return;
	}
	check_lock(c, 0);
	check_lock(c, 1);
	check_unlock(c, 0); /* not the order of nesting: that must not matter */
	check_unlock(c, 1);
}

static void nested_set_up(void *argument)
{
	struct check *c = argument;
	int t;

	check_set_up(c);
	c->expected[0] = c->expected[1] = 1;
	c->held = 2;
	for (t = 1; t < c->threads; t++)
		c->expected[t % LOCKS]++;
}

/* neighbours, far: the last thread uses a lock of its own, and meets the others in the
 * waiting array alone. */
static void neighbours_thread(void *argument, int thread)
{
	struct check *c = argument;

	check_visit(c, thread == c->threads - 1);
}

/* Locks whose waiters rest in an array that all locks share. */
OUTSIDE static bool has_array(const struct lock_type *type)
{
	return strcmp(type->name, "twa") == 0 || strcmp(type->name, "hapax") == 0 ||
	       strcmp(type->name, "hapax-vw") == 0;
}

/* chained: as neighbours, and one thread goes from the one lock to the other. */
static void chained_thread(void *argument, int thread)
{
	struct check *c = argument;

	neighbours_thread(c, thread);
	if (thread == 0)
		check_visit(c, 1);
}

/* return: one thread comes back for more while others still wait. */
void return_thread(void *argument, int thread)
{
	struct check *c = argument;

	check_visit(c, 0);
	if (thread == 0)
		check_visit(c, 0);
}

void return_set_up(void *argument)
{
	struct check *c = argument;

	check_set_up(c);
	c->expected[0] = (uint64_t)c->threads + 1;
}

/*
 * doorway: one comes while the lock is held, and another when that one waits, as
 * far as it will go. Whatever a lock does first, these two came in this order.
 */
static void doorway_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread == 1)
		sim_await(SIM_AWAIT_NE, &c->shared->passed, 0, 0, SIM_ACQUIRE);
	if (thread == 2) {
		explore_await_quiet();
		sim_store(&c->shared->passed, 2, SIM_RELEASE);
	}
	check_lock(c, 0);
	if (thread == 0) {
		sim_store(&c->shared->passed, 1, SIM_RELEASE);
		sim_await(SIM_AWAIT_EQ, &c->shared->passed, 2, 0, SIM_ACQUIRE);
	}
	if (thread == 2 && c->shared->sections[0] != 3)
		explore_fail(VERDICT_FIFO,
			     "thread 2 came when thread 1 waited, and entered first");
	check_unlock(c, 0);
}

OUTSIDE static bool doorway_applies(const struct lock_type *type)
{
	return type->admission == ADMISSION_FIFO;
}

/*
 * overtaken: one waits, as far as it will go, while another holds the lock; that one then
 * comes back twice. Whatever the lock does first, the waiter is overtaken once at most.
 */
static void overtaken_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread == 1) {
		sim_await(SIM_AWAIT_EQ, &c->shared->passed, 1, 0, SIM_ACQUIRE);
		check_lock(c, 0);
		if (c->shared->sections[0] > 3)
			explore_fail(VERDICT_BYPASS,
				     "thread 0 overtook thread 1, which waited, twice");
		check_unlock(c, 0);
		return;
	}
	check_lock(c, 0);
	sim_store(&c->shared->passed, 1, SIM_RELEASE);
	explore_await_quiet();
	check_unlock(c, 0);
	check_visit(c, 0);
	check_visit(c, 0);
}

OUTSIDE static bool overtaken_applies(const struct lock_type *type)
{
	return type->admission == ADMISSION_ONCE;
}

/*
 * homes: each comes when the one before it waits, from the homes "abcbaa". The lock stays
 * at home for one hand-over (PAWL_NUMA_STREAK), then goes to the home that came next.
 */
static void homes_thread(void *argument, int thread)
{
	static const uint64_t places[] = {1, 3, 5, 4, 2, 6};
	struct check *c = argument;

	if (thread != 0) {
		sim_await(SIM_AWAIT_EQ, &c->shared->passed, (uint64_t)thread, 0,
			  SIM_ACQUIRE);
		explore_await_quiet();
		sim_store(&c->shared->passed, (uint64_t)thread + 1, SIM_RELEASE);
	}
	check_lock(c, 0);
	if (thread == 0) {
		sim_store(&c->shared->passed, 1, SIM_RELEASE);
		sim_await(SIM_AWAIT_EQ, &c->shared->passed, (uint64_t)c->threads, 0,
			  SIM_ACQUIRE);
		explore_await_quiet();
	}
	if (c->shared->sections[0] != places[thread])
		explore_fail(VERDICT_FIFO, "homes do not take turns as they came");
	check_unlock(c, 0);
}

OUTSIDE static bool homes_applies(const struct lock_type *type)
{
	return strcmp(type->name, "cna") == 0 || strcmp(type->name, "cohort") == 0;
}

/* passed-on: the thread that unlocks is not the one that locked. */
static void passed_on_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread == 0) {
		check_lock(c, 0);
		explore_leave(0);
		sim_store(&c->shared->passed, 1, SIM_RELEASE);
	} else if (thread == 1) {
		sim_await(SIM_AWAIT_EQ, &c->shared->passed, 1, 0, SIM_ACQUIRE);
		c->type->unlock(c->locks[0]);
	} else {
		check_visit(c, 0);
	}
}

OUTSIDE static bool passed_on_applies(const struct lock_type *type)
{
	return type->release_by == RELEASE_ANYONE;
}

/* handed-on: the same, with the context that the one who locked was given. */
static void handed_on_thread(void *argument, int thread)
{
	struct check *c = argument;
	uint64_t context[8];

	if (thread == 1) {
		sim_await(SIM_AWAIT_EQ, &c->shared->passed, 1, 0, SIM_ACQUIRE);
		c->type->release(c->locks[0], c->shared->context);
		return;
	}
	check_arrive(c, 0, c->type->core_size);
	c->type->acquire(c->locks[0], thread == 0 ? c->shared->context : context);
	check_enter(c, 0);
	explore_leave(0);
	if (thread == 0)
		sim_store(&c->shared->passed, 1, SIM_RELEASE);
	else
		c->type->release(c->locks[0], context);
}

OUTSIDE static bool handed_on_applies(const struct lock_type *type)
{
	return passed_on_applies(type) && explicit_applies(type);
}

/* refused: sections again, where a sleeper must do without membarrier. */
OUTSIDE static bool sleeps(const struct lock_type *type)
{
	return type->parks;
}

/* Of the locks that sleep, those that three threads get through in minutes. */
OUTSIDE static bool three_get_through(const struct lock_type *type)
{
	static const char *const names[] = {"ticket+park",   "clh+park",
					    "tidex+park",    "hapax+park",
					    "hapax-vw+park", "hemlock-overlap+park"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(type->name, names[i]) == 0)
			return true;
	return false; /* mutex: any-three goes to the end instead */
}

const struct scenario sections_scenarios[] = {
	{"sections", "lock and unlock: exclusion, progress, order of admission", 1, 0, 0,
	 4, always, passes, sections_set_up, sections_thread, check_finished, .alike = 1,
	 .basic = true, .three_asleep = three_get_through},
	{"explicit", "the same, the context kept by the caller", 1, 0, 0, 4,
	 explicit_applies, passes, sections_set_up, explicit_thread, check_finished,
	 .alike = 1},
	{"destroy", "the last holder frees the lock", 2, 0, 1, 4, always,
	 destroy_expected, check_set_up, destroy_thread, NULL, .for_sleepers = true,
	 .alike = 1},
	{"exit", "threads exit right after their unlock", 2, 0, 0, 4, always, passes,
	 sections_set_up, exit_thread, exit_finished, .for_sleepers = true, .alike = 1},
	{"after-exit", "a thread locks once more after its exit, and goes", 2, 2, 1, 4,
	 always, passes, return_set_up, after_exit_thread, check_finished},
	{"trylock", "trylock against lock and unlock", 2, 0, 0, 4, trylock_applies,
	 passes, check_set_up, trylock_thread, check_finished},
	{"nested", "one thread holds two locks, others wait for them", 2, 0, 1, 1, always,
	 passes, nested_set_up, nested_thread, check_finished, .one_node = true},
	{"neighbours", "two locks share one waiting slot", 3, 0, 1, 1, always, passes,
	 check_set_up, neighbours_thread, check_finished, .only_usual = 3},
	{"far", "a waiter behind another shares its slot with another lock", 4, 0, 1, 2,
	 has_array, passes, check_set_up, neighbours_thread, check_finished,
	 .only_usual = 4},
	{"chained", "a thread goes from one lock to another that is in use", 3, 0, 1, 1,
	 always, passes, check_set_up, chained_thread, check_finished, .one_node = true,
	 .only_usual = 3},
	{"return", "one thread comes back while others still wait", 2, 0, 1, 4, always,
	 passes, return_set_up, return_thread, check_finished, .alike = 2,
	 .long_asleep = true},
	{"doorway", "one comes when another waits, and enters later", 3, 3, 1, 4,
	 doorway_applies, passes, sections_set_up, doorway_thread, check_finished},
	{"overtaken", "one waits while another comes back twice", 2, 2, 1, 4,
	 overtaken_applies, passes, check_set_up, overtaken_thread, check_finished},
	{"homes", "waiters of three homes: theirs take turns", 6, 6, 1, 4, homes_applies,
	 passes, sections_set_up, homes_thread, check_finished, .homes = "abcbaa"},
	{"passed-on", "another thread unlocks", 2, 0, 1, 4, passed_on_applies, passes,
	 check_set_up, passed_on_thread, NULL},
	{"handed-on", "another thread releases, with the context", 2, 0, 1, 4,
	 handed_on_applies, passes, check_set_up, handed_on_thread, NULL},
	{"refused", "lock and unlock where membarrier is refused", 2, 0, 1, 4, sleeps,
	 passes, sections_set_up, sections_thread, check_finished,
	 .without_membarrier = true, .for_sleepers = true, .alike = 1, .one_node = true},
	{.name = NULL},
};
