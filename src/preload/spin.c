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
#include "preload/preload.h"

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

EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
	if (unlikely(!take(lock)))
		wait_for(lock);
	return 0;
}

EXPORT int pthread_spin_trylock(pthread_spinlock_t *lock)
{
	return take(lock) ? 0 : EBUSY;
}

EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock)
{
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
