/* SPDX-License-Identifier: MIT */
/* Who stands for whom in a region. See region.h for V2, M4 and the orders. */
#include "shared/region.h"

#include "os/shared.h"

bool pawl_region_lives(struct region_agent *agent, uint64_t value, bool ask)
{
	uint64_t who = pawl_load_acquire(&agent->who); /* [G] */

	if (who == AGENT_FREE || who == AGENT_LEFT)
		return false;
	/* A thread that takes the agent over first says who it is, then sets
	 * first: for a moment the old value seems to live. It may: who waits for
	 * it looks again. */
	if (value < pawl_load_acquire(&agent->first)) /* [G] */
		return false;
	return !ask || !pawl_os_thread_gone(who);
}

/* Whether arrive or an `ahead` names this value. Once arrive has moved on from it,
 * it never comes back, and who moved it has said so in its `ahead` before. */
static bool is_named(const struct region *r, uint64_t value)
{
	unsigned i;

	for (i = 0; i < r->mutex_count; i++)
		if (pawl_load_acquire(&r->mutexes[i].arrive) == value && /* [P] */
		    /* Relaxed: who comes to look at it sees no less, [W]. */
		    pawl_load_relaxed(&r->mutexes[i].depart) != value)
			return true;
	for (i = 0; i < r->agent_count; i++)
		if (pawl_load_acquire(&r->agents[i].ahead) == value) /* [P] */
			return true;
	return false;
}

/*
 * Whether somebody can still come to look at the record of this value, whose agent
 * is gone (M4); if not, the caller alone may have the agent. While one looks, a
 * waiter may take the value over from a record that is then reused: named here
 * before it was looked at, and there no more. So whoever claims counts, between its
 * look and the reuse, and a look that another's count came into is not good.
 * Ends: each time round another thread has claimed an agent.
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
			/* Relaxed: of somebody who is gone; [G]. */
			if (wanted(r, pawl_load_relaxed(&agent->value)))
				continue;
		}
		/* Not a release: who sees the new name waits, and looks again. */
		if (!pawl_cas_acquire(&agent->who, who, name)) /* [G] */
			continue;
		pawl_store_release(&agent->first, region_next(r, agent)); /* [W] */
		pawl_store_relaxed(&agent->ahead, 0); /* Relaxed: nobody wants it */
		return agent;
	}
	return NULL;
}

void pawl_region_free(struct region_agent *agent)
{
	pawl_store_release(&agent->who, AGENT_FREE); /* [W] */
}
