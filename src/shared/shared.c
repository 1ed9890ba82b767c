/* SPDX-License-Identifier: MIT */
/*
 * pawl/shared.h for the threads of this process: which agents a thread has in which
 * regions, and what happens to them at exit and fork. See shared/region.h for the orders.
 *
 * A thread has a seat for each of its agents. It needs a second agent in a region only for
 * a timed wait while it holds a mutex there: a wait that times out abandons its agent, and
 * would abandon that mutex with it.
 */
#include "shared/shared.h"

#include "os/shared.h"
#include "sleep/parking.h"

#include <pawl/backend/debug.h>
#include <pawl/thread.h>

#include <errno.h>
#include <stdlib.h>

struct seat {
	uint64_t serial; /* of the attachment, which may be detached by now */
	struct region_agent *agent;
	struct seat *next;
};

/* This thread's seats, and a cache of the one used last. */
static __thread struct {
	uint64_t serial; /* of the attachment used last; 0 is no attachment */
	struct region_agent *agent;
	uint64_t first, span; /* the agent's values: first + 0..span */
	uint64_t next;	      /* the value it draws next: region_next */
	uint64_t name;	      /* of this thread; 0 until first needed */
	struct seat *seats, *spare;
} mine __attribute__((tls_model("initial-exec")));

static struct pawl_shared *attachments;
static pawl_atomic64 guard; /* protects the list and serials */
static uint64_t serials;

/* The value of agent.user for an attachment; unique among all processes. */
static uint64_t user_of(uint64_t serial)
{
	return pawl_os_process() << 32 | serial;
}

void pawl_shared_enlist(struct pawl_shared *s)
{
	pawl_guard_lock(&guard);
	s->serial = ++serials;
	s->next = attachments;
	attachments = s;
	pawl_guard_unlock(&guard);
}

static struct seat *unlink_seat(struct seat **at)
{
	struct seat *seat = *at;

	if (mine.agent == seat->agent)
		mine.serial = 0;
	*at = seat->next;
	return seat;
}

static void forget_seat(struct seat **at)
{
	free(unlink_seat(at));
}

/* Frees the agents that this process has through an attachment, or returns EBUSY. Requires
 * the guard. Relaxed: agents of this process, which is not using them. */
static int free_agents(struct pawl_shared *s)
{
	struct region_agent *agent, *end = s->r.agents + s->r.agent_count;
	uint64_t user = user_of(s->serial);

	for (agent = s->r.agents; agent < end; agent++)
		if (pawl_load_relaxed(&agent->user) == user &&
		    pawl_region_holds(&s->r, agent) &&
		    pawl_region_lives(agent, UINT64_MAX, true))
			return EBUSY;
	for (agent = s->r.agents; agent < end; agent++)
		if (pawl_load_relaxed(&agent->user) == user &&
		    pawl_load_relaxed(&agent->ahead) == 0 &&
		    pawl_region_lives(agent, UINT64_MAX, true))
			pawl_region_free(agent);
	return 0;
}

int pawl_shared_delist(struct pawl_shared *s)
{
	struct pawl_shared **at = &attachments;
	struct seat **seat = &mine.seats;
	int error;

	pawl_guard_lock(&guard);
	error = free_agents(s);
	if (error == 0) {
		while (*at != s)
			at = &(*at)->next;
		*at = s->next;
	}
	pawl_guard_unlock(&guard);
	while (error == 0 && *seat != NULL)
		if ((*seat)->serial == s->serial)
			forget_seat(seat);
		else
			seat = &(*seat)->next;
	return error;
}

/* Frees this thread's agents, except those that own a mutex: other threads find that their
 * thread is gone. */
void pawl_shared_leave(struct pawl_thread *self)
{
	struct pawl_shared *s;

	(void)self;
	pawl_guard_lock(&guard);
	while (mine.seats != NULL) {
		for (s = attachments; s != NULL; s = s->next)
			if (s->serial == mine.seats->serial &&
			    !pawl_region_holds(&s->r, mine.seats->agent))
				pawl_region_free(mine.seats->agent);
			else if (s->serial == mine.seats->serial)
				pawl_note_releasing(
					s); /* to a thread that finds us gone */
		forget_seat(&mine.seats);
	}
	while (mine.spare != NULL)
		forget_seat(&mine.spare);
	pawl_guard_unlock(&guard);
}

/* The child's thread is a new one, and has no agents yet. It keeps the memory of the
 * seats: the allocator's own fork handler, without which free is not safe, may not have run
 * yet. */
void pawl_shared_forked(void)
{
	while (mine.seats != NULL) {
		struct seat *seat = unlink_seat(&mine.seats);

		seat->next = mine.spare;
		mine.spare = seat;
	}
	pawl_region_forked();
	mine.serial = 0;
	mine.name = 0;
	pawl_store_relaxed(&guard, 0); /* Relaxed: the only thread */
}

static uint64_t my_name(void)
{
	if (__builtin_expect(mine.name == 0, false))
		mine.name = pawl_os_thread_name();
	return mine.name;
}

static struct seat *new_seat(struct pawl_shared *s)
{
	struct seat *seat = mine.spare != NULL ? unlink_seat(&mine.spare)
					       : malloc(sizeof(*seat));

	if (seat == NULL)
		return NULL;
	/* Without an exit handler, other threads find that this one is gone. */
	pawl_at_thread_exit();
	/* Once per process is enough; in the child of a fork, this is the first time. */
	if (!pawl_os_barrier_all_prepare())
		pawl_store_relaxed(s->r.fenced, 1); /* Relaxed: never cleared */
	seat->agent = pawl_region_claim(&s->r, my_name());
	if (seat->agent == NULL) {
		free(seat);
		return NULL;
	}
	/* Relaxed: only this process reads it. */
	pawl_store_relaxed(&seat->agent->user, user_of(s->serial));
	seat->serial = s->serial;
	seat->next = mine.seats;
	mine.seats = seat;
	return seat;
}

/* This thread's agent in the region; one that owns no mutex if `idle`. NULL if none is
 * left. */
static struct region_agent *find_agent(struct pawl_shared *s, bool idle)
{
	struct seat *seat;

	for (seat = mine.seats; seat != NULL; seat = seat->next)
		if (seat->serial == s->serial &&
		    (!idle || !pawl_region_holds(&s->r, seat->agent)))
			break;
	if (seat == NULL)
		seat = new_seat(s);
	return seat != NULL ? seat->agent : NULL;
}

/* Makes it the cached agent, which the fast paths use. The whole cache is filled, after the
 * last value that the agent has drawn. */
static void keep_at_hand(const struct pawl_shared *s, struct region_agent *agent)
{
	mine.serial = s->serial;
	mine.agent = agent;
	mine.first = pawl_load_relaxed(&agent->first); /* Relaxed: ours */
	mine.span = ((uint64_t)1 << REGION_COUNT_BITS) - 1 -
		    (mine.first & (((uint64_t)1 << REGION_COUNT_BITS) - 1));
	mine.next = region_next(&s->r, agent);
}

/* Forgets an agent that a timed-out wait has abandoned. */
static void lose_agent(struct region_agent *agent)
{
	struct seat **at = &mine.seats;

	while ((*at)->agent != agent)
		at = &(*at)->next;
	forget_seat(at);
}

/* Locks; or tries to lock, without `wait`. */
static int lock_slow(struct pawl_shared *s, unsigned mutex, bool wait,
		     const struct pawl_deadline *deadline)
{
	struct region_agent *agent;
	int error;

	if (wait && pawl_region_owns(&s->r, my_name(), mutex))
		return EDEADLK;
	agent = find_agent(s, deadline != NULL);
	if (agent == NULL)
		return EAGAIN;
	error = wait ? pawl_region_lock(&s->r, agent, mutex, deadline)
		     : pawl_region_try(&s->r, agent, mutex);
	if (error == ETIMEDOUT)
		lose_agent(agent);
	else
		keep_at_hand(s, agent);
	return error;
}

/* The fast path: the cached agent takes a free mutex. */
static inline bool take(struct pawl_shared *s, unsigned mutex)
{
	return __builtin_expect(mine.serial == s->serial, true) &&
	       __builtin_expect(
		       region_take(shared_mutex(s, mutex), mine.agent, mine.next++),
		       true);
}

int pawl_shared_mutex_lock(struct pawl_shared *region, unsigned mutex)
{
	if (mutex >= region->r.mutex_count)
		return EINVAL;
	return take(region, mutex) ? 0 : lock_slow(region, mutex, true, NULL);
}

int pawl_shared_mutex_trylock(struct pawl_shared *region, unsigned mutex)
{
	if (mutex >= region->r.mutex_count)
		return EINVAL;
	return lock_slow(region, mutex, false, NULL);
}

int pawl_shared_mutex_timedlock(struct pawl_shared *region, unsigned mutex, int clock,
				const struct timespec *time)
{
	struct pawl_deadline deadline;

	if (mutex >= region->r.mutex_count ||
	    pawl_deadline_at(&deadline, clock, time) != 0)
		return EINVAL;
	return take(region, mutex) ? 0 : lock_slow(region, mutex, true, &deadline);
}

int pawl_shared_mutex_unlock(struct pawl_shared *region, unsigned mutex)
{
	struct region_mutex *m = shared_mutex(region, mutex);
	uint64_t last, owner;

	if (mutex >= region->r.mutex_count)
		return EINVAL;
	/* As owner_of in lock.c, for the cached agent. */
	last = pawl_load_acquire(&m->depart); /* [A] */
	owner = pawl_load_relaxed(&m->owner); /* Relaxed: a thread sees its own stores */
	if (__builtin_expect(mine.serial != region->serial ||
				     owner - mine.first > mine.span || owner == last,
			     false) &&
	    !pawl_region_owns(&region->r, my_name(), mutex))
		return EPERM;
	region_unlock(&region->r, m, mutex, owner);
	return 0;
}

int pawl_shared_mutex_consistent(struct pawl_shared *region, unsigned mutex)
{
	if (mutex >= region->r.mutex_count)
		return EINVAL;
	if (!pawl_region_owns(&region->r, my_name(), mutex))
		return EPERM;
	return pawl_region_consistent(&region->r, mutex);
}
