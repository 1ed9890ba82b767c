/* SPDX-License-Identifier: MIT */
/* The cases to run, and their options. */
#include "cli/check/check.h"

#include "cli/common/options.h"
#include "cli/common/output.h"

#include <sim/cores/cores.h>

#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 2048 };

bool case_fits(const struct scenario *scenario, int threads)
{
	return threads >= scenario->least_threads &&
	       threads <=
		       (scenario->cores != NULL ? (int)CORES_MAX_THREADS : MAX_THREADS);
}

/* The scenario's fixed size, or else the requested one. */
static int size_of(int only, int wanted)
{
	return only != 0 ? only : wanted;
}

static void add_case(struct plan *plan, const struct lock_type *type,
		     const struct scenario *scenario, int threads, int episodes,
		     enum model model)
{
	struct check_case *c;
	size_t i;

	threads = size_of(scenario->only_threads, threads);
	episodes = size_of(scenario->only_episodes, episodes);
	if (!case_fits(scenario, threads) || !scenario->applies(type))
		return;
	for (i = 0; i < plan->count; i++)
		if (plan->cases[i].type == type && plan->cases[i].scenario == scenario &&
		    plan->cases[i].threads == threads &&
		    plan->cases[i].episodes == episodes && plan->cases[i].model == model)
			return;
	if (plan->count == MAX_CASES)
		give_up("more than %d cases; name some locks", MAX_CASES);
	c = &plan->cases[plan->count++];
	c->type = type;
	c->scenario = scenario;
	c->threads = threads;
	c->episodes = episodes;
	c->model = model;
}

/* Whether a parking lock finishes this scenario with two threads in minutes. */
static bool finishes_parking(const struct lock_type *type,
			     const struct scenario *scenario)
{
	return scenario->only_threads == 0 &&
	       (!scenario->long_asleep || has_own_way(type));
}

/*
 * The default sizes: what finishes in seconds; with --full also what takes minutes. A
 * parking lock takes dozens of steps where a spinning one takes one, and has the same
 * algorithm: it gets two threads.
 */
static void add_usual_cases(struct plan *plan, const struct request *request,
			    const struct lock_type *type, const struct scenario *scenario)
{
	const struct core_scenario *cores = scenario->cores;

	if (request->scenario == NULL && request->random == 0 &&
	    (scenario->takes_hours || (scenario->takes_minutes && !request->full)))
		return;
	if (cores != NULL && cores->ends && request->random != 0 &&
	    request->scenario == NULL)
		return;
	if (cores != NULL && (cores->buffers_only || cores->in_order)) {
		bool in_order = request->model == MODEL_SC ||
				(cores->in_order && request->model != MODEL_TSO);

		add_case(plan, type, scenario, cores->threads, cores->episodes,
			 in_order ? MODEL_SC : MODEL_TSO);
		return;
	}
	if (cores != NULL) {
		/* Weak memory takes ten times as long as store buffers. */
		bool weakly = !cores->weak_takes_minutes || request->full ||
			      request->scenario != NULL || request->random != 0;

		add_case(plan, type, scenario, cores->threads, cores->episodes,
			 weakly ? request->model : MODEL_TSO);
		if (request->full)
			add_case(plan, type, scenario, cores->full_threads,
				 cores->full_episodes,
				 request->model == MODEL_SC ? MODEL_SC : MODEL_TSO);
		return;
	}
	if (scenario->long_asleep && !ends_beyond_three(type) && !request->full &&
	    request->scenario == NULL)
		return;
	if (scenario->only_usual != 0) {
		if (!type->parks)
			add_case(plan, type, scenario, scenario->only_usual, 1,
				 request->model);
		return;
	}
	if (type->parks) {
		if (scenario->basic || scenario->for_sleepers ||
		    (request->full && finishes_parking(type, scenario)))
			add_case(plan, type, scenario, 2, 1, request->model);
		if (request->full && scenario->three_asleep != NULL &&
		    scenario->three_asleep(type))
			add_case(plan, type, scenario, 3, 1, request->model);
		return;
	}
	add_case(plan, type, scenario, 3, 1, request->model);
	if ((scenario->basic || request->full) && ends_beyond_three(type)) {
		add_case(plan, type, scenario, 2, 3, request->model);
		add_case(plan, type, scenario, 4, 1, request->model);
	}
}

/* The scenario that replaces one that would not finish with the requested threads; NULL
 * if none does. Random executions always finish. */
static const struct scenario *stand_in(const struct request *request,
				       const struct lock_type *type,
				       const struct scenario *scenario)
{
	const struct scenario *other;
	size_t n;

	if (request->random != 0 || request->limit != 0 || request->episodes > 1)
		return NULL;
	for (n = 0; (other = scenario_for(type, n)) != NULL; n++)
		if (other->stands_for != NULL && other->applies(type) &&
		    other->only_threads == request->threads &&
		    strcmp(other->stands_for, scenario->name) == 0)
			return other;
	return NULL;
}

/* Adds the case of the requested size, unless the scenario has another fixed size.
 * Returns whether it did. */
static bool add_asked_case(struct plan *plan, const struct request *request,
			   const struct lock_type *type, const struct scenario *scenario)
{
	int usual = type->parks || scenario->cores != NULL ? 2 : 3;
	int threads = size_of(request->threads, size_of(scenario->only_threads, usual));
	int episodes = size_of(request->episodes, size_of(scenario->only_episodes, 1));

	if (threads != size_of(scenario->only_threads, threads) ||
	    episodes != size_of(scenario->only_episodes, episodes))
		return !scenario->applies(type);
	add_case(plan, type, scenario, threads, episodes, request->model);
	return true;
}

void plan_cases(struct plan *plan, const struct request *request)
{
	const struct scenario *left_out = NULL;
	size_t left_out_count = 0;
	const struct scenario *scenario, *other;
	size_t i, n;

	plan->cases = calloc(MAX_CASES, sizeof(*plan->cases));
	if (plan->cases == NULL)
		give_up("no memory");
	for (i = 0; i < request->lock_count; i++) {
		const struct lock_type *type = request->locks[i];

		for (n = 0; (scenario = scenario_for(type, n)) != NULL; n++) {
			if (request->scenario != NULL &&
			    strcmp(request->scenario, scenario->name) != 0)
				continue;
			other = stand_in(request, type, scenario);
			if (other != NULL) {
				warn("%s, %s with %d threads has too many executions: it "
				     "is checked by states, as %s; --limit or --random "
				     "check it as it is",
				     type->name, scenario->name, request->threads,
				     other->name);
				scenario = other;
			}
			if (request->threads == 0 && request->episodes == 0) {
				add_usual_cases(plan, request, type, scenario);
			} else if (!add_asked_case(plan, request, type, scenario)) {
				left_out = scenario;
				left_out_count++;
			}
		}
	}
	if (left_out != NULL && plan->count == 0)
		refuse("%s has %d threads%s; remove --threads and --episodes",
		       left_out->name,
		       size_of(left_out->only_threads, left_out->least_threads),
		       left_out->only_episodes != 0 ? " with one episode each" : "");
	if (left_out != NULL)
		warn("%zu cases that have another size, such as '%s' with %d threads, "
		     "are skipped; remove --threads and --episodes to run them",
		     left_out_count, left_out->name,
		     size_of(left_out->only_threads, left_out->least_threads));
	if (plan->count == 0)
		refuse("nothing to check: no such scenario for these locks and this many "
		       "threads; 'pawl check --list' lists the scenarios");
}

/*
 * Whether to apply the symmetry reduction: for locks with their own algorithm for
 * sleeping, with which three threads take too long. Other locks hash addresses of a
 * thread's storage, which distinguishes threads.
 */
static bool in_turn(const struct check_case *c)
{
	return c->threads > 2 && has_own_way(c->type) &&
	       (c->type->parks || c->type->lock == NULL);
}

struct options options_for(const struct check_case *c, bool steadfast)
{
	return (struct options){
		.model = c->model,
		.keep_trace = true,
		.steadfast = steadfast,
		.early = steadfast ? 0 : 1,
		.in_turn = in_turn(c),
	};
}
