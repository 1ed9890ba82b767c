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
 * As pawl_mutex_lock_slow_, and ETIMEDOUT. If the wait is abandoned, `abandon` is
 * called, which has to pawl_mutex_leave_queue; that returns true if m was granted
 * this moment, and is to be unlocked. With `abandon`, signals are barred when it returns 0.
 */
int pawl_mutex_await(struct pawl_mutex *m, const struct pawl_deadline *deadline,
		     void (*abandon)(struct pawl_sleeper *));
bool pawl_mutex_leave_queue(struct pawl_sleeper *me);

/*
 * Between these two pawl_mutex_abandon finds the sleeper; the caller has no bucket's
 * lock then. False if it did.
 */
void pawl_wait_begin(struct pawl_sleeper *me);
bool pawl_wait_end(struct pawl_sleeper *me);

/* Sleeps as pawl_sleep does, where pawl_mutex_abandon finds the sleeper. Signals are barred,
 * once, but for the sleep. */
bool pawl_sleep_queued(struct pawl_sleeper *me, const struct pawl_deadline *deadline);

/* From now on pawl_mutex_abandon may be called, by whoever interrupts a wait; and the
 * calling thread may be one that does so. */
void pawl_jumps_expect(void);
void pawl_jumps_prepare(void);

/* Bars signals, if one could come that jumps, and allows again what they were: around
 * what a waiting thread does with the lock of its bucket. May be nested. */
void pawl_jumps_bar(void);
void pawl_jumps_allow(void);

/*
 * The calling thread, a signal's handler that is, is about to jump out of the
 * waits for mutexes and rwlocks that it is in: leaves their queues. A wait that it does
 * not leave after all starts over.
 */
void pawl_mutex_abandon(void);

/*
 * A wait in steps, for whoever has another lock than pawl_mutex or another way
 * to be interrupted: enroll while holding the lock, let go of it, sleep. If that
 * ends in time, the wait is over: a sleeper with an address is in the queue of
 * that mutex, its own, and must call pawl_mutex_lock_queued; another one gets
 * its lock as anybody would. Otherwise withdraw, which returns true if no signal
 * has come; false means that one has, and that the wait is over.
 */
void pawl_cond_enroll(struct pawl_cond *c, struct pawl_sleeper *me);
bool pawl_cond_sleep(struct pawl_sleeper *me, const struct pawl_deadline *deadline);
bool pawl_cond_withdraw(struct pawl_cond *c, struct pawl_sleeper *me);

#endif /* PAWL_SYNC_QUEUES_H */
