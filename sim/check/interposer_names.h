/* SPDX-License-Identifier: MIT */
/*
 * The interposer in the simulated world: included in front of its files, which are
 * compiled as they are. What they export, and what they call each other by, gets other
 * names, since the checker has mutexes of its own; threads, which are fibers, have their
 * number where a thread pointer would be; and cancellation is a scenario's.
 */
#ifndef CHECK_INTERPOSER_NAMES_H
#define CHECK_INTERPOSER_NAMES_H

#define _GNU_SOURCE

#define pthread_mutex_init	sim_pthread_mutex_init
#define pthread_mutex_destroy	sim_pthread_mutex_destroy
#define pthread_mutex_lock	sim_pthread_mutex_lock
#define pthread_mutex_trylock	sim_pthread_mutex_trylock
#define pthread_mutex_timedlock sim_pthread_mutex_timedlock
#define pthread_mutex_clocklock sim_pthread_mutex_clocklock
#define pthread_mutex_unlock	sim_pthread_mutex_unlock
#define __pthread_mutex_init	sim_old_pthread_mutex_init
#define __pthread_mutex_destroy sim_old_pthread_mutex_destroy
#define __pthread_mutex_lock	sim_old_pthread_mutex_lock
#define __pthread_mutex_trylock sim_old_pthread_mutex_trylock
#define __pthread_mutex_unlock	sim_old_pthread_mutex_unlock
#define pthread_cond_init	sim_pthread_cond_init
#define pthread_cond_destroy	sim_pthread_cond_destroy
#define pthread_cond_signal	sim_pthread_cond_signal
#define pthread_cond_broadcast	sim_pthread_cond_broadcast
#define pthread_cond_wait	sim_pthread_cond_wait
#define pthread_cond_timedwait	sim_pthread_cond_timedwait
#define pthread_cond_clockwait	sim_pthread_cond_clockwait
#define mtx_init		sim_mtx_init
#define mtx_lock		sim_mtx_lock
#define mtx_trylock		sim_mtx_trylock
#define mtx_timedlock		sim_mtx_timedlock
#define mtx_unlock		sim_mtx_unlock
#define mtx_destroy		sim_mtx_destroy
#define cnd_init		sim_cnd_init
#define cnd_wait		sim_cnd_wait
#define cnd_timedwait		sim_cnd_timedwait
#define cnd_signal		sim_cnd_signal
#define cnd_broadcast		sim_cnd_broadcast
#define cnd_destroy		sim_cnd_destroy
#define pthread_setcanceltype	sim_pthread_setcanceltype

#define mutex_lock		sim_preload_mutex_lock
#define mutex_unlock		sim_preload_mutex_unlock
#define mutex_queue		sim_preload_mutex_queue
#define mutex_may_suspend	sim_preload_mutex_may_suspend
#define mutex_suspend		sim_preload_mutex_suspend
#define mutex_resume		sim_preload_mutex_resume
#define lock_choose		sim_preload_lock_choose
#define lock_forked		sim_preload_lock_forked
#define lock_is_default		sim_preload_lock_is_default
#define lock_take		sim_preload_lock_take
#define lock_take_until		sim_preload_lock_take_until
#define lock_try		sim_preload_lock_try
#define lock_give		sim_preload_lock_give
#define lock_owner		sim_preload_lock_owner
#define lock_queue		sim_preload_lock_queue
#define glibc			sim_preload_glibc
#define start			sim_preload_start
#define not_started		(*sim_preload_not_started)
#define not_plain		sim_preload_not_plain
#define identity_at		sim_preload_identity_at
#define identity_ask		sim_preload_identity_ask
#define stats_on		sim_preload_stats_on
#define stats_in_cond		sim_preload_stats_in_cond
#define stats_acquired		sim_preload_stats_acquired
#define stats_waiting		sim_preload_stats_waiting
#define stats_waited		sim_preload_stats_waited
#define stats_requeued		sim_preload_stats_requeued
#define profile_on		sim_preload_profile_on
#define profile_orders		sim_preload_profile_orders
#define profile_file		sim_preload_profile_file
#define profile_mine		sim_preload_profile_mine
#define profile_initialised	sim_preload_profile_initialised
#define profile_wait		sim_preload_profile_wait
#define profile_waited		sim_preload_profile_waited
#define profile_took		sim_preload_profile_took
#define profile_leaves		sim_preload_profile_leaves
#define profile_left		sim_preload_profile_left
#define profile_order		sim_preload_profile_order
/* Read-write locks. */
#define pthread_rwlock_init	   sim_pthread_rwlock_init
#define pthread_rwlock_destroy	   sim_pthread_rwlock_destroy
#define pthread_rwlock_rdlock	   sim_pthread_rwlock_rdlock
#define pthread_rwlock_wrlock	   sim_pthread_rwlock_wrlock
#define pthread_rwlock_tryrdlock   sim_pthread_rwlock_tryrdlock
#define pthread_rwlock_trywrlock   sim_pthread_rwlock_trywrlock
#define pthread_rwlock_timedrdlock sim_pthread_rwlock_timedrdlock
#define pthread_rwlock_timedwrlock sim_pthread_rwlock_timedwrlock
#define pthread_rwlock_clockrdlock sim_pthread_rwlock_clockrdlock
#define pthread_rwlock_clockwrlock sim_pthread_rwlock_clockwrlock
#define pthread_rwlock_unlock	   sim_pthread_rwlock_unlock
#define __pthread_rwlock_init	   sim_old_pthread_rwlock_init
#define __pthread_rwlock_destroy   sim_old_pthread_rwlock_destroy
#define __pthread_rwlock_rdlock	   sim_old_pthread_rwlock_rdlock
#define __pthread_rwlock_wrlock	   sim_old_pthread_rwlock_wrlock
#define __pthread_rwlock_tryrdlock sim_old_pthread_rwlock_tryrdlock
#define __pthread_rwlock_trywrlock sim_old_pthread_rwlock_trywrlock
#define __pthread_rwlock_unlock	   sim_old_pthread_rwlock_unlock
#define rwlock_choose		   sim_preload_rwlock_choose
#define rwlock_plain_if		   sim_preload_rwlock_plain_if
#define stats_read		   sim_preload_stats_read
#define stats_written		   sim_preload_stats_written
#define stats_rwlock_waiting	   sim_preload_stats_rwlock_waiting
#define stats_rwlock_waited	   sim_preload_stats_rwlock_waited
/* The linker's --wrap: what statistics add is left out. */
#define __real_pawl_mutex_enqueue  sim_mutex_enqueue
#define __wrap_pawl_mutex_enqueue  sim_preload_mutex_enqueue
#define __real_pawl_sleeper_notify sim_sleeper_notify
#define __wrap_pawl_sleeper_notify sim_preload_sleeper_notify

#include <pthread.h>

/* The running thread's id, in memory that nobody writes; see identity_look(). */
const char *sim_thread_pointer(void);
#define __builtin_thread_pointer sim_thread_pointer

void sim_cleanup_push(void (*handler)(void *), void *argument);
void sim_cleanup_pop(void);
#define __pthread_unregister_cancel(handler) sim_cleanup_pop()
#undef pthread_cleanup_push
#undef pthread_cleanup_pop
#define pthread_cleanup_push(handler, argument) \
	{                                       \
		char __cancel_buf;              \
		sim_cleanup_push(handler, argument)
#define pthread_cleanup_pop(execute) \
	sim_cleanup_pop();           \
	}

#endif /* CHECK_INTERPOSER_NAMES_H */
