/* SPDX-License-Identifier: MIT */
/*
 * Locks of ours in somebody's program: what their headers call in the library, which is
 * not compiled with it. A mutex is its header's fast path and, in place of the queue,
 * one wait; nobody sleeps, so `due` stays 0. The rest of the library is refused by name.
 */
#include "heap.h"
#include "threads.h"

#include <pawl/cond.h>
#include <pawl/runtime.h>

#include <errno.h>

/* Whoever waits for a word looks at it again: a loop that loops.c knows. */
void pawl_park_(const pawl_atomic64 *w, enum pawl_until until, uint64_t value)
{
	(void)w, (void)until, (void)value;
}

/* Not by the name that the header would give the owner: so it unlocks the slow way. */
static void lock(struct pawl_mutex *m, enum operation how, const void *site)
{
	own_read(how, &m->word.raw, 0, (uint64_t)me(current_search) + 1, SIM_ACQUIRE,
		 site, NULL);
}

static void unlock(struct pawl_mutex *m, const void *site)
{
	own_store(&m->word.raw, 0, SIM_RELEASE, site);
}

void pawl_mutex_lock_slow_(struct pawl_mutex *m)
{
	lock(m, OP_AWAIT_CAS, SITE);
}

int pawl_mutex_lock_until_(struct pawl_mutex *m, int clock, const struct timespec *time)
{
	(void)clock, (void)time;
	if (event_choose(SITE))
		return ETIMEDOUT;
	lock(m, OP_ASSUME_CAS, SITE);
	return 0;
}

void pawl_mutex_unlock_slow_(struct pawl_mutex *m)
{
	unlock(m, SITE);
}

/* The word of a condition is the set of those who wait: 0 if nobody does. */

void pawl_cond_wait_slow_(struct pawl_cond *c, struct pawl_mutex *m)
{
	bool sleeps = !condition_wakes_for_nothing(SITE);

	if (sleeps)
		condition_join(&c->waiters.raw, SITE);
	unlock(m, SITE);
	if (sleeps)
		condition_sleep(c, false, SITE);
	lock(m, OP_AWAIT_CAS, SITE);
}

int pawl_cond_wait_until_(struct pawl_cond *c, struct pawl_mutex *m, int clock,
			  const struct timespec *time)
{
	bool sleeps = !event_choose(SITE);

	(void)clock, (void)time;
	if (sleeps)
		condition_join(&c->waiters.raw, SITE);
	unlock(m, SITE);
	if (sleeps)
		condition_sleep(c, true, SITE);
	lock(m, OP_AWAIT_CAS, SITE);
	return sleeps ? 0 : ETIMEDOUT;
}

void pawl_cond_signal_slow_(struct pawl_cond *c, bool all)
{
	if (all)
		condition_broadcast(&c->waiters.raw, c, SITE);
	else
		condition_signal(&c->waiters.raw, c, SITE);
}

/* Nodes of queues: each goes back at once, so that who touches it later is seen. */

struct pawl_node *pawl_node_new_(void)
{
	return program_allocate(sizeof(struct pawl_node), _Alignof(struct pawl_node),
				SITE);
}

void pawl_node_free_(struct pawl_node *node)
{
	played_free(node);
}

/* A thread's storage outlives it here. */
void pawl_at_thread_exit_native_(void)
{
}
