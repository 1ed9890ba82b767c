/* SPDX-License-Identifier: MIT */
/*
 * pawl/hapax.h - FIFO lock of values that never recur; waiters are invisible.
 *
 * Choose it  for strict arrival order, a short unlock that never waits, no
 *            queue nodes, and release from another thread (with the context).
 * Avoid it   when threads may outnumber CPUs; hapax_vw.h hands over with less
 *            traffic when contention is the rule.
 * Source     Dice & Kogan, "Hapax Locks", PPoPP 2026, listing 2.
 * Departs    from it: a waiter reads depart from time to time even if its slot
 *            does not change, which closes the hole described under I4. Unlock
 *            does not skip the slot store when no thread seems to wait: to find
 *            out, it would access the lock after its release. A waiter may time
 *            out (I5); docs/design/hapax.md.
 * Cost       lock 1 RMW, unlock 0 RMW; 24 bytes (core 16), 0 = free. The
 *            array has 4096 slots for all locks of the process.
 *
 * State (arrive, depart) and slot[hash(lock, value)]; unlocked iff equal (H2):
 *
 *   (x, x) --lock--> (a, x) --lock--> (b, x) --unlock--> (b, a), slot(a) = a
 *
 *   I1  A thread owns the lock once depart is what its exchange returned.
 *   I2  Only the holder writes depart; the slot is written after it.
 *   I3  A waiter that sees its predecessor's value in the slot owns the lock:
 *       the value stands for this lock, that thread and that episode (H1).
 *   I4  A slot is a hint, and another lock's unlock may overwrite it before the
 *       waiter reads it. That value orders the waiter after the other unlock,
 *       not after its own predecessor's, so C11 lets the re-read of depart be
 *       stale, and the slot need never change again. Hence a waiter may rely
 *       on a hint only for a bounded time.
 *   I5  A waiter that times out makes its value an alias of the one it waited
 *       for. If it has no successor, it puts that value back into arrive; else
 *       it leaves a record and changes the slot of its own value. Its successor
 *       finds the record and waits for the other value instead.
 *
 * Order      [A] pairs with [R], or [B] with [S]: a section happens before the
 *            next one. [B] also keeps the waiter's loads of slot and depart in
 *            that order, so that a slot store it did not see is yet to come.
 * Lifetime   [R] is unlock's last access to *l: from then on its address is
 *            only hashed. The array is never freed.
 * Checked    tests/locks/hapax.c; pawl check hapax; mutants A, R, B, S, I2,
 *            I3, I4, I5.
 */
#ifndef PAWL_HAPAX_H
#define PAWL_HAPAX_H

#include <pawl/face.h>
#include <pawl/hapax_value.h>

#include <time.h>

#define PAWL_HAPAX_INIT PAWL_ZERO

/* What a waiter watches. */
struct pawl_hapax_watch {
	uint64_t ahead; /* value of the predecessor whose departure it awaits */
	uint64_t seen;	/* last value it read from the slot */
	pawl_atomic64 *slot;
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
/* True if the waiter ahead has timed out: *watch then refers to its predecessor. */
bool pawl_hapax_follow_(const struct pawl_hapax_core *l, struct pawl_hapax_watch *watch)
	__attribute__((cold));

/* Waits until `ahead` has departed, and returns 0. Otherwise withdraws `mine`, and
 * returns ETIMEDOUT at the deadline, EINVAL if the time is invalid. */
int pawl_hapax_wait_until_(struct pawl_hapax_core *l, uint64_t mine, uint64_t ahead,
			   enum pawl_wait how, int clock, const struct timespec *time)
	__attribute__((cold));
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Where the successor of `hapax` waits. */
static inline pawl_atomic64 *pawl_hapax_slot_(const struct pawl_hapax_core *l,
					      uint64_t hapax)
{
	pawl_atomic64 *slots;

	pawl_raw_find(pawl_hapax_slots_, slots);
	return &slots[pawl_hapax_index_(l, hapax)];
}

static inline void pawl_hapax_aim_(struct pawl_hapax_watch *watch,
				   const struct pawl_hapax_core *l, uint64_t ahead)
{
	watch->ahead = ahead;
	watch->slot = pawl_hapax_slot_(l, ahead);
	watch->seen = pawl_load_acquire(watch->slot); /* [B] */
}

/* Whether it is our turn, judged by the last value read from the slot and by depart. */
static inline bool pawl_hapax_departed_(const struct pawl_hapax_core *l,
					struct pawl_hapax_watch *watch)
{
	while (watch->seen != watch->ahead &&			/* I3 */
	       pawl_load_acquire(&l->depart) != watch->ahead) { /* [A] I1 */
		/* Relaxed: comes after [B]; the records' guard orders the rest. */
		if (pawl_load_relaxed(&pawl_hapax_gone_of_(l)->count) == 0 ||
		    !pawl_hapax_follow_(l, watch)) /* I5 */
			return false;
	}
	return true;
}

/* Waits until `ahead` has departed. */
static inline void pawl_hapax_wait_(struct pawl_hapax_core *l, uint64_t ahead,
				    enum pawl_wait how)
{
	struct pawl_hapax_watch watch;

	pawl_hapax_aim_(&watch, l, ahead);
	while (!pawl_hapax_departed_(l, &watch))
		watch.seen = pawl_await_change_acquire(watch.slot, watch.seen,
						       how); /* [B] I4 */
}

/* Waits its turn, then owns *l. Not recursive. */
static inline void pawl_hapax_acquire_(struct pawl_hapax_core *l,
				       struct pawl_hapax_context *context,
				       enum pawl_wait how)
{
	uint64_t mine = pawl_hapax_draw();
	/* Relaxed: only names the predecessor; [A] or [B] does the ordering. */
	uint64_t ahead = pawl_exchange_relaxed(&l->arrive, mine);

	if (__builtin_expect(pawl_load_acquire(&l->depart) != ahead, false)) /* [A] */
		pawl_hapax_wait_(l, ahead, how);
	context->hapax = mine;
}

/*
 * Waits its turn, then owns *l; or until the clock (CLOCK_REALTIME or
 * CLOCK_MONOTONIC) has reached the time. Returns 0, ETIMEDOUT, or EINVAL for
 * another clock or a bad time; errno stays as it was.
 */
static inline int pawl_hapax_timed_acquire_(struct pawl_hapax_core *l,
					    struct pawl_hapax_context *context,
					    enum pawl_wait how, int clock,
					    const struct timespec *time)
{
	uint64_t mine = pawl_hapax_draw();
	/* Relaxed: as in pawl_hapax_acquire_. */
	uint64_t ahead = pawl_exchange_relaxed(&l->arrive, mine);

	context->hapax = mine;
	if (__builtin_expect(pawl_load_acquire(&l->depart) != ahead, false)) /* [A] */
		return pawl_hapax_wait_until_(l, mine, ahead, how, clock, time);
	return 0;
}

/* Stores `value` in the slot that the successor of `mine` watches. Uses only l's
 * address: the lock may be freed already. */
static inline void pawl_hapax_post_(const struct pawl_hapax_core *l, uint64_t mine,
				    uint64_t value, enum pawl_wait how)
{
	pawl_atomic64 *slot = pawl_hapax_slot_(l, mine);

	pawl_store_release(slot, value); /* [S] I2 */
	pawl_notify(slot, value, how);
}

/* Requires the context of the acquire that holds *l; any thread may call. */
static inline void pawl_hapax_release_(struct pawl_hapax_core *l,
				       struct pawl_hapax_context *context,
				       enum pawl_wait how)
{
	uint64_t mine = context->hapax;

	pawl_store_release(&l->depart, mine); /* [R] I2 */
	pawl_hapax_post_(l, mine, mine, how);
}

PAWL_FACE_CONTEXT(hapax);
PAWL_FACE_CONTEXT_TRY(hapax);
PAWL_FACE_CONTEXT_TIMED(hapax);

#endif /* PAWL_HAPAX_H */
