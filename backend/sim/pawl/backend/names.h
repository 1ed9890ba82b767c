/* SPDX-License-Identifier: MIT */
/*
 * What the runtime supplies, under other names: so that simulated locks, which
 * have a runtime of their own, can live in one program with native ones.
 */
#ifndef PAWL_BACKEND_NAMES_H
#define PAWL_BACKEND_NAMES_H

#define pawl_twa_slots		sim_twa_slots
#define pawl_hapax_slots	sim_hapax_slots
#define pawl_hapax_vw_slots	sim_hapax_vw_slots
#define pawl_hapax_block	sim_hapax_block
#define pawl_hapax_gone		sim_hapax_gone
#define pawl_hapax_follow	sim_hapax_follow
#define pawl_hapax_wait_until	sim_hapax_wait_until
#define pawl_hapax_forget	sim_hapax_forget
#define pawl_park_for		sim_park_for
#define pawl_os_until		sim_os_until
#define pawl_node_new		sim_node_new
#define pawl_node_free		sim_node_free
#define pawl_thread_exit	sim_thread_exit
#define pawl_die		sim_die
#define pawl_buckets		sim_buckets
#define pawl_park		sim_park
#define pawl_unpark		sim_unpark
#define pawl_guard_lock		sim_guard_lock
#define pawl_guard_lock_for	sim_guard_lock_for
#define pawl_guard_unlock	sim_guard_unlock
#define pawl_bucket_lock	sim_bucket_lock
#define pawl_bucket_unlock	sim_bucket_unlock
#define pawl_bucket_find	sim_bucket_find
#define pawl_bucket_append	sim_bucket_append
#define pawl_bucket_remove	sim_bucket_remove
#define pawl_bucket_count	sim_bucket_count
#define pawl_bucket_uncount	sim_bucket_uncount
#define pawl_parked_really	sim_parked_really
#define pawl_park_fence		sim_park_fence
#define pawl_sleep		sim_sleeper_sleep
#define pawl_deadline_in	sim_deadline_in
#define pawl_mutex_lock_slow	sim_mutex_lock_slow
#define pawl_mutex_lock_until	sim_mutex_lock_until
#define pawl_mutex_unlock_slow	sim_mutex_unlock_slow
#define pawl_mutex_wake		sim_mutex_wake
#define pawl_barriers_pass	sim_barriers_pass
#define pawl_os_barrier		sim_os_barrier
#define pawl_os_barrier_cpu	sim_os_barrier_cpu
#define pawl_os_sleep		sim_os_sleep
#define pawl_os_yield		sim_os_yield
#define pawl_os_wake		sim_os_wake
#define pawl_os_now		sim_os_now
#define pawl_os_cpus		sim_os_cpus
#define pawl_costs		sim_costs
#define pawl_mutex_enqueue	sim_mutex_enqueue
#define pawl_mutex_has_queue	sim_mutex_has_queue
#define pawl_mutex_forget	sim_mutex_forget
#define pawl_mutex_abandon	sim_mutex_abandon
#define pawl_mutex_lock_queued	sim_mutex_lock_queued
#define pawl_deadline_at	sim_deadline_at
#define pawl_park_forget	sim_park_forget
#define pawl_cond_wait_slow	sim_cond_wait_slow
#define pawl_cond_wait_until	sim_cond_wait_until
#define pawl_cond_signal_slow	sim_cond_signal_slow
#define pawl_cond_enroll	sim_cond_enroll
#define pawl_cond_withdraw	sim_cond_withdraw
#define pawl_cond_sleep		sim_cond_sleep
#define pawl_sleeper_tell	sim_sleeper_tell
#define pawl_lease_acquire_slow sim_lease_acquire_slow
#define pawl_lease_nested	sim_lease_nested
#define pawl_lease_seize	sim_lease_seize
#define pawl_lease_recover	sim_lease_recover
#define pawl_lease_break	sim_lease_break
#define pawl_lease_poll		sim_lease_poll
#define pawl_lease_drain	sim_lease_drain
#define pawl_lease_open		sim_lease_open
#define pawl_lease_self_slow	sim_lease_self_slow
#define pawl_lease_count	sim_lease_count
#define pawl_lease_handle_of	sim_lease_handle_of
#define pawl_lease_handle_free	sim_lease_handle_free
#define pawl_lease_barrier	sim_lease_barrier
#define pawl_lease_barrier_all	sim_lease_barrier_all
#define pawl_lease_refused	sim_lease_refused
#define pawl_lease_exit		sim_lease_exit
#define pawl_lease_abandon	sim_lease_abandon
#define pawl_lease_close	sim_lease_close
#define pawl_lease_reopen	sim_lease_reopen
#define pawl_lease_closed	sim_lease_closed
#define pawl_lease_forget	sim_lease_forget
#define pawl_lease_lock		sim_lease_lock
#define pawl_lease_unlock	sim_lease_unlock
#define pawl_lease_generation	sim_lease_generation
#define pawl_region_claim	sim_region_claim
#define pawl_region_free	sim_region_free
#define pawl_region_lives	sim_region_lives
#define pawl_region_try		sim_region_try
#define pawl_region_lock	sim_region_lock
#define pawl_region_owns	sim_region_owns
#define pawl_region_holds	sim_region_holds
#define pawl_region_consistent	sim_region_consistent
#define pawl_region_wake_slow	sim_region_wake_slow
#define pawl_os_barrier_all	sim_os_barrier_all
#define pawl_os_sleep_shared	sim_os_sleep_shared
#define pawl_os_wake_shared	sim_os_wake_shared
#define pawl_os_thread_gone	sim_os_thread_gone

#endif /* PAWL_BACKEND_NAMES_H */
