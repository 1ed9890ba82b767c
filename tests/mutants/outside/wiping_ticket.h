/* SPDX-License-Identifier: MIT */
/* A ticket lock that wipes its notes when the next thread may be inside already. */
#ifndef WIPING_TICKET_H
#define WIPING_TICKET_H

#include <pawl/face.h>

#include <string.h>

struct pawl_wiping_ticket {
	pawl_atomic64 next, serving;
	uint64_t notes[4];
};

static inline void pawl_wiping_ticket_acquire_(struct pawl_wiping_ticket *l,
					       enum pawl_wait how)
{
	uint64_t mine = pawl_fetch_add_relaxed(&l->next, 1);

	pawl_await_eq_acquire(&l->serving, mine, how);
	memset(l->notes, 1, sizeof(l->notes));
}

static inline void pawl_wiping_ticket_release_(struct pawl_wiping_ticket *l,
					       enum pawl_wait how)
{
	uint64_t next = pawl_load_relaxed(&l->serving) + 1;

	pawl_store_release(&l->serving, next);
	pawl_notify(&l->serving, next, how);
	memset(l->notes, 0, sizeof(l->notes)); /* should come first */
}

PAWL_FACE(wiping_ticket);

#endif /* WIPING_TICKET_H */
