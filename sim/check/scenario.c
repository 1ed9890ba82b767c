/* SPDX-License-Identifier: MIT */
/* Which scenarios there are, and running one. */
#include "crash.h"
#include "locks/locks.h"

#include <sim/runtime.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Those of the registry's locks. */
static const struct scenario *const lock_scenarios[] = {
	sections_scenarios, timed_scenarios,	    hapax_vw_scenarios,
	mutex_scenarios,    mutex_states_scenarios, NULL,
};

const struct checked_object checked_objects[] = {
	{&cond_types[0], cond_scenarios},
	{&debug_types[0], debug_scenarios},
	{&depot_types[0], depot_scenarios},
	{&fence_types[0], fence_scenarios},
	{&guard_types[0], guard_scenarios},
	{&park_types[0], park_scenarios},
	{&process_types[0], process_scenarios},
	{&copies_types[0], copies_scenarios},
	{&reads_types[0], reads_scenarios},
	{&scoped_types[0], scoped_scenarios},
	{&interposer_types[0], interposer_scenarios},
	{&start_types[0], start_scenarios},
	{&rwlock_types[0], rwlock_scenarios},
	{&semaphore_types[0], semaphore_scenarios},
	{&seqlock_types[0], seqlock_scenarios},
	{&handle_types[0], handle_scenarios},
	{&heirs_types[0], heirs_scenarios},
	{&jump_types[0], jump_scenarios},
	{&lease_types[0], lease_scenarios},
	{&mode_types[0], mode_scenarios},
	{&shared_types[0], shared_scenarios},
	{&slots_types[0], slots_scenarios},
	{NULL, NULL},
};

const struct scenario *scenario_of(const struct lock_type *type, size_t n)
{
	const struct scenario *const *table = lock_scenarios;
	const struct scenario *own[2] = {NULL, NULL}, *s;
	const struct checked_object *object;

	for (object = checked_objects; object->type != NULL; object++) {
		if (object->type == type) {
			own[0] = object->scenarios;
			table = own;
		}
	}
	for (; *table != NULL; table++)
		for (s = *table; s->name != NULL; s++)
			if (n-- == 0)
				return s;
	return NULL;
}

bool has_own_way(const struct lock_type *type)
{
	return strcmp(type->name, type->base) == 0;
}

bool ends_beyond_three(const struct lock_type *type)
{
	return strcmp(type->base, "cohort") != 0;
}

const struct lock_type *scenario_type;
static uint64_t seen; /* in any execution of this search */

void scenario_saw(uint64_t sights)
{
	seen |= sights;
}

/* A search to the end that never came to what it is about shows nothing. */
static void check_sights(const struct scenario *scenario, struct result *result)
{
	uint64_t missed = scenario->sights & ~seen;

	if (missed == 0 || result->verdict != VERDICT_PASSED)
		return;
	result->verdict = VERDICT_NOTHING;
	snprintf(result->message, sizeof(result->message),
		 "no execution comes to this: %s; look at what the scenario assumes",
		 scenario->sight_names[__builtin_ctzll(missed)]);
}

static const char *homes;

static unsigned home_by_script(void)
{
	return (unsigned)(homes[explore_thread()] - 'a');
}

void scenario_check(const struct scenario *scenario, const struct lock_type *type,
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

	sim_waiting_slots = scenario->waiting_slots;
	sim_hapax_block_bits = 1; /* so that blocks end */
	sim_park_crowd = 0;
	sim_reserves = UINT_MAX;
	sim_critical = NULL;
	sim_mutex_bypass = scenario->bypass != 0 ? scenario->bypass : 1 << 20;
	sim_mutex_polls = scenario->polls;
	sim_mutex_room = scenario->room;
	sim_node_count = scenario->one_node ? 1 : 2;
	homes = scenario->homes;
	sim_home = homes != NULL ? home_by_script : NULL;
	sim_membarrier_works = !scenario->without_membarrier;
	sim_impatient = false;
	sim_sleep_sees = scenario->sleep_sees;
	sim_before_step = NULL;
	sim_before_access = NULL;
	sim_refuses = NULL;
	sim_clock = NULL;
	sim_yield = NULL;
	sim_priority = NULL;
	scenario_type = type;
	catch_crashes();
	seen = 0;
	if (scenario->cores != NULL)
		scenario->cores->check(scenario, threads, episodes, options, result);
	else
		explore(&program, options, result);
	sim_before_step = NULL;
	sim_before_access = NULL;
	if (options->choices == NULL)
		check_sights(scenario, result);
}
