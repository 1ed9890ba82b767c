/* SPDX-License-Identifier: MIT */
/*
 * The parking table from the inside, for whoever puts sleepers into its buckets.
 * See pawl/park.h for the protocol.
 */
#ifndef PAWL_SLEEP_PARKING_H
#define PAWL_SLEEP_PARKING_H

#include "os/os.h"

#include <pawl/park.h>

struct pawl_mutex;

enum sleeper_state {
	SLEEPER_WAITING, /* awake, and looks at its state */
	SLEEPER_ASLEEP,	 /* or about to be: who tells it must wake it */
	SLEEPER_WOKEN,	 /* must look for itself */
	SLEEPER_GRANTED	 /* owns what it was waiting for; it is off the list */
};

/*
 * A waiting thread, on its stack. All but `state` belongs to the bucket's lock
 * while it is in the list, and to whoever took it off the list after that.
 * Others change state by pawl_sleeper_tell alone, which is the last thing that
 * they do to a sleeper (P3).
 */
struct pawl_sleeper {
	pawl_atomic64 state;
	const volatile void *address; /* what it waits on */
	struct pawl_sleeper *next, *previous;
	uint64_t arrival;	  /* how many had come to the bucket by then */
	bool counted;		  /* in the bucket's `wanted` */
	enum pawl_until until;	  /* pawl_park_'s only */
	uint64_t value;		  /* pawl_park_'s only */
	uint64_t identity;	  /* pawl_mutex's: the owner, should it be granted */
	struct pawl_mutex *mutex; /* pawl_cond's only: which one it wants back, or
				   * NULL: it then is simply woken */
	/* On record (sync/jumps.c): the wait that a signal handler interrupted, inside
	 * which this one is; and how a jump withdraws this one. Volatile for handlers. */
	struct pawl_sleeper *volatile outer;
	void (*abandon)(struct pawl_sleeper *);
	bool taken;	/* pawl_cond's only: off its list, and about to be told */
	uint64_t since; /* pawl_cond's only: when it came, on the clock */
	uint64_t told;	/* and when it was woken, if it was */
};

/* A lock in one word, for a bucket; see guard.c. */
void pawl_guard_lock(pawl_atomic64 *guard);
/* As lock; false if that took longer than ns nanoseconds. */
bool pawl_guard_lock_for(pawl_atomic64 *guard, uint64_t ns);
void pawl_guard_unlock(pawl_atomic64 *guard);

/*
 * A section that a signal handler may interrupt, but must not jump out of: it would keep a
 * lock, or leave another thread without its wake-up. May be nested. Between lock and unlock
 * of a bucket a thread is in one. The third returns the outermost frame of the one that
 * the calling thread is in, or NULL.
 */
void pawl_critical_enter(void);
void pawl_critical_leave(void);
const void *pawl_critical_frame(void);

void pawl_bucket_lock(struct pawl_bucket *bucket);
void pawl_bucket_unlock(struct pawl_bucket *bucket);

/* The following require the bucket's lock. */

/* The first sleeper at or after `from` that waits on this address, or NULL. */
struct pawl_sleeper *pawl_bucket_find(struct pawl_sleeper *from,
				      const volatile void *address);
void pawl_bucket_append(struct pawl_bucket *bucket, struct pawl_sleeper *sleeper);
void pawl_bucket_remove(struct pawl_bucket *bucket, struct pawl_sleeper *sleeper);
/* Makes wakers look (P2), or no longer, for this sleeper. */
void pawl_bucket_count(struct pawl_bucket *bucket, struct pawl_sleeper *sleeper);
void pawl_bucket_uncount(struct pawl_bucket *bucket, struct pawl_sleeper *sleeper);

/* The waker's second look, in the slow path: false if nobody is counted. */
bool pawl_parked_really(const struct pawl_bucket *bucket);

/*
 * The sleeper's side of P1, between counting itself and its last look at the
 * word. Returns false where only bounded sleeps are safe: the system has refused
 * the heavy fence, not long ago, and a waker may have slipped by before.
 */
bool pawl_park_fence(void);

/* Sleeps until somebody has told it something; false if the deadline passed
 * first. Nobody can tell before, or after, but under the bucket's lock. */
bool pawl_sleep(struct pawl_sleeper *sleeper, const struct pawl_deadline *deadline);

/* Tells a sleeper WOKEN or GRANTED, and returns true if it must be woken with
 * pawl_os_wake(&sleeper->state), which may wait until locks are gone. */
bool pawl_sleeper_tell(struct pawl_sleeper *sleeper, enum sleeper_state state);

/* Turns what callers pass into a deadline; 0, or EINVAL. */
int pawl_deadline_at(struct pawl_deadline *deadline, int clock,
		     const struct timespec *time);

/* As pawl_park_, for so many nanoseconds at most, or a little more. */
void pawl_park_for(const pawl_atomic64 *w, enum pawl_until until, uint64_t value,
		   uint64_t ns);

/* A deadline this many nanoseconds from now. */
struct pawl_deadline pawl_deadline_in(uint64_t ns);

/* Empties the table, in the child of a fork. */
void pawl_park_forget(void);

#endif /* PAWL_SLEEP_PARKING_H */
