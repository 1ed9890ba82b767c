/* SPDX-License-Identifier: MIT */
/*
 * pthread_spin_*: four bytes, in glibc's own format, because nothing says which
 * of them another process shares with us.
 *
 * glibc's waiters poll for ever. These poll politely for a while, then let
 * others run between polls: with more threads than CPUs the holder may be among
 * them.
 *
 * Order: [A] pairs with [R]: a section happens before the next one.
 */
#include "preload/profile.h"

#include <pawl/backend/word32.h>
#include <pawl/thread.h>

#include <errno.h>
#include <sched.h>

#if defined(__x86_64__) || defined(__i386__)
enum { FREE = 1, HELD = 0 }; /* held is anything below 1 */
#else
enum { FREE = 0, HELD = 1 };
#endif

enum { POLITE_NS = 10000 };

#define SITE __builtin_return_address(0)

static bool looks_free(pthread_spinlock_t *lock)
{
	return *lock == FREE;
}

static bool take(pthread_spinlock_t *lock)
{
	return pawl_word32_cas_acquire(lock, FREE, HELD); /* [A] */
}

static void wait_for(pthread_spinlock_t *lock)
{
	struct pawl_spin spin;

	pawl_spin_begin(&spin, POLITE_NS);
	while (pawl_spin_again(&spin))
		if (looks_free(lock) && take(lock))
			return;
	do {
		int saved = errno;

		sched_yield();
		errno = saved;
	} while (!looks_free(lock) || !take(lock));
}

static __attribute__((noinline)) int lock_profiled(pthread_spinlock_t *lock,
						   const void *site)
{
	if (profile_orders)
		profile_order(lock, site);
	if (!take(lock)) {
		profile_wait(lock, PROFILE_SPIN, 0, site);
		wait_for(lock);
		profile_waited();
	}
	return profile_acquired(lock, PROFILE_SPIN, site);
}

EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
	if (unlikely(profile_on))
		return lock_profiled(lock, SITE);
	if (unlikely(!take(lock)))
		wait_for(lock);
	return 0;
}

EXPORT int pthread_spin_trylock(pthread_spinlock_t *lock)
{
	bool taken = take(lock);

	if (unlikely(profile_on) && taken)
		profile_acquired(lock, PROFILE_SPIN, SITE);
	return taken ? 0 : EBUSY;
}

static __attribute__((noinline)) int unlock_profiled(pthread_spinlock_t *lock,
						     const void *site)
{
	profile_leaves(lock, 0, site);
	pawl_word32_store_release(lock, FREE); /* [R] */
	profile_left();
	return 0;
}

EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	if (unlikely(profile_on))
		return unlock_profiled(lock, SITE);
	pawl_word32_store_release(lock, FREE); /* [R] */
	return 0;
}

EXPORT int pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
	(void)shared;
	*lock = FREE;
	return 0;
}

EXPORT int pthread_spin_destroy(pthread_spinlock_t *lock)
{
	(void)lock;
	return 0;
}
