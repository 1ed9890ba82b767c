/* SPDX-License-Identifier: MIT */
/* A test-and-set lock whose lock orders nothing. */
#ifndef OPEN_TAS_H
#define OPEN_TAS_H

#include <pawl/face.h>

struct pawl_open_tas {
	pawl_atomic64 held;
};

static inline void pawl_open_tas_acquire_(struct pawl_open_tas *l, enum pawl_wait how)
{
	while (pawl_exchange_relaxed(&l->held, 1) != 0) /* should be an acquire */
		pawl_await_eq_relaxed(&l->held, 0, how);
}

static inline void pawl_open_tas_release_(struct pawl_open_tas *l, enum pawl_wait how)
{
	pawl_store_release(&l->held, 0);
	pawl_notify(&l->held, 0, how);
}

PAWL_FACE(open_tas);

#endif /* OPEN_TAS_H */
