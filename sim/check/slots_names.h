/* SPDX-License-Identifier: MIT */
/*
 * Shards and slots in the simulated world: included in front of src/lease/shards.c and
 * slots.c, which are compiled as they are. Leases are replaced by what pawl/lease.h says
 * of them, in slots_world.h, and so are yields; no thread may use sequences, and there is
 * no list of objects, for none forks.
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
#define pawl_lease_acquire sim_specified_acquire
#define pawl_lease_seize   sim_specified_seize
#define pawl_lease_recover sim_specified_recover
#define pawl_lease_release sim_specified_release
#define pawl_lease_break   sim_specified_break
#define pawl_lease_poll	   sim_specified_poll
#define pawl_lease_drain   sim_specified_drain
#define pawl_lease_open	   sim_specified_open
#define pawl_lease_share   sim_specified_share
#define pawl_lease_unshare sim_specified_unshare
#define pawl_os_yield	   sim_specified_yield
#define pawl_heirs_add	   sim_specified_heirs_add
#define pawl_heirs_remove  sim_specified_heirs_remove

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
