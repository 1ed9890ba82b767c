/* SPDX-License-Identifier: MIT */
/* A test-and-set lock that wakes a waiter before it stores what that waits for. */
#ifndef HASTY_TAS_H
#define HASTY_TAS_H

#include <pawl/face.h>

struct pawl_hasty_tas {
	pawl_atomic64 word;
};

static inline void pawl_hasty_tas_acquire_(struct pawl_hasty_tas *l, enum pawl_wait how)
{
	pawl_await_cas_acquire(&l->word, 0, 1, how);
}

static inline void pawl_hasty_tas_release_(struct pawl_hasty_tas *l, enum pawl_wait how)
{
	pawl_notify(&l->word, 0, how); /* should come last */
	pawl_store_release(&l->word, 0);
}

PAWL_FACE(hasty_tas);

#endif /* HASTY_TAS_H */
