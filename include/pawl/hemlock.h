/* SPDX-License-Identifier: MIT */
/*
 * pawl/hemlock.h - FIFO queue lock: one word per lock, one per thread.
 *
 * Choose it  for strict arrival order in the least space, with no context.
 * Avoid it   when threads may outnumber CPUs; where one thread holds several
 *            contended locks, whose waiters all poll its one word (the scoped
 *            form below gives each its own); where locks are released by
 *            another thread: the queue identifies a holder by its thread.
 * Source     Dice & Kogan, "Hemlock", SPAA 2021 (extended), listing 1; scoped
 *            form: section 2.5.
 * Departs    from it: nothing.
 * Cost       lock 1 RMW, unlock 1 RMW; 8 bytes, 0 = free.
 *
 * State (tail; grant of each thread):
 *
 *   0 --lock by T--> T --lock by U--> U --unlock by T--> U, T.grant = lock
 *     --U sees it--> U, T.grant = 0     and     T --unlock--> 0
 *
 *   I1  tail is the grant word of the last to arrive, 0 if no thread holds or waits.
 *   I2  grant is 0 except while its owner is inside unlock, handing over the
 *       lock whose address it then holds.
 *   I3  Only the one successor on that lock clears a grant, so unlock's wait
 *       ends as soon as that successor runs.
 *
 * Order      [A] pairs with [R]: a section happens before the next one. [T]
 *            pairs with itself and with [F]: the successor sees grant cleared
 *            of older hand-overs, and a new queue starts after the last ended.
 *            [E] pairs with [C]: the owner may reuse or free the word.
 * Lifetime   [F], or else [R], is unlock's last access to *l ([R] publishes
 *            only its address); [C] is lock's last access to its predecessor's
 *            grant, whose thread may then exit.
 * Checked    tests/locks/hemlock.c; pawl check hemlock; mutants A, R, T, F, C,
 *            E, I2.
 */
#ifndef PAWL_HEMLOCK_H
#define PAWL_HEMLOCK_H

#include <pawl/face.h>
#include <pawl/thread.h>

struct PAWL_CAPABILITY pawl_hemlock {
	pawl_atomic64 tail; /* address of a grant word (I1) */
};

#define PAWL_HEMLOCK_INIT PAWL_ZERO

/* Joins the queue; returns the predecessor's grant word, NULL if first. */
static inline pawl_atomic64 *pawl_hemlock_enter_(struct pawl_hemlock *l,
						 pawl_atomic64 *grant)
{
	return (pawl_atomic64 *)pawl_pointer(
		pawl_exchange_acq_rel(&l->tail, pawl_address(grant))); /* [T] */
}

/* Joins the queue if it is empty. */
static inline bool pawl_hemlock_enter_if_empty_(struct pawl_hemlock *l,
						pawl_atomic64 *grant)
{
	return pawl_cas_acq_rel(&l->tail, 0, pawl_address(grant)); /* [T] */
}

/* Leaves the queue if there is no successor. */
static inline bool pawl_hemlock_leave_if_last_(struct pawl_hemlock *l,
					       pawl_atomic64 *grant)
{
	return pawl_cas_release(&l->tail, pawl_address(grant), 0); /* [F] */
}

/* The lock's name in a grant word. */
static inline uint64_t pawl_hemlock_name_(const struct pawl_hemlock *l)
{
	return pawl_address(l);
}

static inline void pawl_hemlock_acquire_grant_(struct pawl_hemlock *l,
					       pawl_atomic64 *grant, enum pawl_wait how)
{
	pawl_atomic64 *ahead = pawl_hemlock_enter_(l, grant);

	if (__builtin_expect(ahead == NULL, true))
		return;
	pawl_await_eq_acquire(ahead, pawl_hemlock_name_(l), how); /* [A] */
	pawl_store_release(ahead, 0);				  /* [C] I3 */
	pawl_notify(ahead, 0, how);
}

static inline void pawl_hemlock_release_grant_(struct pawl_hemlock *l,
					       pawl_atomic64 *grant, enum pawl_wait how)
{
	if (__builtin_expect(pawl_hemlock_leave_if_last_(l, grant), true))
		return;
	pawl_store_release(grant, pawl_hemlock_name_(l)); /* [R] I2 */
	pawl_notify(grant, pawl_hemlock_name_(l), how);
	pawl_await_eq_acquire(grant, 0, how); /* [E] I3 */
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_hemlock_acquire_(struct pawl_hemlock *l, enum pawl_wait how)
{
	pawl_hemlock_acquire_grant_(l, &pawl_self()->grant, how);
}

/* Returns true, owning *l, if it was free; never waits and never queues. */
static inline bool pawl_hemlock_try_acquire_(struct pawl_hemlock *l)
{
	return pawl_hemlock_enter_if_empty_(l, &pawl_self()->grant);
}

/* Requires the caller to own *l. */
static inline void pawl_hemlock_release_(struct pawl_hemlock *l, enum pawl_wait how)
{
	pawl_hemlock_release_grant_(l, &pawl_self()->grant, how);
}

PAWL_FACE(hemlock);
PAWL_FACE_TRY(hemlock);

/*
 * The scoped form: the grant word lives on the holder's stack, zero at first, and
 * must stay there until unlock returns. Plain and scoped form may be mixed on one lock.
 */
struct pawl_hemlock_scope {
	PAWL_SEQUESTER pawl_atomic64 grant;
};

#define PAWL_HEMLOCK_SCOPE_INIT PAWL_ZERO

/* Waits its turn, spinning, then owns *l. */
static inline void pawl_hemlock_scope_lock(struct pawl_hemlock *l,
					   struct pawl_hemlock_scope *scope)
{
	pawl_hemlock_acquire_grant_(l, &scope->grant, PAWL_SPIN);
}

/* Returns true, owning *l, if it was free; never waits. */
static inline bool pawl_hemlock_scope_trylock(struct pawl_hemlock *l,
					      struct pawl_hemlock_scope *scope)
{
	return pawl_hemlock_enter_if_empty_(l, &scope->grant);
}

/* Requires the caller to own *l by this scope. */
static inline void pawl_hemlock_scope_unlock(struct pawl_hemlock *l,
					     struct pawl_hemlock_scope *scope)
{
	pawl_hemlock_release_grant_(l, &scope->grant, PAWL_SPIN);
}

#endif /* PAWL_HEMLOCK_H */
