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

/* There are two copies: that of interposer.c, whose names begin with sim_, and that of
 * start.c. */
#ifndef INTERPOSER_COPY
#define INTERPOSER_COPY sim
#endif
#define INTERPOSER_JOIN(copy, name) copy##_##name
#define INTERPOSER_NAME(copy, name) INTERPOSER_JOIN(copy, name)
#define INTERPOSED(name)	    INTERPOSER_NAME(INTERPOSER_COPY, name)

#define pthread_mutex_init	    INTERPOSED(pthread_mutex_init)
#define pthread_mutex_destroy	    INTERPOSED(pthread_mutex_destroy)
#define pthread_mutex_lock	    INTERPOSED(pthread_mutex_lock)
#define pthread_mutex_trylock	    INTERPOSED(pthread_mutex_trylock)
#define pthread_mutex_timedlock	    INTERPOSED(pthread_mutex_timedlock)
#define pthread_mutex_clocklock	    INTERPOSED(pthread_mutex_clocklock)
#define pthread_mutex_unlock	    INTERPOSED(pthread_mutex_unlock)
#define __pthread_mutex_init	    INTERPOSED(old_pthread_mutex_init)
#define __pthread_mutex_destroy	    INTERPOSED(old_pthread_mutex_destroy)
#define __pthread_mutex_lock	    INTERPOSED(old_pthread_mutex_lock)
#define __pthread_mutex_trylock	    INTERPOSED(old_pthread_mutex_trylock)
#define __pthread_mutex_unlock	    INTERPOSED(old_pthread_mutex_unlock)
#define pthread_cond_init	    INTERPOSED(pthread_cond_init)
#define pthread_cond_destroy	    INTERPOSED(pthread_cond_destroy)
#define pthread_cond_signal	    INTERPOSED(pthread_cond_signal)
#define pthread_cond_broadcast	    INTERPOSED(pthread_cond_broadcast)
#define pthread_cond_wait	    INTERPOSED(pthread_cond_wait)
#define pthread_cond_timedwait	    INTERPOSED(pthread_cond_timedwait)
#define pthread_cond_clockwait	    INTERPOSED(pthread_cond_clockwait)
#define mtx_init		    INTERPOSED(mtx_init)
#define mtx_lock		    INTERPOSED(mtx_lock)
#define mtx_trylock		    INTERPOSED(mtx_trylock)
#define mtx_timedlock		    INTERPOSED(mtx_timedlock)
#define mtx_unlock		    INTERPOSED(mtx_unlock)
#define mtx_destroy		    INTERPOSED(mtx_destroy)
#define cnd_init		    INTERPOSED(cnd_init)
#define cnd_wait		    INTERPOSED(cnd_wait)
#define cnd_timedwait		    INTERPOSED(cnd_timedwait)
#define cnd_signal		    INTERPOSED(cnd_signal)
#define cnd_broadcast		    INTERPOSED(cnd_broadcast)
#define cnd_destroy		    INTERPOSED(cnd_destroy)
#define pthread_setcanceltype	    INTERPOSED(pthread_setcanceltype)

#define mutex_lock		    INTERPOSED(preload_mutex_lock)
#define mutex_unlock		    INTERPOSED(preload_mutex_unlock)
#define mutex_queue		    INTERPOSED(preload_mutex_queue)
#define mutex_may_suspend	    INTERPOSED(preload_mutex_may_suspend)
#define mutex_suspend		    INTERPOSED(preload_mutex_suspend)
#define mutex_resume		    INTERPOSED(preload_mutex_resume)
#define lock_choose		    INTERPOSED(preload_lock_choose)
#define lock_forked		    INTERPOSED(preload_lock_forked)
#define lock_is_default		    INTERPOSED(preload_lock_is_default)
#define lock_take		    INTERPOSED(preload_lock_take)
#define lock_take_until		    INTERPOSED(preload_lock_take_until)
#define lock_try		    INTERPOSED(preload_lock_try)
#define lock_give		    INTERPOSED(preload_lock_give)
#define lock_owner		    INTERPOSED(preload_lock_owner)
#define lock_queue		    INTERPOSED(preload_lock_queue)
#define glibc			    INTERPOSED(preload_glibc)
#define start			    INTERPOSED(preload_start)
#define not_started		    (*sim_preload_not_started)
#define not_plain		    INTERPOSED(preload_not_plain)
#define identity_at		    INTERPOSED(preload_identity_at)
#define identity_ask		    INTERPOSED(preload_identity_ask)
#define stats_on		    INTERPOSED(preload_stats_on)
#define stats_in_cond		    INTERPOSED(preload_stats_in_cond)
#define stats_acquired		    INTERPOSED(preload_stats_acquired)
#define stats_waiting		    INTERPOSED(preload_stats_waiting)
#define stats_waited		    INTERPOSED(preload_stats_waited)
#define stats_requeued		    INTERPOSED(preload_stats_requeued)
#define profile_on		    INTERPOSED(preload_profile_on)
#define profile_orders		    INTERPOSED(preload_profile_orders)
#define profile_file		    INTERPOSED(preload_profile_file)
#define profile_mine		    INTERPOSED(preload_profile_mine)
#define profile_initialised	    INTERPOSED(preload_profile_initialised)
#define profile_wait		    INTERPOSED(preload_profile_wait)
#define profile_waited		    INTERPOSED(preload_profile_waited)
#define profile_took		    INTERPOSED(preload_profile_took)
#define profile_leaves		    INTERPOSED(preload_profile_leaves)
#define profile_left		    INTERPOSED(preload_profile_left)
#define profile_order		    INTERPOSED(preload_profile_order)
/* Read-write locks. */
#define pthread_rwlock_init	   INTERPOSED(pthread_rwlock_init)
#define pthread_rwlock_destroy	   INTERPOSED(pthread_rwlock_destroy)
#define pthread_rwlock_rdlock	   INTERPOSED(pthread_rwlock_rdlock)
#define pthread_rwlock_wrlock	   INTERPOSED(pthread_rwlock_wrlock)
#define pthread_rwlock_tryrdlock   INTERPOSED(pthread_rwlock_tryrdlock)
#define pthread_rwlock_trywrlock   INTERPOSED(pthread_rwlock_trywrlock)
#define pthread_rwlock_timedrdlock INTERPOSED(pthread_rwlock_timedrdlock)
#define pthread_rwlock_timedwrlock INTERPOSED(pthread_rwlock_timedwrlock)
#define pthread_rwlock_clockrdlock INTERPOSED(pthread_rwlock_clockrdlock)
#define pthread_rwlock_clockwrlock INTERPOSED(pthread_rwlock_clockwrlock)
#define pthread_rwlock_unlock	   INTERPOSED(pthread_rwlock_unlock)
#define __pthread_rwlock_init	   INTERPOSED(old_pthread_rwlock_init)
#define __pthread_rwlock_destroy   INTERPOSED(old_pthread_rwlock_destroy)
#define __pthread_rwlock_rdlock	   INTERPOSED(old_pthread_rwlock_rdlock)
#define __pthread_rwlock_wrlock	   INTERPOSED(old_pthread_rwlock_wrlock)
#define __pthread_rwlock_tryrdlock INTERPOSED(old_pthread_rwlock_tryrdlock)
#define __pthread_rwlock_trywrlock INTERPOSED(old_pthread_rwlock_trywrlock)
#define __pthread_rwlock_unlock	   INTERPOSED(old_pthread_rwlock_unlock)
#define rwlock_choose		   INTERPOSED(preload_rwlock_choose)
#define rwlock_plain_if		   (*INTERPOSED(preload_rwlock_plain_if))
#define stats_read		   INTERPOSED(preload_stats_read)
#define stats_written		   INTERPOSED(preload_stats_written)
#define stats_rwlock_waiting	   INTERPOSED(preload_stats_rwlock_waiting)
#define stats_rwlock_waited	   INTERPOSED(preload_stats_rwlock_waited)
/* Spin locks. */
#define pthread_spin_init    INTERPOSED(pthread_spin_init)
#define pthread_spin_destroy INTERPOSED(pthread_spin_destroy)
#define pthread_spin_lock    INTERPOSED(pthread_spin_lock)
#define pthread_spin_trylock INTERPOSED(pthread_spin_trylock)
#define pthread_spin_unlock  INTERPOSED(pthread_spin_unlock)
#define sched_yield	     INTERPOSED(sched_yield)
/* Keys and forks. */
#define pthread_key_create	  INTERPOSED(pthread_key_create)
#define __pthread_key_create	  INTERPOSED(old_pthread_key_create)
#define __wrap_pthread_key_create INTERPOSED(wrapped_pthread_key_create)
#define tss_create		  INTERPOSED(tss_create)
#define __register_atfork	  INTERPOSED(register_atfork)
#define pawl_preload_forked	  INTERPOSED(preload_forked)
#define barrier_forked		  INTERPOSED(preload_barrier_forked)
#define verbose			  INTERPOSED(preload_verbose)
#define identity_start		  INTERPOSED(preload_identity_start)
#define my_record_if_any	  INTERPOSED(preload_my_record_if_any)
#define my_record		  INTERPOSED(preload_my_record)
#define all_records		  INTERPOSED(preload_all_records)
#define records_forked		  INTERPOSED(preload_records_forked)
#define stats_start		  INTERPOSED(preload_stats_start)
#define stats_forked		  INTERPOSED(preload_stats_forked)
#define profile_start		  INTERPOSED(preload_profile_start)
#define profile_forked		  INTERPOSED(preload_profile_forked)
#define offer_refusal		  INTERPOSED(preload_offer_refusal)
/* The linker's --wrap: what statistics add is left out. */
#define __real_pawl_mutex_enqueue  sim_mutex_enqueue
#define __wrap_pawl_mutex_enqueue  INTERPOSED(preload_mutex_enqueue)
#define __real_pawl_sleeper_notify sim_sleeper_notify
#define __wrap_pawl_sleeper_notify INTERPOSED(preload_sleeper_notify)

#include <pthread.h>

/* The running thread's id, in memory that nobody writes; see identity_look(). */
const char *INTERPOSED(thread_pointer)(void);
#define __builtin_thread_pointer INTERPOSED(thread_pointer)

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
