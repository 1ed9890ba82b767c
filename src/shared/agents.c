/* SPDX-License-Identifier: MIT */
/* Agents of a region: which thread each one represents. See region.h for V2, M4 and the
 * orders. */
#include "shared/region.h"

#include "os/shared.h"

bool pawl_region_lives(struct region_agent *agent, uint64_t value, bool ask)
{
	uint64_t who = pawl_load_acquire(&agent->who); /* [G] */

	if (who == AGENT_FREE || who == AGENT_LEFT)
		return false;
	/* A thread that takes the agent over first stores its name, then first: in
	 * between the old value seems alive. That is harmless: a thread that waits for
	 * it checks again. */
	if (value < pawl_load_acquire(&agent->first)) /* [G] */
		return false;
	return !ask || !pawl_os_thread_gone(who);
}

/* Whether arrive or an `ahead` names this value. Once arrive has changed from it, it never
 * has it again, and the thread that changed arrive has stored the value in its `ahead`
 * before. */
static bool is_named(const struct region *r, uint64_t value)
{
	unsigned i;

	for (i = 0; i < r->mutex_count; i++)
		if (pawl_load_acquire(&r->mutexes[i].arrive) == value && /* [P] */
		    /* Relaxed: a thread that reads the record later sees no less, [W]. */
		    pawl_load_relaxed(&r->mutexes[i].depart) != value)
			return true;
	for (i = 0; i < r->agent_count; i++)
		if (pawl_load_acquire(&r->agents[i].ahead) == value) /* [P] */
			return true;
	return false;
}

/*
 * Whether a thread may still read the record of this value, whose agent is gone (M4); if
 * not, only the caller may take the agent. During the search a waiter may copy the value
 * from a record that the search has not reached into one that it has passed, and the first
 * may then be reused, so that the search finds neither. So every claim increments a count
 * between its search and the reuse, and a search during which the count changed is
 * repeated. Ends: another thread has claimed an agent in each turn.
 */
static bool wanted(const struct region *r, uint64_t value)
{
	uint64_t claims;

	do {
		claims = pawl_load_acquire(r->claims); /* [C] */
		if (is_named(r, value))
			return true;
	} while (!pawl_cas_release(r->claims, claims, claims + 1)); /* [C] */
	return false;
}

struct region_agent *pawl_region_claim(struct region *r, uint64_t name)
{
	unsigned i;

	for (i = 0; i < r->agent_count; i++) {
		struct region_agent *agent = &r->agents[i];
		uint64_t who = pawl_load_acquire(&agent->who); /* [G] */

		if (who != AGENT_FREE) {
			if (who != AGENT_LEFT && !pawl_os_thread_gone(who))
				continue;
			/* Relaxed: its thread is gone; [G]. */
			if (wanted(r, pawl_load_relaxed(&agent->value)))
				continue;
		}
		/* Not a release: a thread that sees the new name waits, and checks again. */
		if (!pawl_cas_acquire(&agent->who, who, name)) /* [G] */
			continue;
		pawl_store_release(&agent->first, region_next(r, agent)); /* [W] */
		pawl_store_relaxed(&agent->ahead,
				   0); /* Relaxed: no thread reads it (M4) */
		return agent;
	}
	return NULL;
}

void pawl_region_free(struct region_agent *agent)
{
	pawl_store_release(&agent->who, AGENT_FREE); /* [W] */
}
