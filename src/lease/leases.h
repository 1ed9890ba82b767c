/* SPDX-License-Identifier: MIT */
/*
 * Internals of leases: what lease.c, the state machine, needs. handle.c and mode.c supply
 * it on real hardware, sim/ in the simulator.
 */
#ifndef PAWL_LEASE_LEASES_H
#define PAWL_LEASE_LEASES_H

#include "os/os.h"

#include <pawl/lease.h>
#include <pawl/shards.h>

enum {
	/* Values of a word's cpu that are no CPU. NOWHERE: bound to a thread only, so no
	 * thread ever finds itself there. DRAINING: a thread drains the lease, so no
	 * other may settle it; one value for each generation, modulo GENERATIONS. */
	LEASE_NOWHERE = (1 << PAWL_LEASE_CPU_BITS) - 1,
	LEASE_GENERATIONS = 256,
	LEASE_DRAINING = LEASE_NOWHERE - LEASE_GENERATIONS,
	LEASE_CPUS = LEASE_DRAINING, /* real ones are below this */
	/* The lessee of a drained lease; and the word of a drained lease. */
	LEASE_NOBODY = (1 << PAWL_LEASE_LESSEE_BITS) - 1,
	LEASE_DRAINED = PAWL_LEASE_LIMBO << PAWL_LEASE_STATE_SHIFT | LEASE_NOBODY,
	/* The lessees of a lease that sequences use, and of one that they used (I8).
	 * Handles have the numbers below these. */
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
/* Adds up the counts of all handles ever made; returns how many there are. */
unsigned pawl_lease_sums(uint64_t sums[PAWL_LEASE_COUNTS]);

/* The handle with this number; id is not NOBODY. */
struct pawl_lease_handle *pawl_lease_handle_of(uint64_t id);
/* Puts a handle, with a flag of 0, on the free list for a later thread. */
void pawl_lease_handle_free(struct pawl_lease_handle *h);
/* The handle of threads that cannot have their own: every acquire returns NESTED. */
extern struct pawl_lease_handle pawl_lease_refused;

/*
 * I8: makes *l, which h is inside of, LEASED(cpu, anybody), if it is bound to this CPU,
 * sequences are used, and no fork is under way. The caller is then no longer inside,
 * although its flag is still set.
 */
void pawl_lease_share(struct pawl_lease *l, struct pawl_lease_handle *h, uint64_t cpu);
/* Begins to break a lease that is LEASED(c, anybody): sequences that begin after the next
 * barrier fail. */
void pawl_lease_unshare(struct pawl_lease *l);

/* Sets pawl_sequence_ of the calling thread, the handle's owner. */
void pawl_lease_place(const struct pawl_lease_handle *h);

/* As pawl_shards_exit, and lets sequences use the shard from now on. */
void pawl_shards_exit_shared(struct pawl_shards *p, struct pawl_shard *s,
			     struct pawl_lease_handle *h);

/*
 * A heavy fence against the light fences of threads on one CPU, which also ends their
 * sequences; against all threads if cpu is no CPU, or if a barrier cannot be aimed at one.
 * False if the system refused.
 */
bool pawl_lease_barrier(uint64_t cpu);
/* The same against all threads; in the fenced mode, a full fence. */
bool pawl_lease_barrier_all(void);

/* A lock that signal handlers may take, too: signals are blocked while it is held.
 * Returns the signal mask, for unlock. */
uint64_t pawl_lease_lock(pawl_atomic64 *guard);
void pawl_lease_unlock(pawl_atomic64 *guard, uint64_t signals);
/* As lock, but returns this after a millisecond, in case the holder is stopped. It is no
 * signal mask: some signals cannot be blocked. */
#define LEASE_NOT_LOCKED UINT64_MAX
uint64_t pawl_lease_lock_briefly(pawl_atomic64 *guard);

/* Called when a handle's owner exits: poisons the lease it is inside. */
void pawl_lease_exit(struct pawl_thread *self);
/* Poisons *l, which h is inside of, and clears h's flag; l may be NULL. */
void pawl_lease_abandon(struct pawl_lease_handle *h, struct pawl_lease *l);

/* Sets where the calling thread's handle reads its CPU, by the mode and by what the
 * system supports for this thread. */
void pawl_lease_bind(struct pawl_lease_handle *h);
void pawl_lease_mode_forget(void);

/*
 * How many forks lie between the first process and this one. Work that a thread of the
 * parent had begun at the fork will not be completed in the child; the generation tells
 * such work from the child's own.
 */
extern uint64_t pawl_lease_generation;

/* Fork: from close to reopen no thread enters a lease by the slow path. */
void pawl_lease_close(void);
void pawl_lease_reopen(void);
bool pawl_lease_closed(void);
/* Called by life.c: before a fork, after it in the parent, and in the child. */
void pawl_lease_before_fork(void);
void pawl_lease_after_fork(void);
void pawl_lease_forked(void);
/* In the child: whether at the fork another thread of the parent was inside a lease with
 * an address in this range. */
bool pawl_lease_stuck_in(const char *from, const char *to);
/* The address of the lease that the calling thread is inside of, or 0. */
uint64_t pawl_lease_inside(void);
/* In the child of a fork: forgets the breaks that the parent had begun. */
void pawl_lease_forget(void);

#endif /* PAWL_LEASE_LEASES_H */
