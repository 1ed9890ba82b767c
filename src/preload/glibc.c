/* SPDX-License-Identifier: MIT */
/*
 * glibc's own functions. They are all looked up at once, at the first need.
 *
 * Order: [A] pairs with [R]: who sees that they are found sees where.
 */
#define _GNU_SOURCE
#include "preload/preload.h"

#include <errno.h>

/* Volatile: see glibc(). Such an access is whole, and to the checker a relaxed atomic one. */
static volatile struct glibc functions;
static pawl_atomic64 resolved;

/* Stands in for what this glibc does not have. */
static int absent(void)
{
	return ENOSYS;
}

static void find(volatile void *into, const char *name)
{
	void *function = symbol_after_us(name);

	*(void *volatile *)into = function != NULL ? function : (void *)absent;
}

static void resolve(void)
{
	find(&functions.mutex_init, "pthread_mutex_init");
	find(&functions.mutex_destroy, "pthread_mutex_destroy");
	find(&functions.mutex_lock, "pthread_mutex_lock");
	find(&functions.mutex_trylock, "pthread_mutex_trylock");
	find(&functions.mutex_timedlock, "pthread_mutex_timedlock");
	find(&functions.mutex_clocklock, "pthread_mutex_clocklock");
	find(&functions.mutex_unlock, "pthread_mutex_unlock");
	find(&functions.cond_init, "pthread_cond_init");
	find(&functions.cond_destroy, "pthread_cond_destroy");
	find(&functions.cond_signal, "pthread_cond_signal");
	find(&functions.cond_broadcast, "pthread_cond_broadcast");
	find(&functions.cond_wait, "pthread_cond_wait");
	find(&functions.cond_timedwait, "pthread_cond_timedwait");
	find(&functions.cond_clockwait, "pthread_cond_clockwait");
	find(&functions.rwlock_init, "pthread_rwlock_init");
	find(&functions.rwlock_destroy, "pthread_rwlock_destroy");
	find(&functions.rwlock_rdlock, "pthread_rwlock_rdlock");
	find(&functions.rwlock_wrlock, "pthread_rwlock_wrlock");
	find(&functions.rwlock_tryrdlock, "pthread_rwlock_tryrdlock");
	find(&functions.rwlock_trywrlock, "pthread_rwlock_trywrlock");
	find(&functions.rwlock_timedrdlock, "pthread_rwlock_timedrdlock");
	find(&functions.rwlock_timedwrlock, "pthread_rwlock_timedwrlock");
	find(&functions.rwlock_clockrdlock, "pthread_rwlock_clockrdlock");
	find(&functions.rwlock_clockwrlock, "pthread_rwlock_clockwrlock");
	find(&functions.rwlock_unlock, "pthread_rwlock_unlock");
	find(&functions.key_create, "pthread_key_create");
	find(&functions.register_atfork, "__register_atfork");
	find(&functions.dlvsym, "dlvsym");
	find(&functions.dlopen, "dlopen");
	find(&functions.dlmopen, "dlmopen");
	find(&functions.syscall, "syscall");
	find(&functions.prctl, "prctl");
	find(&functions.longjmp, "longjmp");
	find(&functions.siglongjmp, "siglongjmp");
	find(&functions.longjmp_checked, "__longjmp_chk");
	pawl_store_release(&resolved, 1); /* [R] */
}

/* Two threads may come at once, both find the same, and store it twice: the second while the
 * first reads it. */
const volatile struct glibc *glibc(void)
{
	if (unlikely(pawl_load_acquire(&resolved) == 0)) /* [A] */
		resolve();
	return &functions;
}
