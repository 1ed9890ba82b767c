/* SPDX-License-Identifier: MIT */
/* A ticket lock whose unlock publishes nothing. */
#ifndef RELAXED_TICKET_H
#define RELAXED_TICKET_H

#include <pawl/face.h>

struct pawl_relaxed_ticket {
	pawl_atomic64 next, serving;
};

static inline void pawl_relaxed_ticket_acquire_(struct pawl_relaxed_ticket *l,
						enum pawl_wait how)
{
	uint64_t mine = pawl_fetch_add_relaxed(&l->next, 1);

	pawl_await_eq_acquire(&l->serving, mine, how);
}

static inline void pawl_relaxed_ticket_release_(struct pawl_relaxed_ticket *l,
						enum pawl_wait how)
{
	uint64_t next = pawl_load_relaxed(&l->serving) + 1;

	pawl_store_relaxed(&l->serving, next); /* should be a release */
	pawl_notify(&l->serving, next, how);
}

PAWL_FACE(relaxed_ticket);

#endif /* RELAXED_TICKET_H */
