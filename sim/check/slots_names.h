/* SPDX-License-Identifier: MIT */
/*
 * Shards and slots in the simulated world: included in front of src/lease/shards.c and
 * slots.c, which are compiled as they are. Leases are replaced by what pawl/lease.h says
 * of them, in slots_world.h, and so are yields; no thread may use sequences, and there is
 * no list of objects, for none forks. All under names of their own: on leases as they are,
 * and with forks, they are played by heirs.c.
 */
#ifndef CHECK_SLOTS_NAMES_H
#define CHECK_SLOTS_NAMES_H

#include <pawl/lease.h>

#undef pawl_lease_seize
#undef pawl_lease_recover
#undef pawl_lease_break
#undef pawl_lease_poll
#undef pawl_lease_drain
#undef pawl_lease_open
#undef pawl_lease_share
#undef pawl_lease_unshare
#undef pawl_os_yield
#undef pawl_slots_create
#undef pawl_slots_create_by
#undef pawl_slots_destroy
#undef pawl_slots_inherit
#undef pawl_slots_bequeath
#undef pawl_slots_get_batch
#undef pawl_slots_put_batch
#undef pawl_slots_peak
#undef pawl_slots_each_idle
#undef pawl_slots_get_slow_
#undef pawl_slots_put_slow_
#undef pawl_slots_get_otherwise_
#undef pawl_slots_put_otherwise_
#undef pawl_shards_create
#undef pawl_shards_destroy
#undef pawl_shards_maintain
#undef pawl_shards_tick
#undef pawl_shards_reclaim
#undef pawl_shards_frozen
#undef pawl_shards_get_stats
#undef pawl_shards_used
#undef pawl_shards_contended
#undef pawl_shards_begin_slow_
#undef pawl_shards_enter_slow_
#undef pawl_shards_note_use_
#undef pawl_shards_exit_shared
#undef pawl_heirs_add
#undef pawl_heirs_remove
#define pawl_lease_acquire	  sim_specified_acquire
#define pawl_lease_seize	  sim_specified_seize
#define pawl_lease_recover	  sim_specified_recover
#define pawl_lease_release	  sim_specified_release
#define pawl_lease_break	  sim_specified_break
#define pawl_lease_poll		  sim_specified_poll
#define pawl_lease_drain	  sim_specified_drain
#define pawl_lease_open		  sim_specified_open
#define pawl_lease_share	  sim_specified_share
#define pawl_lease_unshare	  sim_specified_unshare
#define pawl_os_yield		  sim_specified_yield
#define pawl_heirs_add		  sim_specified_heirs_add
#define pawl_heirs_remove	  sim_specified_heirs_remove
#define pawl_slots_create	  sim_specified_slots_create
#define pawl_slots_create_by	  sim_specified_slots_create_by
#define pawl_slots_destroy	  sim_specified_slots_destroy
#define pawl_slots_inherit	  sim_specified_slots_inherit
#define pawl_slots_bequeath	  sim_specified_slots_bequeath
#define pawl_slots_get_batch	  sim_specified_slots_get_batch
#define pawl_slots_put_batch	  sim_specified_slots_put_batch
#define pawl_slots_peak		  sim_specified_slots_peak
#define pawl_slots_each_idle	  sim_specified_slots_each_idle
#define pawl_slots_get_slow_	  sim_specified_slots_get_slow
#define pawl_slots_put_slow_	  sim_specified_slots_put_slow
#define pawl_slots_get_otherwise_ sim_specified_slots_get_otherwise
#define pawl_slots_put_otherwise_ sim_specified_slots_put_otherwise
#define pawl_shards_create	  sim_specified_shards_create
#define pawl_shards_destroy	  sim_specified_shards_destroy
#define pawl_shards_maintain	  sim_specified_shards_maintain
#define pawl_shards_tick	  sim_specified_shards_tick
#define pawl_shards_reclaim	  sim_specified_shards_reclaim
#define pawl_shards_frozen	  sim_specified_shards_frozen
#define pawl_shards_get_stats	  sim_specified_shards_get_stats
#define pawl_shards_used	  sim_specified_shards_used
#define pawl_shards_contended	  sim_specified_shards_contended
#define pawl_shards_begin_slow_	  sim_specified_shards_begin_slow
#define pawl_shards_enter_slow_	  sim_specified_shards_enter_slow
#define pawl_shards_note_use_	  sim_specified_shards_note_use
#define pawl_shards_exit_shared	  sim_specified_shards_exit_shared

enum pawl_lease_result pawl_lease_acquire(struct pawl_lease *l,
					  struct pawl_lease_handle *h);
enum pawl_lease_result pawl_lease_seize(struct pawl_lease *l,
					struct pawl_lease_handle *h);
enum pawl_lease_result pawl_lease_recover(struct pawl_lease *l,
					  struct pawl_lease_handle *h);
void pawl_lease_release(struct pawl_lease *l, struct pawl_lease_handle *h);
void pawl_lease_break(struct pawl_lease *l);
unsigned pawl_lease_poll(void);
bool pawl_lease_drain(struct pawl_lease *l, uint64_t ns);
void pawl_lease_open(struct pawl_lease *l);

#include <pawl/shards.h>

/* By leases alone. */
#define pawl_sequence_pop_(place, own)	      ((void)(place), UINT32_MAX)
#define pawl_sequence_push_(place, own, slot) ((void)(place), false)
#define pawl_sequence_add_(place, own, n)     ((void)(place), false)

#endif /* CHECK_SLOTS_NAMES_H */
