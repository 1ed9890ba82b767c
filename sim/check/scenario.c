/* SPDX-License-Identifier: MIT */
/*
 * The scenarios. This file is part of the simulated world: its plain accesses
 * to what it allocated are checked for races like those of the locks.
 */
#include "outside.h"

#include <sim/runtime.h>

#include <pawl/mutex.h>

#include <string.h>

enum { LOCKS = 2 };

/* Guarded by the locks, and checked for races. */
struct shared {
	uint64_t sections[LOCKS];
	uint64_t users;	     /* who may still lock it */
	uint64_t passed;     /* atomic: a lock was passed on */
	uint64_t context[8]; /* of the hold that was passed on */
};

struct check {
	const struct lock_type *type;
	const struct scenario *scenario;
	int threads, episodes;
	void *locks[LOCKS];
	struct shared *shared;
	uint64_t expected[LOCKS]; /* sections if none failed; 0 = any number */
};

static enum admission admission(const struct lock_type *type)
{
	switch (type->admission) {
	case ADMISSION_FIFO:
		return ADMIT_FIFO;
	case ADMISSION_ONCE:
		return ADMIT_ONCE;
	default:
		return ADMIT_ANY;
	}
}

static void set_up(void *argument)
{
	static const char *const labels[LOCKS] = {"lock", "other lock"};
	struct check *c = argument;
	int i;

	for (i = 0; i < LOCKS; i++) {
		c->locks[i] = explore_allocate(c->type->size, 128);
		explore_label(c->locks[i], labels[i]);
	}
	c->shared = explore_allocate(sizeof(*c->shared), 128);
	explore_label(c->shared, "shared");
	c->shared->users = (uint64_t)c->threads;
}

static void enter(struct check *c, int i)
{
	explore_enter(i);
	if (c->scenario->alike != 0)
		explore_in_turn(c->scenario->alike - 1);
	c->shared->sections[i]++;
}

static void lock(struct check *c, int i)
{
	explore_arrive(i, c->locks[i], c->type->size, admission(c->type));
	c->type->lock(c->locks[i]);
	enter(c, i);
}

static bool trylock(struct check *c, int i)
{
	explore_arrive(i, c->locks[i], c->type->size, admission(c->type));
	if (!c->type->trylock(c->locks[i])) {
		explore_retreat(i);
		return false;
	}
	enter(c, i);
	return true;
}

static void unlock(struct check *c, int i)
{
	explore_leave(i);
	c->type->unlock(c->locks[i]);
}

static void visit_lock(struct check *c, int i)
{
	lock(c, i);
	unlock(c, i);
}

static void finished(void *argument)
{
	struct check *c = argument;
	int i;

	for (i = 0; i < LOCKS; i++)
		if (c->expected[i] != 0 && c->shared->sections[i] != c->expected[i])
			explore_fail(VERDICT_EXCLUSION, "%llu sections counted as %llu",
				     (unsigned long long)c->expected[i],
				     (unsigned long long)c->shared->sections[i]);
}

/* sections: every thread locks and unlocks, again and again. */
static void sections_thread(void *argument, int thread)
{
	struct check *c = argument;
	int k;

	(void)thread;
	for (k = 0; k < c->episodes; k++)
		visit_lock(c, 0);
}

static void sections_set_up(void *argument)
{
	struct check *c = argument;

	set_up(c);
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
		explore_arrive(0, c->locks[0], c->type->core_size, admission(c->type));
		c->type->acquire(c->locks[0], context);
		enter(c, 0);
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
	lock(c, 0);
	last = --c->shared->users == 0;
	unlock(c, 0);
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

/* trylock: every other thread tries instead, once or twice. */
static void trylock_thread(void *argument, int thread)
{
	struct check *c = argument;
	int k;

	for (k = 0; k < c->episodes; k++) {
		if (thread % 2 == 0)
			visit_lock(c, 0);
		else if (trylock(c, 0))
			unlock(c, 0);
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
		visit_lock(c, thread % LOCKS);
		return;
	}
	lock(c, 0);
	lock(c, 1);
	unlock(c, 0); /* not the order of nesting: that must not matter */
	unlock(c, 1);
}

static void nested_set_up(void *argument)
{
	struct check *c = argument;
	int t;

	set_up(c);
	c->expected[0] = c->expected[1] = 1;
	for (t = 1; t < c->threads; t++)
		c->expected[t % LOCKS]++;
}

/* neighbours: threads of different locks meet in the waiting array alone. */
static void neighbours_thread(void *argument, int thread)
{
	struct check *c = argument;

	visit_lock(c, thread == 2);
}

/* chained: two threads hold one lock each in turn, one of them both. */
static void chained_thread(void *argument, int thread)
{
	struct check *c = argument;

	lock(c, thread == 2);
	unlock(c, thread == 2);
	if (thread == 0)
		visit_lock(c, 1);
}

/* return: one thread comes back for more while others still wait. */
static void return_thread(void *argument, int thread)
{
	struct check *c = argument;

	visit_lock(c, 0);
	if (thread == 0)
		visit_lock(c, 0);
}

static void return_set_up(void *argument)
{
	struct check *c = argument;

	set_up(c);
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
	lock(c, 0);
	if (thread == 0) {
		sim_store(&c->shared->passed, 1, SIM_RELEASE);
		sim_await(SIM_AWAIT_EQ, &c->shared->passed, 2, 0, SIM_ACQUIRE);
	}
	if (thread == 2 && c->shared->sections[0] != 3)
		explore_fail(VERDICT_FIFO,
			     "thread 2 came when thread 1 waited, and entered first");
	unlock(c, 0);
}

OUTSIDE static bool doorway_applies(const struct lock_type *type)
{
	return type->admission == ADMISSION_FIFO;
}

/* passed-on: the thread that unlocks is not the one that locked. */
static void passed_on_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread == 0) {
		lock(c, 0);
		explore_leave(0);
		sim_store(&c->shared->passed, 1, SIM_RELEASE);
	} else if (thread == 1) {
		sim_await(SIM_AWAIT_EQ, &c->shared->passed, 1, 0, SIM_ACQUIRE);
		c->type->unlock(c->locks[0]);
	} else {
		visit_lock(c, 0);
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
	explore_arrive(0, c->locks[0], c->type->core_size, admission(c->type));
	c->type->acquire(c->locks[0], thread == 0 ? c->shared->context : context);
	enter(c, 0);
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

/* tired: a visible waiter may leave its slot and go on unseen. */
static void tired_set_up(void *argument)
{
	sections_set_up(argument);
	sim_impatient = true;
}

OUTSIDE static bool tired_applies(const struct lock_type *type)
{
	return strcmp(type->name, "hapax-vw") == 0;
}

/* Locks unless its time is up first. */
static bool timedlock(struct check *c)
{
	static const struct timespec later = {.tv_sec = 1};

	explore_arrive(0, c->locks[0], c->type->size, admission(c->type));
	if (c->type->timedlock(c->locks[0], CLOCK_MONOTONIC, &later) != 0) {
		explore_retreat(0);
		return false;
	}
	enter(c, 0);
	return true;
}

/* gives-up: two of three may; when all is over, nothing is left of them. */
static void gives_up_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread == 3) {
		sim_await(SIM_AWAIT_EQ, &c->shared->passed, 3, 0, SIM_ACQUIRE);
		if (!c->type->trylock(c->locks[0]))
			explore_fail(VERDICT_ASSERTION,
				     "nobody holds the lock, but it is not free");
		return;
	}
	if (thread == 0)
		visit_lock(c, 0);
	else if (timedlock(c))
		unlock(c, 0);
	sim_fetch_add(&c->shared->passed, 1, SIM_ACQ_REL);
}

/* gone: one is ahead, one may give up, and one is behind. */
static void gone_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread != 1)
		visit_lock(c, 0);
	else if (timedlock(c))
		unlock(c, 0);
}

/* gone-twice: two that may give up stand between two that do not. */
static void gone_twice_thread(void *argument, int thread)
{
	gone_thread(argument, thread == 2 ? 1 : thread);
}

/* gone-try: the same, with one that only tries. */
static void gone_try_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread < 2)
		gone_thread(argument, thread);
	else if (trylock(c, 0))
		unlock(c, 0);
}

/* gone-free: one that gave up comes back, and whoever is last frees the lock. */
static void gone_free_thread(void *argument, int thread)
{
	struct check *c = argument;
	bool last;

	if (thread != 1 || !timedlock(c))
		lock(c, 0);
	last = --c->shared->users == 0;
	unlock(c, 0);
	if (last)
		explore_free(c->locks[0]);
}

OUTSIDE static bool gives_up(const struct lock_type *type)
{
	return type->timedlock != NULL && type->admission == ADMISSION_FIFO;
}

/* What follows is about pawl_mutex, and what sleeping is built on. */

OUTSIDE static bool is_mutex(const struct lock_type *type)
{
	return strcmp(type->name, "mutex") == 0;
}

OUTSIDE static bool sleeps(const struct lock_type *type)
{
	return type->parks;
}

/* guard: the lock that sleeping itself is built on, in a mutex's memory. */
void sim_real_guard_lock(pawl_atomic64 *guard);
void sim_real_guard_unlock(pawl_atomic64 *guard);

static void guard_thread(void *argument, int thread)
{
	struct check *c = argument;

	(void)thread;
	explore_arrive(0, c->locks[0], c->type->size, ADMIT_ANY);
	sim_real_guard_lock(c->locks[0]);
	enter(c, 0);
	explore_leave(0);
	sim_real_guard_unlock(c->locks[0]);
}

/* timed: a waiter may give up at every step that it sleeps at. */
static void timed_thread(void *argument, int thread)
{
	struct check *c = argument;

	if (thread % 2 == 0)
		visit_lock(c, 0);
	else if (timedlock(c))
		unlock(c, 0);
}

/*
 * granted: two queue behind a holder. To keep the search short, the second
 * comes when the first has queued, and the holder holds until then.
 */
static void granted_thread(void *argument, int thread)
{
	struct check *c = argument;
	struct pawl_mutex *m = c->locks[0];

	if (thread > 0)
		sim_await(SIM_AWAIT_NE, &c->shared->passed, 0, 0, SIM_RELAXED);
	if (thread == 2) {
		sim_await(SIM_AWAIT_NE, &m->due.raw, 0, 0, SIM_RELAXED);
		sim_store(&c->shared->passed, 2, SIM_RELAXED);
	}
	lock(c, 0);
	if (thread == 0) {
		sim_store(&c->shared->passed, 1, SIM_RELAXED);
		sim_await(SIM_AWAIT_EQ, &c->shared->passed, 2, 0, SIM_RELAXED);
	}
	unlock(c, 0);
}

static void is_free(void *argument)
{
	struct check *c = argument;
	const struct pawl_mutex *m = c->locks[0];

	if (explore_final(&m->word.raw) != 0)
		explore_fail(VERDICT_ASSERTION, "somebody left it locked");
}

const struct scenario scenarios[] = {
	{"sections", "lock and unlock: exclusion, progress, order of admission", 1, 0, 0,
	 4, always, passes, sections_set_up, sections_thread, finished, 0, false, false,
	 .alike = 1},
	{"explicit", "the same, the context kept by the caller", 1, 0, 0, 4,
	 explicit_applies, passes, sections_set_up, explicit_thread, finished, 0, false,
	 false, .alike = 1},
	{"destroy", "the last holder frees the lock", 2, 0, 1, 4, always,
	 destroy_expected, set_up, destroy_thread, NULL, 0, false, false, .alike = 1},
	{"exit", "threads exit right after their unlock", 2, 0, 0, 4, always, passes,
	 sections_set_up, exit_thread, finished, 0, false, false, .alike = 1},
	{"trylock", "trylock against lock and unlock", 2, 0, 0, 4, trylock_applies,
	 passes, set_up, trylock_thread, finished, 0, false, false},
	{"nested", "one thread holds two locks, others wait for them", 2, 0, 1, 1, always,
	 passes, nested_set_up, nested_thread, finished, 0, false, false},
	{"neighbours", "two locks share one waiting slot", 3, 3, 1, 1, always, passes,
	 set_up, neighbours_thread, finished, 0, false, false},
	{"chained", "a thread goes from one lock to another that is in use", 3, 3, 1, 1,
	 always, passes, set_up, chained_thread, finished, 0, false, false},
	{"return", "one thread comes back while others still wait", 2, 0, 1, 4, always,
	 passes, return_set_up, return_thread, finished, 0, false, false, .alike = 2},
	{"doorway", "one comes when another waits, and enters later", 3, 3, 1, 4,
	 doorway_applies, passes, sections_set_up, doorway_thread, finished, 0, false,
	 false},
	{"passed-on", "another thread unlocks", 2, 0, 1, 4, passed_on_applies, passes,
	 set_up, passed_on_thread, NULL, 0, false, false},
	{"handed-on", "another thread releases, with the context", 2, 0, 1, 4,
	 handed_on_applies, passes, set_up, handed_on_thread, NULL, 0, false, false},
	{"gone", "one waits, one may give up, one is behind it", 2, 0, 1, 4, gives_up,
	 passes, set_up, gone_thread, finished, 0, false, true},
	{"gives-up", "two may give up, and leave no trace", 4, 4, 1, 4, gives_up, passes,
	 set_up, gives_up_thread, finished, 0, false, false},
	{"gone-twice", "two may give up, one is ahead, one behind", 4, 4, 1, 4, gives_up,
	 passes, set_up, gone_twice_thread, finished, 0, false, false},
	{"gone-try", "one may give up, one only tries", 3, 0, 1, 4, gives_up, passes,
	 set_up, gone_try_thread, finished, 0, false, false},
	{"gone-free", "one gives up and comes back; the last frees the lock", 2, 0, 1, 4,
	 gives_up, passes, set_up, gone_free_thread, NULL, 0, false, false},
	{"tired", "a visible waiter may leave its slot and go on unseen", 3, 3, 1, 1,
	 tired_applies, passes, tired_set_up, sections_thread, finished, 0, false, false},
	{"refused", "lock and unlock where membarrier is refused", 2, 0, 1, 4, sleeps,
	 passes, sections_set_up, sections_thread, finished, 0, true, true, .alike = 1},
	{"guard", "the lock that sleeping is built on", 3, 3, 1, 4, is_mutex, passes,
	 sections_set_up, guard_thread, finished, 0, false, true, .alike = 1},
	{"bypass", "an unlock that finds the head's turn due", 2, 2, 1, 4, is_mutex,
	 passes, return_set_up, return_thread, finished, 1, false, true, .alike = 2},
	{"timed", "a waiter that may give up at any time", 2, 2, 1, 4, is_mutex, passes,
	 set_up, timed_thread, is_free, 0, false, true},
	{"timed-due", "the same, and every unlock grants", 2, 2, 1, 4, is_mutex, passes,
	 set_up, timed_thread, is_free, 1, false, true},
	{"granted", "two queue behind a holder, and every unlock grants", 3, 3, 1, 4,
	 is_mutex, passes, sections_set_up, granted_thread, finished, 1, false, true},
	{"queued", "two queue behind a holder, and unlocks set it free", 3, 3, 1, 4,
	 is_mutex, passes, sections_set_up, granted_thread, finished, 0, false, true,
	 .takes_minutes = true},
	{"polling", "waiters that poll, nap and count the unlocks meanwhile", 2, 2, 1, 4,
	 is_mutex, passes, sections_set_up, sections_thread, finished, 0, false, true,
	 .polls = true, .alike = 1},
	{"polling-bypass", "the same, and every unlock grants", 2, 2, 1, 4, is_mutex,
	 passes, return_set_up, return_thread, finished, 1, false, true, .polls = true},
	{"polling-timed", "the same, and a waiter may give up", 2, 2, 1, 4, is_mutex,
	 passes, set_up, timed_thread, is_free, 0, false, true, .polls = true},
	{.name = NULL},
};

const struct checked_object checked_objects[] = {
	{&cond_types[0], cond_scenarios},
	{&fence_types[0], fence_scenarios},
	{&rwlock_types[0], rwlock_scenarios},
	{&semaphore_types[0], semaphore_scenarios},
	{&seqlock_types[0], seqlock_scenarios},
	{&lease_types[0], lease_scenarios},
	{&shared_types[0], shared_scenarios},
	{NULL, NULL},
};

OUTSIDE const struct scenario *scenarios_of(const struct lock_type *type)
{
	const struct checked_object *object;

	for (object = checked_objects; object->type != NULL; object++)
		if (object->type == type)
			return object->scenarios;
	return scenarios;
}

OUTSIDE void scenario_check(const struct scenario *scenario, const struct lock_type *type,
			    int threads, int episodes, const struct options *options,
			    struct result *result)
{
	struct check check = {
		.type = type,
		.scenario = scenario,
		.threads = threads,
		.episodes = episodes,
	};
	struct program program = {
		.threads = threads,
		.set_up = scenario->set_up,
		.thread = scenario->thread,
		.finished = scenario->finished,
		.context = &check,
	};

	if (scenario->cores != NULL) {
		scenario->cores->check(scenario, threads, episodes, options, result);
		return;
	}
	sim_waiting_slots = scenario->waiting_slots;
	sim_hapax_block_bits = 1; /* so that blocks end */
	sim_mutex_bypass = scenario->bypass != 0 ? scenario->bypass : 1 << 20;
	sim_mutex_polls = scenario->polls;
	sim_membarrier_works = !scenario->without_membarrier;
	sim_impatient = false;
	sim_before_step = NULL;
	explore(&program, options, result);
	sim_before_step = NULL;
}
