/* SPDX-License-Identifier: MIT */
/*
 * The mutex between processes. See region.h for V1, V2, M1 to M5 and the
 * orders. pawl check runs this file and agents.c as they are, with threads
 * that are killed at every step.
 */
#include "shared/region.h"

#include "os/shared.h"

#include <pawl/thread.h>

#include <errno.h>

/* A waiter polls this long before it sleeps: about what the sleep would cost. */
enum { SPIN_NS = 4000 };
/* It sleeps for this long before it asks the system whether its predecessor's thread still
 * exists; twice as long each time, up to the second. */
enum { FIRST_LOOK_NS = 4 * 1000 * 1000, LAST_LOOK_NS = 64 * 1000 * 1000 };

enum turn {
	TURN_WAIT, /* wait for `ahead`, whose thread exists */
	TURN_FREE, /* ahead has departed */
	TURN_DEAD, /* ahead died as the owner */
	TURN_LOST, /* inconsistent: corrupt, or the queue has changed meanwhile */
};

/*
 * Follows *ahead past waiters that died (M3). Ends: the walk goes back in the order of
 * arrival, and meets no agent twice.
 */
static enum turn look(struct region *r, struct region_mutex *m, uint64_t *ahead, bool ask)
{
	unsigned steps;

	for (steps = 0; steps <= r->agent_count; steps++) {
		struct region_agent *agent = region_agent_of(r, *ahead);
		uint64_t further;

		if (agent == NULL)
			return TURN_LOST;
		if (pawl_load_acquire(&m->depart) == *ahead) /* [A] */
			return TURN_FREE;
		if (pawl_region_lives(agent, *ahead, ask))
			return TURN_WAIT;
		/* Again. Relaxed, both: only this agent's thread stored either, and all its
		 * stores happened before, by [G]. */
		if (pawl_load_relaxed(&m->depart) == *ahead)
			return TURN_FREE;
		if (pawl_load_relaxed(&m->owner) == *ahead) /* Relaxed: likewise */
			return TURN_DEAD;
		/* Relaxed, both: for a waiter, which has published *ahead, the record does
		 * not change (M4); a trylock may read that of a later thread, but then its
		 * compare-and-swap of arrive fails. */
		further = pawl_load_relaxed(&agent->ahead);
		if (pawl_load_relaxed(&agent->value) != *ahead) /* Relaxed: likewise */
			return TURN_LOST;
		*ahead = further;
	}
	return TURN_LOST;
}

void pawl_region_wake_slow(struct region_entry *entry)
{
	/* asleep is cleared before wakes is incremented: a sleeper whose mark this clears
	 * had read wakes before, and finds it changed. */
	if (pawl_exchange_acquire(&entry->asleep, 0) == 0) /* [K] */
		return;
	/* Release: a sleeper that reads the new count sets asleep after we cleared it. */
	pawl_fetch_add_release(&entry->wakes, 1); /* [K] */
	pawl_os_wake_shared(&entry->wakes);
}

/* Enters the mutex, which is this thread's turn by `turn`; departs again if it is lost. A
 * corrupt mutex is lost from now on, and departs too: successors must not wait for us. */
static int enter(struct region *r, struct region_agent *me, unsigned index, uint64_t mine,
		 enum turn turn)
{
	struct region_mutex *m = &r->mutexes[index];
	/* Relaxed: only owners write it (M5), and we see the last one's writes. */
	bool lost = turn == TURN_LOST || pawl_load_relaxed(&m->state) == MUTEX_LOST;

	/* Relaxed, here and below: before the owner, in region_enter. */
	if (lost)
		pawl_store_relaxed(&m->state, MUTEX_LOST);
	else if (turn == TURN_DEAD)
		pawl_store_relaxed(&m->state, MUTEX_INCONSISTENT);
	region_enter(m, me, mine);
	if (lost) {
		region_depart(r, m, index, mine);
		return ENOTRECOVERABLE;
	}
	return turn == TURN_DEAD ? EOWNERDEAD : 0;
}

int pawl_region_try(struct region *r, struct region_agent *me, unsigned index)
{
	struct region_mutex *m = &r->mutexes[index];
	uint64_t last, ahead, mine;
	enum turn turn;

	last = ahead = pawl_load_acquire(&m->arrive); /* [P] */
	turn = look(r, m, &ahead, true);
	if (turn == TURN_WAIT)
		return EBUSY;
	if (turn == TURN_LOST)
		/* While arrive does not change, neither do the records that were read (M4).
		 * A read-modify-write, because a load could return a stale value; relaxed,
		 * because nothing else is read after it. */
		return pawl_cas_relaxed(&m->arrive, last, last) ? ENOTRECOVERABLE : EBUSY;
	mine = region_draw(r, me);
	/* Relaxed: [P] releases it, and reads the value of arrive that we read above. */
	pawl_store_relaxed(&me->ahead, ahead);
	if (!pawl_cas_release(&m->arrive, last, mine)) { /* [P] */
		/* Relaxed: no other agent's record was read since. */
		pawl_store_relaxed(&me->ahead, 0);
		return EBUSY;
	}
	/* arrive had not changed, so no thread came between: still our turn (M2). */
	return enter(r, me, index, mine, turn);
}

/* The caller's next look sees the departure that this has seen, so its loop does not
 * spin. */
static bool departed(const struct region_mutex *m, const struct region_entry *entry,
		     uint64_t value)
{
	return pawl_load_acquire(&entry->hint) == value || /* [B] */
	       pawl_load_relaxed(&m->depart) == value;	   /* Relaxed: the same word */
}

/* Waits for `ahead` to depart or to time out, for a bounded time; the caller then checks
 * again. */
static enum pawl_wake rest(struct region *r, unsigned index, uint64_t ahead,
			   const struct pawl_deadline *deadline, uint64_t ns)
{
	struct region_mutex *m = &r->mutexes[index];
	struct region_entry *entry = region_entry_of(r, index, ahead);
	struct region_agent *agent = region_agent_of(r, ahead);
	struct pawl_spin spin;
	uint64_t wakes;

	pawl_spin_begin(&spin, SPIN_NS);
	while (pawl_spin_again(&spin))
		if (departed(m, entry, ahead))
			return PAWL_WOKEN;
	wakes = pawl_load_acquire(&entry->wakes); /* [K] */
	/* Relaxed: [K] below. */
	pawl_store_relaxed(&entry->asleep, 1);
	if (!pawl_os_barrier_all()) /* [K] */
		/* Relaxed: a waker that misses it may miss us, and we wake by time. */
		pawl_store_relaxed(r->fenced, 1);
	if (departed(m, entry, ahead) || !pawl_region_lives(agent, ahead, false))
		return PAWL_WOKEN;
	return pawl_os_sleep_shared(&entry->wakes, (uint32_t)wakes, deadline, ns);
}

int pawl_region_lock(struct region *r, struct region_agent *me, unsigned index,
		     const struct pawl_deadline *deadline)
{
	struct region_mutex *m = &r->mutexes[index];
	uint64_t mine = region_draw(r, me), ahead, published, ns = FIRST_LOOK_NS;
	enum pawl_wake woken = PAWL_WOKEN;
	enum turn turn;

	/* Not an exchange: our predecessor must be published before another thread can
	 * wait for us. Ends: each failure is another thread's arrival. */
	do {
		/* Relaxed, both: [P] reads the same value, and releases ahead. */
		published = pawl_load_relaxed(&m->arrive);
		pawl_store_relaxed(&me->ahead, published);
	} while (!pawl_cas_acq_rel(&m->arrive, published, mine)); /* [P] */

	/* Ends: each predecessor departs, or is found gone, and then the one before it;
	 * their number is bounded, and no thread comes between. */
	ahead = published;
	while ((turn = look(r, m, &ahead, woken != PAWL_WOKEN)) == TURN_WAIT) {
		if (ahead != published) {
			pawl_store_release(&me->ahead, ahead); /* [P] M3 */
			published = ahead;
		}
		if (woken == PAWL_LATE) {
			/* As if we had died: our successor then waits for our
			 * predecessor. */
			pawl_store_release(&me->who, AGENT_LEFT); /* [W] */
			region_wake(r, region_entry_of(r, index, mine));
			return ETIMEDOUT;
		}
		woken = rest(r, index, ahead, deadline, ns);
		if (woken == PAWL_LOOK && ns < LAST_LOOK_NS)
			ns *= 2;
	}
	return enter(r, me, index, mine, turn);
}

/* The agent that owns the mutex; reliable if it is one of the calling thread's. */
static const struct region_agent *owner_of(const struct region *r, unsigned index)
{
	const struct region_mutex *m = &r->mutexes[index];
	/* In this order: a thread that departed after us had stored owner before. */
	uint64_t last = pawl_load_acquire(&m->depart); /* [A] */
	/* Relaxed, here and below: a thread sees its own stores. */
	uint64_t owner = pawl_load_relaxed(&m->owner);
	const struct region_agent *agent = region_agent_of(r, owner);

	if (agent == NULL || owner < pawl_load_relaxed(&agent->first) || owner == last)
		return NULL;
	return agent;
}

bool pawl_region_owns(const struct region *r, uint64_t name, unsigned index)
{
	const struct region_agent *agent = owner_of(r, index);

	/* Relaxed: as in owner_of. */
	return agent != NULL && pawl_load_relaxed(&agent->who) == name;
}

bool pawl_region_holds(const struct region *r, const struct region_agent *agent)
{
	unsigned i;

	for (i = 0; i < r->mutex_count; i++)
		if (owner_of(r, i) == agent)
			return true;
	return false;
}

int pawl_region_consistent(struct region *r, unsigned index)
{
	struct region_mutex *m = &r->mutexes[index];

	/* Relaxed: only the owner accesses it (M5). */
	if (pawl_load_relaxed(&m->state) != MUTEX_INCONSISTENT)
		return EINVAL;
	pawl_store_relaxed(&m->state, MUTEX_CONSISTENT);
	return 0;
}
