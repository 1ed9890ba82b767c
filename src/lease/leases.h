/* SPDX-License-Identifier: MIT */
/*
 * Leases from the inside: what lease.c, the state machine, asks of the rest,
 * which handle.c supplies on real hardware and sim/ in the simulator.
 */
#ifndef PAWL_LEASE_LEASES_H
#define PAWL_LEASE_LEASES_H

#include "os/os.h"

#include <pawl/lease.h>
#include <pawl/shards.h>

enum {
	/* In a word's cpu: bound to a thread only, so that nobody ever finds
	 * himself there. And: somebody drains it, so that nobody may settle it;
	 * one for each generation, modulo this many. */
	LEASE_NOWHERE = (1 << PAWL_LEASE_CPU_BITS) - 1,
	LEASE_GENERATIONS = 256,
	LEASE_DRAINING = LEASE_NOWHERE - LEASE_GENERATIONS,
	LEASE_CPUS = LEASE_DRAINING, /* real ones are below this */
	/* A drained lease's lessee; and a word that is drained. */
	LEASE_NOBODY = (1 << PAWL_LEASE_LESSEE_BITS) - 1,
	LEASE_DRAINED = PAWL_LEASE_LIMBO << PAWL_LEASE_STATE_SHIFT | LEASE_NOBODY,
	/* One that sequences use, and one that they used (I8). So there are as many handles
	 * at most. */
	LEASE_ANYBODY = PAWL_LEASE_ANYBODY,
	LEASE_FORMERLY = LEASE_ANYBODY - 1,
	LEASE_HANDLES = LEASE_FORMERLY,
};

/* Indices of a handle's counts. */
enum lease_count {
	LEASE_TAKEOVERS,
	LEASE_FINISHES,
	LEASE_BREAKS,
	LEASE_HOSTAGES,
	LEASE_NESTINGS,
	LEASE_POISONINGS
};
void pawl_lease_count(struct pawl_lease_handle *h, enum lease_count what);
/* Adds up what all handles ever made have counted; returns how many they are. */
unsigned pawl_lease_sums(uint64_t sums[PAWL_LEASE_COUNTS]);

/* The handle that lease words call id; id is not NOBODY. */
struct pawl_lease_handle *pawl_lease_handle_of(uint64_t id);
/* Lets a thread that comes later have the handle; its flag is 0. */
void pawl_lease_handle_free(struct pawl_lease_handle *h);
/* Stands in for the handle of a thread that cannot have one: always NESTED. */
extern struct pawl_lease_handle pawl_lease_refused;

/*
 * I8: makes *l, which h is inside of, everybody's on a CPU, if that is the one it is
 * bound to, there are sequences, and no process forks. The caller is no longer inside,
 * but for its flag.
 */
void pawl_lease_share(struct pawl_lease *l, struct pawl_lease_handle *h, uint64_t cpu);
/* Begins to break a lease that is everybody's: no sequence that begins later sees it
 * so. */
void pawl_lease_unshare(struct pawl_lease *l);

/* Says to the calling thread, whose handle it is, where its sequences find what they need. */
void pawl_lease_place(const struct pawl_lease_handle *h);

/* As pawl_shards_exit, and sequences may go on here. */
void pawl_shards_exit_shared(struct pawl_shards *p, struct pawl_shard *s,
			     struct pawl_lease_handle *h);

/*
 * The heavy fence against threads that run on one CPU, and their light fences, which
 * ends their sequences; against all threads if cpu is no CPU, or CPUs cannot be told
 * apart. False if the system refused.
 */
bool pawl_lease_barrier(uint64_t cpu);
/* The same against all, for a domain whose acquires may be fenced. */
bool pawl_lease_barrier_all(void);

/* A lock that a signal handler may want as well: no signal comes while it is held.
 * Returns what unlock wants back. */
uint64_t pawl_lease_lock(pawl_atomic64 *guard);
void pawl_lease_unlock(pawl_atomic64 *guard, uint64_t signals);
/* As lock, but gives up if somebody seems to be stopped there, and returns this, which
 * is no set of signals: some cannot be blocked. */
#define LEASE_NOT_LOCKED UINT64_MAX
uint64_t pawl_lease_lock_briefly(pawl_atomic64 *guard);

/* The end of a handle's owner: poisons what it is inside. */
void pawl_lease_exit(struct pawl_thread *self);
/* Takes h out of *l, where it is inside, and poisons that; l may be NULL. */
void pawl_lease_abandon(struct pawl_lease_handle *h, struct pawl_lease *l);

/* Says what the calling thread's handle is bound to, by the mode and what the system
 * tells the thread. */
void pawl_lease_bind(struct pawl_lease_handle *h);
void pawl_lease_mode_forget(void);

/*
 * How many forks lie between the first process and this one. What a thread was at
 * when another one forked is over in the child, where that thread is not: it is of
 * another generation.
 */
extern uint64_t pawl_lease_generation;

/* Fork: from close to reopen nobody gets inside by the slow path. */
void pawl_lease_close(void);
void pawl_lease_reopen(void);
bool pawl_lease_closed(void);
/* What life.c calls: before a fork, after it in the parent, and in the child. */
void pawl_lease_before_fork(void);
void pawl_lease_after_fork(void);
void pawl_lease_forked(void);
/* In the child: whether another thread was, when it forked, inside a lease that is there. */
bool pawl_lease_stuck_in(const char *from, const char *to);
/* The address of the lease that the calling thread is inside of, or 0. */
uint64_t pawl_lease_inside(void);
/* Forgets whose breaks had begun; the child of a fork is on its own. */
void pawl_lease_forget(void);

#endif /* PAWL_LEASE_LEASES_H */
