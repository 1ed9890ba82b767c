/* SPDX-License-Identifier: MIT */
/*
 * A region of memory shared by processes, from the inside: its layout, its
 * agents and its mutexes. docs/design/shared.md has the protocol at length.
 *
 * The region holds no address. A mutex and an agent are known by their numbers,
 * a moment in the life of a mutex by a value:
 *
 *   V1  A value is drawn once in the life of the region. Its high bits are the
 *       number of the agent that drew it, its low bits count that agent's draws,
 *       whoever the agent stood for at the time. 0 is nobody's.
 *   V2  An agent stands for one thread. It is gone if its thread is, or has left
 *       it behind, or if the value in question is older than the thread (first).
 *
 * A mutex is (arrive, depart, owner, state); it is free iff arrive == depart.
 * An agent that draws v publishes (value, ahead) = (v, x) and then moves arrive
 * from x to v by compare-and-swap, so whoever comes to wait for v can see for
 * whom v waited: there is no moment at which that is known to v's thread alone.
 *
 *   M1  v owns the mutex once depart is what ahead says, or ahead died owning
 *       it. It then stores owner = v, and only then ahead = 0.
 *   M2  At most one living thread waits for v: that whose ahead is v. The others
 *       in the queue wait for it, directly or not.
 *   M3  Who waits for v and finds v gone looks at the mutex: depart == v, it is
 *       over; owner == v, it died inside; else it died waiting, and who waits
 *       for v waits for v's ahead from now on, and publishes that.
 *   M4  The record (value, ahead) of an agent that is gone stays as it is while
 *       anybody can come to look at it: while arrive is its value, or somebody's
 *       ahead is. Only then may another thread have the agent. Claims of such
 *       agents are counted, so that no look for who names a value misses one
 *       that moved from a record, then reused, to one already looked at.
 *   M5  Only the owner writes owner, state and depart.
 *
 * Orders, here, in shared/lock.c, shared/agents.c and shared/shared.c:
 *   [A] pairs with [R], and [B] pairs with [S]: a section happens before the next one.
 *   [P] pairs with [P]: who reads a value from arrive sees its record, too.
 *   [G] pairs with [W]: who finds an agent left or taken over sees all that was
 *       done in its name; of a thread that was killed the system says so.
 *   [C] pairs with [C]: who claims an agent sees what the claims before it were made on,
 *       and nothing of those after it.
 *   [K] pairs with [L]: of a sleeper and a waker at least one sees the other.
 */
#ifndef PAWL_SHARED_REGION_H
#define PAWL_SHARED_REGION_H

#include "os/os.h"

#include <pawl/atomic.h>

enum {
	REGION_AGENTS_MAX = 1 << 12, /* as many as the high bits can tell apart */
	REGION_COUNT_BITS = 52,
};

/* What stands in agent.who if not the name of a thread, which is never these. */
enum { AGENT_FREE = 0, AGENT_LEFT = 1 };

struct region_agent {
	__attribute__((aligned(64))) pawl_atomic64 who;
	pawl_atomic64 first; /* V2: the first value of this thread's */
	pawl_atomic64 value; /* the last one drawn; 0: none yet */
	pawl_atomic64 ahead; /* whose departure that one awaits; 0 if nobody's */
	pawl_atomic64 user;  /* process and attachment; for its own process */
};

enum mutex_state { MUTEX_CONSISTENT, MUTEX_INCONSISTENT, MUTEX_LOST };

struct region_mutex {
	__attribute__((aligned(64))) pawl_atomic64 arrive; /* the last to queue */
	pawl_atomic64 depart;				   /* the last to leave */
	pawl_atomic64 owner;				   /* the last that entered */
	pawl_atomic64 state;
};

/* Where somebody waits: the waiting array has one for a few values each. */
struct region_entry {
	__attribute__((aligned(64))) pawl_atomic64 hint; /* a value that departed */
	pawl_atomic64 asleep;				 /* 1: somebody may sleep here */
	pawl_atomic64 wakes; /* what sleepers sleep on: counts wake-ups */
};

/* A region as one process sees it. */
struct region {
	pawl_atomic64 *fenced; /* 1: some process has no barrier over processes */
	pawl_atomic64 *claims; /* of agents whose threads were gone; M4 */
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

/* The value that an agent draws next; the first time it has only its number. */
static inline uint64_t region_next(const struct region *r, const struct region_agent *me)
{
	uint64_t number = (uint64_t)(me - r->agents);

	/* Relaxed: its own. */
	return (pawl_load_relaxed(&me->value) | number << REGION_COUNT_BITS) + 1;
}

/* Draws a value. Relaxed: seen by who reads it from arrive, or finds us gone. */
static inline uint64_t region_draw(const struct region *r, struct region_agent *me)
{
	uint64_t mine = region_next(r, me);

	pawl_store_relaxed(&me->value, mine);
	return mine;
}

/* The last steps into a mutex, once it is ours: M1. */
static inline void region_enter(struct region_mutex *m, struct region_agent *me,
				uint64_t mine)
{
	/* Relaxed: who looks for it has found us gone, [G], or departed, [A]. */
	pawl_store_relaxed(&m->owner, mine);
	pawl_store_release(&me->ahead, 0); /* [P] */
}

/*
 * Takes the mutex for the agent's next value, and returns true, if it is free,
 * well and nobody waits. The value is used up in any case.
 */
static inline bool region_take(struct region_mutex *m, struct region_agent *me,
			       uint64_t mine)
{
	/* Does not look at arrive first: who comes in vain must write to its line
	 * anyway, to queue, and a free mutex is had sooner. */
	uint64_t last = pawl_load_acquire(&m->depart); /* [A] */

	pawl_store_relaxed(&me->value, mine); /* Relaxed: as region_draw */
	/* Relaxed: the state that the last owner left, by [A]. */
	if (__builtin_expect(pawl_load_relaxed(&m->state) != MUTEX_CONSISTENT, false))
		return false;
	/* Relaxed: the swap releases it. */
	pawl_store_relaxed(&me->ahead, last);
	/* arrive is still what has departed, and values do not recur: free. Who
	 * moved arrive there was seen by [A]. */
	if (__builtin_expect(!pawl_cas_release(&m->arrive, last, mine), /* [P] */
			     false)) {
		/* Relaxed: nobody's record was looked at since. */
		pawl_store_relaxed(&me->ahead, 0);
		return false;
	}
	region_enter(m, me, mine);
	return true;
}

/* Where the successor of a value waits: by agent, so that a thread's successors
 * find the line in their caches; by mutex, so that who holds two has two. */
static inline struct region_entry *region_entry_of(const struct region *r, unsigned index,
						   uint64_t value)
{
	uint64_t agent = value >> REGION_COUNT_BITS;

	return &r->entries[(agent + index * 17u) & r->entry_mask];
}

/* The rest of region_wake. */
void pawl_region_wake_slow(struct region_entry *entry) __attribute__((cold));

/* Follows a store that may end somebody's wait at this entry. */
static inline void region_wake(const struct region *r, struct region_entry *entry)
{
	/* Relaxed: set for good. Who does not see it yet may miss a sleeper,
	 * which then looks for itself after a while. */
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
	/* Relaxed: the owner's (M5). */
	if (__builtin_expect(pawl_load_relaxed(&m->state) == MUTEX_INCONSISTENT, false))
		pawl_store_relaxed(&m->state, MUTEX_LOST); /* Relaxed: before [R] */
	region_depart(r, m, index, mine);
}

/* Finds an agent for the thread of this name, or returns NULL: there are more
 * threads than agents. */
struct region_agent *pawl_region_claim(struct region *r, uint64_t name);

/* Gives one back that holds nothing and waits for nothing. */
void pawl_region_free(struct region_agent *agent);

/* Whether the agent still stands for the thread that drew the value. Asks the
 * system only if told to: that takes microseconds. */
bool pawl_region_lives(struct region_agent *agent, uint64_t value, bool ask);

/*
 * Mutexes. Return 0 or EOWNERDEAD, with the mutex held; or ENOTRECOVERABLE;
 * or EBUSY from try, ETIMEDOUT from lock. A lock with a deadline may leave its
 * agent behind, which must hold nothing: it does so if it returns ETIMEDOUT.
 */
int pawl_region_try(struct region *r, struct region_agent *me, unsigned index);
int pawl_region_lock(struct region *r, struct region_agent *me, unsigned index,
		     const struct pawl_deadline *deadline);

/* Whether the thread of this name owns the mutex; through any of its agents. */
bool pawl_region_owns(const struct region *r, uint64_t name, unsigned index);
/* Whether the agent owns any mutex at all. */
bool pawl_region_holds(const struct region *r, const struct region_agent *agent);
/* Requires the caller to own the mutex. 0, or EINVAL: it was consistent. */
int pawl_region_consistent(struct region *r, unsigned index);

#endif /* PAWL_SHARED_REGION_H */
