/* SPDX-License-Identifier: MIT */
/*
 * The parking table from the inside, for the slow halves that queue sleepers in it.
 * See pawl/park.h for the protocol between sleepers and wakers.
 *
 * A sleeper is in the queue of its address: behind the sleepers of the same or a higher
 * real-time priority, in order of arrival. The queues of a bucket are the addresses
 * that hash to it: finding one costs a step per address, however many threads sleep on
 * each. A bucket with more than PAWL_PARK_CROWD addresses makes the table grow.
 *
 * Order: [U] pairs with [J] of sleep/copies.c: a thread that knows that its copy has joined
 * finds the process's parking. [X] pairs with [T] of sleep/park.c: a thread that finds a
 * table finds it filled.
 */
#ifndef PAWL_SLEEP_PARKING_H
#define PAWL_SLEEP_PARKING_H

#include "os/os.h"

#include <pawl/park.h>

struct pawl_mutex;

enum sleeper_state {
	SLEEPER_WAITING, /* awake, and looks at its state */
	SLEEPER_ASLEEP,	 /* or about to be: a waker must make the system call */
	SLEEPER_WOKEN,	 /* must look for itself */
	SLEEPER_GRANTED	 /* owns what it was waiting for; it is off its queue */
};

/*
 * A waiting thread, on its stack. While it is queued, all but `state` belongs to the
 * bucket's lock; after that, to the thread that took it off its queue. Other threads
 * change state by pawl_sleeper_notify alone, which is their last access to it (P3).
 */
struct pawl_sleeper {
	pawl_atomic64 state;
	const volatile void *address; /* what it waits on: this is its queue */
	/* What chooses its bucket and its cell of the filter, if not the address: so that
	 * two queues of one lock are under one bucket's lock. NULL: the address. */
	const volatile void *key;
	struct pawl_sleeper *next, *previous; /* in its queue */
	uint64_t arrival;	  /* how many had come to the bucket by then */
	bool counted;		  /* in its cell's `wanted` */
	enum pawl_until until;	  /* pawl_park_'s only */
	uint64_t value;		  /* pawl_park_'s only */
	uint64_t identity;	  /* pawl_mutex's: the owner, should it be granted */
	struct pawl_mutex *mutex; /* pawl_cond's only: which one it wants back, or
				   * NULL: it then is simply woken */
	/* On record (sync/jumps.c): the wait that a signal handler interrupted, inside
	 * which this one is; and how a jump withdraws this one. Volatile for handlers. */
	struct pawl_sleeper *volatile outer;
	void (*abandon)(struct pawl_sleeper *);
	volatile bool acquired; /* by then it has what it waited for */
	bool taken;	   /* pawl_cond's only: off its list, and about to be woken */
	bool foreign_cond; /* pawl_cond's only: it is glibc's, and must not be written */
	bool yields;	   /* pawl_rwlock's writers only: readers may pass it */
	unsigned priority; /* real-time, if its place depends on it; or 0 */
	uint64_t since;	   /* pawl_cond's only: when it came, on the clock */
	uint64_t told;	   /* and when it was woken, if it was */
	/* Of the first in its queue: the last; and the first of the bucket's other queues. Away
	 * from `state`, which a head polls while arrivals change these. */
	struct pawl_sleeper *last, *next_queue, *previous_queue;
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

struct pawl_bucket {
	/* Guards the rest, and the queues. */
	__attribute__((aligned(64))) pawl_atomic64 lock;
	/* On a line of its own: threads poll the lock while its holder changes these. The
	 * first of its queues, each by its first sleeper. */
	__attribute__((aligned(64))) struct pawl_sleeper *first;
	/* A bit for each key that was queued here since the bucket was last empty: may be
	 * set for nothing, must never be missing. Also read without the lock. */
	pawl_atomic64 keys;
	uint64_t arrivals; /* so far */
	bool crowded;	   /* the table should grow */
};

struct pawl_parking_table {
	uint64_t multiplier; /* of the hash: odd, and different in every process */
	unsigned bits;	     /* log2 of the number of buckets */
	struct pawl_bucket *buckets;
};

/* A copy of the library, in the list of those whose filters sleepers count in. */
struct pawl_parking_copy {
	struct pawl_filter *filter;
	struct pawl_parking_copy *next;
};

/* All that is one per process; copies.c says how the copies of the library share it. */
struct pawl_parking {
	pawl_atomic64 table; /* the current pawl_parking_table; 0 before the first use */
	pawl_atomic64 growing; /* the lock of a thread that changes `table` or `copies` */
	pawl_atomic64 fence_bias;      /* see park.c */
	pawl_atomic64 raising, raised; /* likewise */
	struct pawl_parking_copy *copies;
	struct pawl_parking_table first;
	struct pawl_bucket first_buckets[1 << PAWL_BUCKET_BITS];
};

/* Where it is, once this copy has joined. */
extern struct pawl_parking *pawl_process_parking;
extern pawl_atomic64 pawl_park_joined;

/* Makes this copy one of those that the process's sleepers count in, if it is not one. */
void pawl_park_join(void) __attribute__((cold));
/* When this copy is unloaded: not any longer. */
void pawl_park_leave(void);

static inline struct pawl_parking *pawl_parking(void)
{
	/* In most simulations there is one copy: a load of a constant is a step less. */
	if (PAWL_PARK_JOINS &&
	    __builtin_expect(pawl_load_acquire(&pawl_park_joined) == 0, false)) /* [U] */
		pawl_park_join();
	return pawl_process_parking;
}

/* The current table; NULL before the first use. */
static inline struct pawl_parking_table *pawl_parking_table(struct pawl_parking *parking)
{
	if (!PAWL_PARK_GROWS) /* likewise */
		return &parking->first;
	return (struct pawl_parking_table *)pawl_pointer(
		pawl_load_acquire(&parking->table)); /* [X] */
}

/* Around a change of `table`. Signals are blocked: a handler may want a bucket. */
uint64_t pawl_parking_change(struct pawl_parking *parking);
void pawl_parking_changed(struct pawl_parking *parking, uint64_t signals);

/* Adds to the cell of a key in the filters of all copies: every change of P2's count.
 * Requires the lock of a bucket. */
void pawl_filters_add(const volatile void *key, uint64_t n);
/* From now on every waker takes the slow path, and passes a full fence. */
void pawl_filters_raise(struct pawl_parking *parking);
/* In the child of a fork: no thread sleeps, nor changes anything. */
void pawl_filters_forget(struct pawl_parking *parking);

/* Locks the bucket of a key, which is its user's until unlock. A thread locks one at a
 * time. */
struct pawl_bucket *pawl_bucket_lock(const volatile void *key);
/* May make the table grow. */
void pawl_bucket_unlock(struct pawl_bucket *bucket);

/* Without a lock: false if no thread is queued under this key, of those that the caller
 * knows to have queued. */
bool pawl_may_be_parked(const volatile void *key);

/* The following require the bucket's lock. */

/* The first sleeper of an address, or NULL; its `last` is the last. */
struct pawl_sleeper *pawl_bucket_find(const struct pawl_bucket *bucket,
				      const volatile void *address);
void pawl_bucket_enqueue(struct pawl_bucket *bucket, struct pawl_sleeper *sleeper);
void pawl_bucket_remove(struct pawl_bucket *bucket, struct pawl_sleeper *sleeper);

/* What chooses the bucket and the cell of a sleeper. */
const volatile void *pawl_sleeper_key(const struct pawl_sleeper *sleeper);
/* Makes wakers look (P2), or no longer, for this sleeper, which is queued. */
void pawl_sleeper_count(struct pawl_sleeper *sleeper);
void pawl_sleeper_uncount(struct pawl_sleeper *sleeper);

/* The waker's second look, in the slow path: false if no sleeper is counted. */
bool pawl_parked_really(const volatile void *key);

/*
 * The sleeper's side of P1, between counting itself and its last look at the
 * word. Returns false where only bounded sleeps are safe: the system has refused
 * the heavy fence, not long ago, and a waker may have slipped by before.
 */
bool pawl_park_fence(void);

/* Sleeps until a waker has changed its state; false if the deadline passed first. Wakers
 * do so under the bucket's lock only. */
bool pawl_sleep(struct pawl_sleeper *sleeper, const struct pawl_deadline *deadline);

/* Makes a sleeper WOKEN or GRANTED, and returns true if it needs a system call as well:
 * pawl_os_wake(&sleeper->state), which may wait until locks are gone. */
bool pawl_sleeper_notify(struct pawl_sleeper *sleeper, enum sleeper_state state);

/* Turns what callers pass into a deadline; 0, or EINVAL. */
int pawl_deadline_at(struct pawl_deadline *deadline, int clock,
		     const struct timespec *time);

/* As pawl_park_, for so many nanoseconds at most, or a little more. */
void pawl_park_for(const pawl_atomic64 *w, enum pawl_until until, uint64_t value,
		   uint64_t ns);

/* A deadline this many nanoseconds from now. */
struct pawl_deadline pawl_deadline_in(uint64_t ns);

/* Takes all sleepers of an address off its queue, whose memory begins a new life: their
 * own address is NULL then. Locks nothing where none waits. */
void pawl_park_drop(const volatile void *key, const volatile void *address);

/* Empties the table, in the child of a fork. */
void pawl_park_forget(void);

#endif /* PAWL_SLEEP_PARKING_H */
