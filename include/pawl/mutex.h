/* SPDX-License-Identifier: MIT */
/*
 * pawl/mutex.h - the lock to reach for: short when free, sleeps when it must.
 *
 * Choose it  by default. It does not collapse when threads outnumber CPUs, it
 *            bounds bypass, and it has a timed lock.
 * Avoid it   where strict arrival order is wanted, or the memory of 16 bytes
 *            is not there.
 * Source     pawl. The reverse fence is that of Khuong, "Notes on lock-free
 *            dynamic contention management", 2026.
 * Departs    from nothing; docs/design/mutex.md says what was tried.
 * Cost       lock 1 RMW, unlock 0 RMW; 16 bytes, 0 = free.
 *
 * State (word, due): word is twice the number of past episodes, plus 1 while
 * held. due is 0, or what word must reach before unlock hands over to the head
 * of the queue instead of setting the lock free.
 *
 *   (2n, d) --lock--> (2n+1, d) --unlock--> (2n+2, d)            2n+1 < d or d = 0
 *                     (2n+1, d) --unlock--> (2n+1, d'), head owns   2n+1 >= d > 0
 *
 * Whoever does not get the lock polls for a while, then queues in the parking
 * table under the lock's address. The head of that queue competes with running
 * threads, the others sleep: a running thread need not wait for a sleeping one
 * to get going, and nobody is woken in vain.
 *
 *   I1  Only the holder changes an odd word.
 *   I2  due is set while somebody is queued, to at most PAWL_MUTEX_BYPASS
 *       episodes after that one became head. So the head is overtaken at most
 *       that often, plus once for an unlock that was under way.
 *   I3  A head that sleeps is counted in its bucket, so every later unlock
 *       wakes it; a head that is awake is not, so no unlock does.
 *
 * Order      [A] pairs with [R], or with the grant in the runtime: a section
 *            happens before the next one.
 * Lifetime   [R] is unlock's last access to *m; what follows uses its address.
 *            due is read before. A grant touches the bucket and the head.
 * Checked    tests/locks/mutex.c; pawl check mutex; mutants A, R, I2, I3.
 */
#ifndef PAWL_MUTEX_H
#define PAWL_MUTEX_H

#include <pawl/atomic.h>

#include <errno.h>
#include <time.h>

struct pawl_mutex {
	pawl_atomic64 word;
	pawl_atomic64 due;
};

#define PAWL_MUTEX_INIT PAWL_ZERO

/* How many episodes may overtake the head of the queue (I2). Reached only by
 * a head that cannot run; one that runs asks for its turn much sooner. */
enum { PAWL_MUTEX_BYPASS = 1 << 20 };

#ifdef __cplusplus
extern "C" {
#endif
void pawl_mutex_lock_slow(struct pawl_mutex *m) __attribute__((cold));
void pawl_mutex_grant(struct pawl_mutex *m) __attribute__((cold));
void pawl_mutex_wake(const struct pawl_mutex *m) __attribute__((cold));

/*
 * Waits until it owns *m, or until the clock (CLOCK_REALTIME or
 * CLOCK_MONOTONIC) has reached the time. Returns 0, ETIMEDOUT, or EINVAL for
 * another clock or a bad time; errno stays as it was.
 */
int pawl_mutex_timedlock(struct pawl_mutex *m, clockid_t clock,
			 const struct timespec *time);
#ifdef __cplusplus
}
#endif

/* Returns true, owning *m, if it was free; never waits and never queues. */
static inline bool pawl_mutex_trylock(struct pawl_mutex *m)
{
	/* Relaxed: a guess that [A] confirms. */
	uint64_t word = pawl_load_relaxed(&m->word);

	return (word & 1) == 0 && pawl_cas_acquire(&m->word, word, word + 1); /* [A] */
}

/* Waits until it owns *m. Not recursive. */
static inline void pawl_mutex_lock(struct pawl_mutex *m)
{
	if (__builtin_expect(!pawl_mutex_trylock(m), false))
		pawl_mutex_lock_slow(m);
}

/* Requires *m to be held; any thread may release it. */
static inline void pawl_mutex_unlock(struct pawl_mutex *m)
{
	/* Relaxed: ours alone (I1). */
	uint64_t word = pawl_load_relaxed(&m->word);

	/* Relaxed: I2 allows for one unlock that misses it. 0 - 1 is never <. */
	if (__builtin_expect(pawl_load_relaxed(&m->due) - 1 < word, false)) {
		pawl_mutex_grant(m);
		return;
	}
	pawl_store_release(&m->word, word + 1); /* [R] */
	if (pawl_parked_near(m))
		pawl_mutex_wake(m);
}

#endif /* PAWL_MUTEX_H */
