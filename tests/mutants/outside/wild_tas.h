/* SPDX-License-Identifier: MIT */
/* A test-and-set lock that takes for an address what is none, if somebody is inside. */
#ifndef WILD_TAS_H
#define WILD_TAS_H

#include <pawl/face.h>

struct pawl_wild_tas {
	pawl_atomic64 held;
};

static inline void pawl_wild_tas_acquire_(struct pawl_wild_tas *l, enum pawl_wait how)
{
	while (pawl_exchange_acquire(&l->held, 1) != 0) {
		*(volatile uint64_t *)pawl_pointer(~(uint64_t)0 / 3 * 2 &
						   ~(uint64_t)7) = 1;
		pawl_await_eq_relaxed(&l->held, 0, how);
	}
}

static inline void pawl_wild_tas_release_(struct pawl_wild_tas *l, enum pawl_wait how)
{
	pawl_store_release(&l->held, 0);
	pawl_notify(&l->held, 0, how);
}

PAWL_FACE(wild_tas);

#endif /* WILD_TAS_H */
