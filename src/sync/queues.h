/* SPDX-License-Identifier: MIT */
/*
 * The queues of mutexes and conditions from the inside: for each other, and for the
 * interposer.
 */
#ifndef PAWL_SYNC_QUEUES_H
#define PAWL_SYNC_QUEUES_H

#include "sleep/parking.h"

#include <pawl/cond.h>
#include <pawl/mutex.h>

#define PAWL_MUTEX_WATCH_SHIFT 32

/* The lower half of due: unlocks until it is the head's turn. */
static inline uint64_t pawl_mutex_turn(uint64_t due)
{
	return due & (((uint64_t)1 << PAWL_MUTEX_WATCH_SHIFT) - 1);
}

/* Whether somebody is queued for m, as far as its owner can see. */
bool pawl_mutex_has_queue(const struct pawl_mutex *m);

/*
 * A sleeper of another kind, which sleeps, joins the queue of m, which the
 * caller owns; so the caller's unlock will see to it. Returns true if another
 * thread has released m meanwhile: the caller must then pawl_mutex_wake_(m). The
 * sleeper must call pawl_mutex_lock_queued when it wakes up, and holds m when
 * that returns.
 */
bool pawl_mutex_enqueue(struct pawl_mutex *m, struct pawl_sleeper *sleeper);
void pawl_mutex_lock_queued(struct pawl_mutex *m, struct pawl_sleeper *sleeper);

/* Drops whoever is left in the queue of m, whose memory begins a new life: none
 * of them wakes up any more, but by its deadline. */
void pawl_mutex_forget(struct pawl_mutex *m);

/* How polling for a mutex ended: STALLED if nobody unlocked it meanwhile, HOGGED if one
 * thread had it at every look, CROWDED if that takes it again faster than it could come
 * here, and others are queued. */
enum pawl_polled {
	PAWL_POLLED_TAKEN,
	PAWL_POLLED_IN_VAIN,
	PAWL_POLLED_STALLED,
	PAWL_POLLED_HOGGED,
	PAWL_POLLED_CROWDED
};

/*
 * Polls for m, in the name of `identity`, for ns nanoseconds. Ends early if *state, unless
 * it is NULL, has the bits of `enough`. One thread that takes the lock again and again,
 * faster than it could come here, had better be left alone for a while; and, crowded,
 * for longer if others are queued already. A head that insists asks for its turn at
 * each poll (I2).
 */
enum pawl_polled pawl_mutex_poll(struct pawl_mutex *m, uint64_t identity,
				 const pawl_atomic64 *state, uint64_t enough,
				 uint64_t ns);
enum pawl_polled pawl_mutex_insist(struct pawl_mutex *m, uint64_t identity,
				   const pawl_atomic64 *state, uint64_t enough,
				   uint64_t ns);

/*
 * Waits for m: 0, or ETIMEDOUT. `me` has m, this thread's identity and an `abandon`, is new,
 * and is on record.
 */
int pawl_mutex_await(struct pawl_mutex *m, struct pawl_sleeper *me,
		     const struct pawl_deadline *deadline);
/* A waiter leaves the queue of its mutex: ETIMEDOUT; 0 if it was granted the mutex before
 * that, and has to unlock it; ENOENT if it is in no queue. */
int pawl_mutex_leave_queue(struct pawl_sleeper *me);

/*
 * Between these two a wait is on record: a jump out of it calls me->abandon, which
 * withdraws the waiter from where it is then. It is never called in a critical section.
 */
void pawl_wait_begin(struct pawl_sleeper *me);
void pawl_wait_end(struct pawl_sleeper *me);

/* Whether a jump of the calling thread could leave a wait, or a critical section. */
bool pawl_jump_matters(void);

/*
 * The calling thread is about to jump to `target`. Abandons the waits on record that the
 * jump leaves, by what is_left says of their frames; ends the process if it leaves a
 * critical section.
 */
void pawl_jump_leaves(bool (*is_left)(const void *frame, const void *target),
		      const void *target);

/*
 * A wait in steps, for whoever has another lock than pawl_mutex or another way
 * to be interrupted: enroll while holding the lock, let go of it, poll, pawl_sleep. Poll
 * returns when a signal has come or the thread should sleep; it then has its place by its
 * real-time priority. If the sleep
 * ends in time, the wait is over: a sleeper with an address is in the queue of
 * that mutex, its own, and must call pawl_mutex_lock_queued; another one gets
 * its lock as anybody would. Otherwise withdraw, which returns true if no signal
 * has come; false means that one has, and that the wait is over. Whoever jumps out of the
 * wait leaves, which waits for no mutex, and returns true if a signal has come; `woken`
 * tells whether sleep or withdraw has said so before.
 */
void pawl_cond_enroll(struct pawl_cond *c, struct pawl_sleeper *me);
void pawl_cond_poll(struct pawl_cond *c, struct pawl_sleeper *me);
bool pawl_cond_withdraw(struct pawl_cond *c, struct pawl_sleeper *me);
bool pawl_cond_leave(struct pawl_cond *c, struct pawl_sleeper *me, bool woken);

#endif /* PAWL_SYNC_QUEUES_H */
