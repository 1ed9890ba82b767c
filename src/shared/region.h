/* SPDX-License-Identifier: MIT */
/*
 * A region of memory shared by processes: its layout, its agents and its mutexes.
 * docs/design/shared.md has the protocol at length.
 *
 * The region holds no address. Mutexes and agents are identified by their numbers, an
 * episode of a mutex by a value:
 *
 *   V1  A value is drawn once in the life of the region. Its high bits are the
 *       number of the agent that drew it, its low bits count that agent's draws,
 *       for all threads that the agent has represented. 0 is no agent's.
 *   V2  An agent represents one thread. It is gone if its thread is, or has abandoned
 *       it, or if the value in question is older than the thread (first).
 *
 * A mutex is (arrive, depart, owner, state); it is free iff arrive == depart.
 * An agent that draws v publishes (value, ahead) = (v, x) and then changes arrive
 * from x to v by compare-and-swap, so a thread that waits for v can find v's
 * predecessor: there is no moment at which only v's thread knows it.
 *
 *   M1  v owns the mutex once depart is what ahead says, or ahead died owning
 *       it. It then stores owner = v, and only then ahead = 0.
 *   M2  At most one living thread waits for v: the one with ahead == v. The others
 *       in the queue wait for it, directly or not.
 *   M3  A thread that waits for v and finds v gone reads the mutex: if depart == v, v
 *       has departed; if owner == v, it died as the owner; else it died waiting, and the
 *       thread waits for v's ahead from now on, and publishes that.
 *   M4  The record (value, ahead) of an agent that is gone does not change while a
 *       thread can come to read it: while arrive, or the ahead of an agent, is its
 *       value. Only afterwards may another thread take the agent. Claims of such
 *       agents are counted, so that a search for a value does not miss one that moved
 *       from a record, then reused, to one already searched.
 *   M5  Only the owner writes owner, state and depart.
 *
 * Orders, here, in shared/lock.c, shared/agents.c and shared/shared.c:
 *   [A] pairs with [R], and [B] pairs with [S]: a section happens before the next one.
 *   [P] pairs with [P]: a thread that reads a value from arrive sees its record, too.
 *   [G] pairs with [W]: a thread that finds an agent abandoned or taken over sees all
 *       stores of its thread; for a thread that was killed, the kernel's answer orders.
 *   [C] pairs with [C]: a claim sees all that the claims before it were based on, and
 *       nothing of those after it.
 *   [K] pairs with [L]: of a sleeper and a waker at least one sees the other.
 */
#ifndef PAWL_SHARED_REGION_H
#define PAWL_SHARED_REGION_H

#include "os/os.h"

#include <pawl/atomic.h>

enum {
	REGION_AGENTS_MAX = 1 << 12, /* as many as the high bits can number */
	REGION_COUNT_BITS = 52,
};

/* Values of an agent's `who` that name no thread: without a thread; and abandoned by its
 * thread after a timeout, with a record that others may read. */
enum { AGENT_FREE = 0, AGENT_LEFT = 1 };

struct region_agent {
	__attribute__((aligned(64))) pawl_atomic64 who;
	pawl_atomic64 first; /* V2: the first value of its thread */
	pawl_atomic64 value; /* the last one drawn; 0: none yet */
	pawl_atomic64 ahead; /* the value whose departure that one awaits, or 0 */
	pawl_atomic64 user;  /* process and attachment; only its own process reads it */
};

enum mutex_state { MUTEX_CONSISTENT, MUTEX_INCONSISTENT, MUTEX_LOST };

struct region_mutex {
	__attribute__((aligned(64))) pawl_atomic64 arrive; /* value of the last arrival */
	pawl_atomic64 depart;				   /* of the last that departed */
	pawl_atomic64 owner;				   /* of the last that entered */
	pawl_atomic64 state;
};

/* An entry of the waiting array, where the successors of some values wait. */
struct region_entry {
	__attribute__((aligned(64))) pawl_atomic64 hint; /* a value that departed */
	pawl_atomic64 asleep;				 /* 1: a thread may sleep here */
	pawl_atomic64 wakes; /* counts wake-ups; the futex of the sleepers */
};

/* A region as one process sees it. */
struct region {
	pawl_atomic64 *fenced; /* 1: some process has no global membarrier */
	pawl_atomic64 *claims; /* count of claims of agents that were gone (M4) */
	struct region_agent *agents;
	struct region_mutex *mutexes;
	struct region_entry *entries;
	unsigned agent_count, mutex_count, entry_mask;
};

/* The agent that drew a value, or NULL: then the region is corrupt. */
static inline struct region_agent *region_agent_of(const struct region *r, uint64_t value)
{
	uint64_t number = value >> REGION_COUNT_BITS;

	return number < r->agent_count ? &r->agents[number] : NULL;
}

/* The value that an agent draws next; before the first, value is 0. */
static inline uint64_t region_next(const struct region *r, const struct region_agent *me)
{
	uint64_t number = (uint64_t)(me - r->agents);

	/* Relaxed: the agent's own. */
	return (pawl_load_relaxed(&me->value) | number << REGION_COUNT_BITS) + 1;
}

/* Draws a value. Relaxed: [P] orders it for a thread that reads it from arrive, [G] for one
 * that finds us gone. */
static inline uint64_t region_draw(const struct region *r, struct region_agent *me)
{
	uint64_t mine = region_next(r, me);

	pawl_store_relaxed(&me->value, mine);
	return mine;
}

/* The last steps of a lock, once it is this value's turn (M1). */
static inline void region_enter(struct region_mutex *m, struct region_agent *me,
				uint64_t mine)
{
	/* Relaxed: a thread that reads it has found us gone, [G], or departed, [A]. */
	pawl_store_relaxed(&m->owner, mine);
	pawl_store_release(&me->ahead, 0); /* [P] */
}

/*
 * Takes the mutex for the agent's next value, and returns true, if it is free and
 * consistent and no thread waits. The value is used up in any case.
 */
static inline bool region_take(struct region_mutex *m, struct region_agent *me,
			       uint64_t mine)
{
	/* Does not load arrive first: a thread that fails must write to its line anyway,
	 * to queue, and a free mutex is taken sooner. */
	uint64_t last = pawl_load_acquire(&m->depart); /* [A] */

	pawl_store_relaxed(&me->value, mine); /* Relaxed: as region_draw */
	/* Relaxed: stored by the last owner, ordered by [A]. */
	if (__builtin_expect(pawl_load_relaxed(&m->state) != MUTEX_CONSISTENT, false))
		return false;
	/* Relaxed: [P] releases it. */
	pawl_store_relaxed(&me->ahead, last);
	/* If arrive is still the value that departed, the mutex is free: values do not
	 * recur. [A] orders us after the thread that set arrive. */
	if (__builtin_expect(!pawl_cas_release(&m->arrive, last, mine), /* [P] */
			     false)) {
		/* Relaxed: no other agent's record was read since. */
		pawl_store_relaxed(&me->ahead, 0);
		return false;
	}
	region_enter(m, me, mine);
	return true;
}

/* The entry where the successor of a value waits: chosen by agent, so that a thread's
 * successors find the line in their caches; and by mutex, so that the mutexes of one
 * holder have different entries. */
static inline struct region_entry *region_entry_of(const struct region *r, unsigned index,
						   uint64_t value)
{
	uint64_t agent = value >> REGION_COUNT_BITS;

	return &r->entries[(agent + index * 17u) & r->entry_mask];
}

/* The slow path of region_wake. */
void pawl_region_wake_slow(struct region_entry *entry) __attribute__((cold));

/* Call it after a store that may end a wait at this entry. */
static inline void region_wake(const struct region *r, struct region_entry *entry)
{
	/* Relaxed: set once and never cleared. A waker that does not see it yet may miss a
	 * sleeper, which then wakes by its time limit. */
	if (__builtin_expect(pawl_load_relaxed(r->fenced) != 0, false))
		pawl_full_fence(); /* [L] */
	else
		pawl_bare_light_fence(); /* [L] */
	/* Relaxed: [L]. */
	if (__builtin_expect(pawl_load_relaxed(&entry->asleep) != 0, false))
		pawl_region_wake_slow(entry);
}

/* Ends the episode `mine` of the mutex's owner. */
static inline void region_depart(const struct region *r, struct region_mutex *m,
				 unsigned index, uint64_t mine)
{
	struct region_entry *entry = region_entry_of(r, index, mine);

	pawl_store_release(&m->depart, mine);	/* [R] M5 */
	pawl_store_release(&entry->hint, mine); /* [S] */
	region_wake(r, entry);
}

/* Requires that `mine` owns the mutex. */
static inline void region_unlock(const struct region *r, struct region_mutex *m,
				 unsigned index, uint64_t mine)
{
	/* Relaxed: only the owner accesses it (M5). */
	if (__builtin_expect(pawl_load_relaxed(&m->state) == MUTEX_INCONSISTENT, false))
		pawl_store_relaxed(&m->state, MUTEX_LOST); /* Relaxed: before [R] */
	region_depart(r, m, index, mine);
}

/* Takes an agent for the thread of this name; NULL if there are more threads than
 * agents. */
struct region_agent *pawl_region_claim(struct region *r, uint64_t name);

/* Frees an agent that owns no mutex and waits for none. */
void pawl_region_free(struct region_agent *agent);

/* Whether the agent still represents the thread that drew the value. Asks the system
 * whether that thread exists only if `ask`: that takes microseconds. */
bool pawl_region_lives(struct region_agent *agent, uint64_t value, bool ask);

/*
 * Mutexes. Return 0 or EOWNERDEAD, with the mutex held; or ENOTRECOVERABLE; or EBUSY from
 * try, ETIMEDOUT from lock. A lock that returns ETIMEDOUT has abandoned its agent, so with a
 * deadline the agent must own no mutex.
 */
int pawl_region_try(struct region *r, struct region_agent *me, unsigned index);
int pawl_region_lock(struct region *r, struct region_agent *me, unsigned index,
		     const struct pawl_deadline *deadline);

/* Whether the thread of this name owns the mutex, by any of its agents. */
bool pawl_region_owns(const struct region *r, uint64_t name, unsigned index);
/* Whether the agent owns any mutex. */
bool pawl_region_holds(const struct region *r, const struct region_agent *agent);
/* Requires the caller to own the mutex. 0, or EINVAL: it was consistent. */
int pawl_region_consistent(struct region *r, unsigned index);

#endif /* PAWL_SHARED_REGION_H */
