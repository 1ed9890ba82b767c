/* SPDX-License-Identifier: MIT */
/*
 * pawl/mutex.h - the default lock: short when uncontended; waiters poll, then sleep.
 *
 * Choose it  by default. It does not collapse when threads outnumber CPUs, it
 *            bounds bypass, and it has a timed lock.
 * Avoid it   where strict arrival order is wanted, or where 16 bytes per lock are
 *            too many (ttas.h: 8).
 * Source     pawl. The reverse fence is that of Khuong, "Notes on lock-free
 *            dynamic contention management", 2026.
 * Departs    from nothing; docs/design/mutex.md has the design.
 * Cost       lock 1 RMW, unlock 0 RMW; 16 bytes, 0 = free.
 *
 * State (word, due): word is the holder's pawl_thread_id(), or 0. due is 0 while no
 * thread waits. Its lower half is the number of unlocks after which the lock goes to the
 * head of the queue instead of being set free, 0 if the queue is empty; its upper half
 * counts unlocks down for threads that poll.
 *
 *   (0, d) --lock--> (me, d) --unlock--> (0, 0)                   d = 0
 *                            --unlock--> (0, d - 1)               d > 1
 *                            --unlock--> (head, d'), it owns      d = 1
 *
 * A thread that does not get the lock polls for a while, then queues in the parking
 * table under the lock's address. The head of that queue competes with running
 * threads, the others sleep: a running thread need not wait until a sleeping one
 * runs, and no thread is woken in vain.
 *
 *   I1  Only an unlock changes word from other than 0.
 *   I2  The lower half of due is PAWL_MUTEX_BYPASS, the bypass budget, when a thread
 *       becomes head, and each unlock counts it down. An unlock may overwrite what the
 *       head stored at the same moment; a head that is awake and demands a hand-off
 *       stores 1 until it owns the lock, and one that sleeps is woken (I3) or sleeps
 *       for a stated time. So per wake-up it is overtaken by the budget plus one.
 *   I3  A head that sleeps is counted in the filter, so every later unlock
 *       wakes it, or sleeps for a stated time only; a head that is awake is not
 *       counted, so no unlock wakes it.
 *   I4  An unlock by another thread than the owner passes a full fence before it
 *       checks for sleepers. So if an owner counts a sleeper, passes a full fence and
 *       then still owns the lock, the unlock will see the sleeper.
 *
 * Order      [A] pairs with [R], or with the grant in the runtime: a section
 *            happens before the next one.
 * Lifetime   [R] is unlock's last access to *m; what follows uses its address.
 *            due is read before. A grant touches the bucket and the head.
 * Checked    tests/locks/mutex.c; pawl check mutex; mutants A, R, I3, I4.
 */
#ifndef PAWL_MUTEX_H
#define PAWL_MUTEX_H

#include <pawl/thread.h>
#include <pawl/backend/debug.h>

#include <errno.h>
#include <time.h>

struct PAWL_CAPABILITY pawl_mutex {
	pawl_atomic64 word;
	pawl_atomic64 due;
};

#define PAWL_MUTEX_INIT PAWL_ZERO

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
void pawl_mutex_lock_slow_(struct pawl_mutex *m) __attribute__((cold));
/* These two are not cold: every unlock calls them while threads wait. */
void pawl_mutex_unlock_slow_(struct pawl_mutex *m);
/* Counts an unlock; true if it was the head's turn: the head owns *m now. */
bool pawl_mutex_hand_over_(struct pawl_mutex *m);
void pawl_mutex_wake_(const struct pawl_mutex *m) __attribute__((cold));

int pawl_mutex_lock_until_(struct pawl_mutex *m, int clock, const struct timespec *time)
	__attribute__((cold));
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* The word of a mutex that this thread holds. */
static inline uint64_t pawl_mutex_me_(void)
{
	return pawl_thread_id();
}

/* Tries to take *m; writes only if a load finds it free. */
static inline bool pawl_mutex_take_(struct pawl_mutex *m)
{
	/* Relaxed: spares a write that would fail; [A] decides. */
	return pawl_load_relaxed(&m->word) == 0 &&
	       pawl_cas_acquire(&m->word, 0, pawl_mutex_me_()); /* [A] */
}

/* Returns true, owning *m, if it was free; never waits and never queues. */
PAWL_NOTED bool pawl_mutex_trylock(struct pawl_mutex *m) PAWL_TRIES(m)
{
	bool taken;

	pawl_note_locking(m, "mutex", true);
	taken = pawl_mutex_take_(m);
	pawl_note_locked(m, taken);
	return taken;
}

/* Waits until it owns *m. Not recursive. */
PAWL_NOTED void pawl_mutex_lock(struct pawl_mutex *m) PAWL_ACQUIRES(m)
{
	pawl_note_locking(m, "mutex", false);
	if (__builtin_expect(!pawl_cas_acquire(&m->word, 0, pawl_mutex_me_()), /* [A] */
			     false))
		pawl_mutex_lock_slow_(m);
	pawl_note_locked(m, true);
}

/*
 * Waits until it owns *m, or until the clock (CLOCK_REALTIME or
 * CLOCK_MONOTONIC) has reached the time. Returns 0, ETIMEDOUT, or EINVAL for
 * another clock or a bad time; errno stays as it was.
 */
PAWL_NOTED int pawl_mutex_timedlock(struct pawl_mutex *m, int clock,
				    const struct timespec *time) PAWL_TRIES_FOR(0, m)
{
	int error = 0;

	pawl_note_locking(m, "mutex", true);
	if (!pawl_mutex_take_(m))
		error = pawl_mutex_lock_until_(m, clock, time);
	pawl_note_locked(m, error == 0);
	return error;
}

/* Requires *m to be held; any thread may release it. */
PAWL_NOTED void pawl_mutex_unlock(struct pawl_mutex *m) PAWL_RELEASES(m)
{
	pawl_note_unlocking(m, "mutex");
	/* Relaxed: I2 allows for one unlock that misses a store to due; and word does
	 * not change while this thread owns *m. */
	if (__builtin_expect(pawl_load_relaxed(&m->due) != 0 ||
				     pawl_load_relaxed(&m->word) != pawl_mutex_me_(),
			     false)) {
		pawl_mutex_unlock_slow_(m);
	} else {
		pawl_store_release(&m->word, 0); /* [R] */
		if (pawl_parked_near_(m))
			pawl_mutex_wake_(m);
	}
	pawl_note_unlocked(m);
}

/* Never needed; in debug builds, reports a mutex that is still held. */
PAWL_NOTED void pawl_mutex_destroy(struct pawl_mutex *m)
{
	/* Relaxed: the caller knows that no thread uses it any more. */
	pawl_note_destroying(m, "mutex", pawl_load_relaxed(&m->word) != 0);
}

#endif /* PAWL_MUTEX_H */
