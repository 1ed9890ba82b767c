/* SPDX-License-Identifier: MIT */
/* pawl_rwlock from the inside: what its readers and its writers share. */
#ifndef PAWL_SYNC_RWLOCKS_H
#define PAWL_SYNC_RWLOCKS_H

#include "sync/queues.h"
#include "sync/reads.h"

enum { SLOTS = 1 << PAWL_READS_BITS };

/* What `barred` is made of. Hints, kept by who is inside. */
enum {
	QUIET = 1, /* credit for looks that found nothing written */
	QUIET_MOST = 7,
	QUIET_LOW = 3,	/* with no more than that a fenced one earns some, */
	QUIET_MORE = 4, /* so much, by two looks */
	DOUBLING = 8,	/* one of those that count */
	TIME = 64	/* from here on it is the time */
};

/* What lets readers in by their records. */
enum { RECORDS = PAWL_RWLOCK_BIASED | PAWL_RWLOCK_FENCED };

static inline uint64_t quiet_of(uint64_t barred)
{
	return barred % DOUBLING;
}

/* Where the writer that has the gate waits for readers. */
static inline const volatile void *drain_of(const struct pawl_rwlock *l)
{
	return &l->word;
}

/* Where readers queue, in the gate's bucket. */
static inline const volatile void *line_of(const struct pawl_rwlock *l)
{
	return &l->barred;
}

/* The lock that has this place in it. */
static inline struct pawl_rwlock *lock_of(const volatile void *place, size_t offset)
{
	return (struct pawl_rwlock *)pawl_pointer(pawl_address(place) - offset);
}

/* Sleeps for so long, or until the deadline; true if that has come. */
bool pawl_rwlock_doze(uint64_t ns, const struct pawl_deadline *deadline);

/*
 * One sleep of a thread that is counted in its cell, and has looked since; `sure`:
 * who would wake it sees that. False if it is late.
 */
bool pawl_rwlock_sleep(struct pawl_sleeper *me, bool sure,
		       const struct pawl_deadline *deadline);

/*
 * For locks that prefer readers. A reader passes a writer that waits: at once if it has a
 * real-time priority, and else when it has polled and dozed in vain. 0, or ETIMEDOUT.
 */
int pawl_rwlock_read_first(struct pawl_rwlock *l, pawl_atomic64 *announced,
			   const struct pawl_deadline *deadline);
/* Reads if no writer is inside. */
bool pawl_rwlock_read_past(struct pawl_rwlock *l);
/* Waits until it writes, and lets readers pass meanwhile: 0, or ETIMEDOUT. `has_gate`: the
 * caller has taken the gate, and then found readers or a form. */
int pawl_rwlock_yield_write(struct pawl_rwlock *l, bool has_gate,
			    const struct pawl_deadline *deadline);

/* Lets go of the gate, as one who has not written. */
void pawl_rwlock_leave_gate(struct pawl_rwlock *l);

/* Drops the sleepers that wait for *l from their queues: they find their address NULL. */
void pawl_rwlock_drop_waiters(struct pawl_rwlock *l);

/* Whether a sleeper was dropped so. Requires the bucket's lock, or that it sleeps no more. */
static inline bool is_dropped(const struct pawl_sleeper *me)
{
	return me->address == NULL;
}

#endif /* PAWL_SYNC_RWLOCKS_H */
