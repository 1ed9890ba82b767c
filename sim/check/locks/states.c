/* SPDX-License-Identifier: MIT */
/* Scenarios of pawl_mutex for the core checker, see states.h: three threads, in all their
 * ways; and a process that forks. */
#include "../states.h"

#include "locks.h"

#include <pawl/mutex.h>

#include <sim/runtime.h>

#include <string.h>

OUTSIDE static bool is_mutex(const struct lock_type *type)
{
	return strcmp(type->name, "mutex") == 0;
}

/* By which the mutex sleeps, if not by pawl_process_parking. */
static struct pawl_parking *loaded_parking;
static struct pawl_filter *filter = pawl_filter_;
static void (*forget)(void) = pawl_park_forget;

void scenario_parks_in(struct pawl_parking *its_parking, struct pawl_filter *its_filter,
		       void (*its_forget)(void))
{
	loaded_parking = its_parking;
	filter = its_filter;
	forget = its_forget;
}

static struct world {
	struct pawl_mutex mutex;
	struct states_section section;
	uint64_t steps; /* of a script */
	bool child;	/* a ghost: of the process */
} * world;

static void set_up(void *argument)
{
	(void)argument;
	world = states_allocate(sizeof(*world), loaded_parking != NULL
							? loaded_parking
							: pawl_process_parking);
	world->section.holder = NOBODY;
	cores_label(&world->mutex.word, sizeof(uint64_t), "mutex", NULL);
	cores_label(&world->mutex.due, sizeof(uint64_t), "due", NULL);
	cores_label(&world->section.word, sizeof(uint64_t), "sections", NULL);
}

static void work_inside(void)
{
	states_enter(&world->section);
	states_add(&world->section, 1);
	states_leave(&world->section);
	scenario_type->unlock(&world->mutex);
}

static void visit(void)
{
	scenario_type->lock(&world->mutex);
	work_inside();
}

/* any-three: all lock and unlock. */
static void any_three_thread(void *argument, int thread)
{
	(void)argument, (void)thread;
	visit();
}

/* any-urgent: the same, with the thread's number as its real-time priority. */
OUTSIDE static unsigned priority_by_number(void)
{
	return (unsigned)cores_thread();
}

OUTSIDE static void set_priorities(void)
{
	sim_priority = priority_by_number;
}

static void urgent_set_up(void *argument)
{
	set_up(argument);
	set_priorities();
}

/*
 * room: the first thread wakes the second, which has not got up when the third has the
 * mutex and the first comes again: it makes room, and looks whether that helped.
 */
enum { SAW_ROOM_IN_VAIN };
static const char *const room_sights[] = {
	[SAW_ROOM_IN_VAIN] = "who woke the head made room for it, in vain",
};

/* A look, of who is inside, at what others do. */
OUTSIDE static void look_around(void)
{
	ptrdiff_t place = pawl_filter_of_(&world->mutex) - pawl_filter_;

	if (filter[place].waker.raw % 2 != 0)
		scenario_saw(1 << SAW_ROOM_IN_VAIN);
}

static void room_thread(void *argument, int thread)
{
	enum { HELD = 1, LET_GO };

	(void)argument;
	if (thread == 1)
		sim_await(SIM_AWAIT_EQ, &world->steps, HELD, 0, SIM_RELAXED);
	if (thread == 2)
		sim_await(SIM_AWAIT_EQ, &world->steps, LET_GO, 0, SIM_RELAXED);
	scenario_type->lock(&world->mutex);
	if (thread == 0) {
		sim_store(&world->steps, HELD, SIM_RELAXED);
		/* Until the second is queued. */
		sim_await(SIM_AWAIT_NE, &world->mutex.due.raw, 0, 0, SIM_RELAXED);
	}
	states_enter(&world->section);
	states_add(&world->section, 1);
	look_around();
	states_leave(&world->section);
	scenario_type->unlock(&world->mutex);
	if (thread == 0) {
		sim_store(&world->steps, LET_GO, SIM_RELAXED);
		visit();
	}
}

/* any-timed: the second may give up wherever it sleeps, and comes back. */
static void any_timed_thread(void *argument, int thread)
{
	static const struct timespec later = {.tv_sec = 1};

	(void)argument;
	if (thread == 1 &&
	    scenario_type->timedlock(&world->mutex, CLOCK_MONOTONIC, &later) == 0)
		work_inside();
	else
		visit();
}

/* So many sections, and nobody left it locked. */
static void check_visits(uint64_t sections)
{
	if (world->section.truth != sections)
		cores_fail(VERDICT_EXCLUSION, "%llu sections counted as %llu",
			   (unsigned long long)sections,
			   (unsigned long long)world->section.truth);
	if (world->mutex.word.raw != 0)
		cores_fail(VERDICT_ASSERTION, "somebody left it locked");
}

static void three_visits(void *argument)
{
	(void)argument;
	check_visits(3);
}

static void four_visits(void *argument)
{
	(void)argument;
	check_visits(4);
}

/*
 * fork, fork-inside: the first thread forks while the others wait for the mutex, have it,
 * or are in the parking table. The child goes on with the table as src/life leaves it. It
 * can use a mutex that was free, or that its own thread has; one whose holder is not
 * there stays locked.
 */
static void be_the_child(bool inside)
{
	uint64_t holder;

	world->child = true;
	forget();
	if (inside) {
		scenario_type->unlock(&world->mutex);
	} else {
		world->section.holder = NOBODY; /* he is not here */
		holder = sim_load(&world->mutex.word.raw, SIM_RELAXED);
		if (holder != 0) {
			if (scenario_type->trylock(&world->mutex))
				cores_fail(VERDICT_EXCLUSION,
					   "the child has what a thread of the parent "
					   "holds");
			return;
		}
	}
	/* What was inside may be half done. */
	world->section.truth = sim_load(&world->section.word, SIM_RELAXED);
	visit();
	visit();
}

static void fork_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0 && cores_fork())
		be_the_child(false);
	else
		visit();
}

static void fork_inside_thread(void *argument, int thread)
{
	(void)argument;
	if (thread != 0) {
		visit();
		return;
	}
	scenario_type->lock(&world->mutex);
	if (cores_fork())
		be_the_child(true);
	else
		work_inside();
}

static void parent_or_child(void *argument)
{
	if (!world->child)
		three_visits(argument);
}

static const struct core_scenario
	states = {3, 1, 3, 1, true, states_check, .buffers_only = true, .ends = true},
	weak_states = {3, 1, 3, 1, true, states_check, .ends = true};

#define THREE(scenario_name, says, set, body, end)                                       \
	.name = (scenario_name), .what = (says), .least_threads = 3, .only_threads = 3,  \
	.only_episodes = 1, .waiting_slots = 1, .applies = is_mutex, .expected = passes, \
	.set_up = (set), .thread = (body), .finished = (end), .bypass = 2

const struct scenario mutex_states_scenarios[] = {
	{THREE("any-three", "three threads lock and unlock, in all ways", set_up,
	       any_three_thread, three_visits),
	 .cores = &weak_states, .stands_for = "sections", .takes_seconds = true},
	{THREE("any-timed", "the same, and one may give up and come back", set_up,
	       any_timed_thread, three_visits),
	 .cores = &states, .takes_minutes = true},
	{THREE("any-urgent", "any-three, each with another priority", urgent_set_up,
	       any_three_thread, three_visits),
	 .cores = &states, .takes_minutes = true},
	{THREE("urgent-timed", "the same, and one may give up and come back",
	       urgent_set_up, any_timed_thread, three_visits),
	 .cores = &states, .takes_minutes = true},
	{THREE("room", "who woke the head comes again, and makes room for it", set_up,
	       room_thread, four_visits),
	 .room = true, .cores = &states, .takes_minutes = true,
	 .sights = 1 << SAW_ROOM_IN_VAIN, .sight_names = room_sights},
	{THREE("any-refused", "any-three, and membarrier is refused", set_up,
	       any_three_thread, three_visits),
	 .cores = &states, .takes_minutes = true, .without_membarrier = true},
	{THREE("fork", "a thread forks while others lock and unlock", set_up, fork_thread,
	       parent_or_child),
	 .cores = &states, .takes_seconds = true},
	{THREE("fork-inside", "the same, and it holds the mutex", set_up,
	       fork_inside_thread, parent_or_child),
	 .cores = &states, .takes_minutes = true},
	{.name = NULL},
};
