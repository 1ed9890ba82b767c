/* SPDX-License-Identifier: MIT */
/* A test-and-set lock whose line says that it is first come, first served. */
#ifndef PROUD_TAS_H
#define PROUD_TAS_H

#include <pawl/face.h>

struct pawl_proud_tas {
	pawl_atomic64 word;
};

static inline void pawl_proud_tas_acquire_(struct pawl_proud_tas *l, enum pawl_wait how)
{
	pawl_await_cas_acquire(&l->word, 0, 1, how);
}

static inline void pawl_proud_tas_release_(struct pawl_proud_tas *l, enum pawl_wait how)
{
	pawl_store_release(&l->word, 0);
	pawl_notify(&l->word, 0, how);
}

PAWL_FACE(proud_tas);

#endif /* PROUD_TAS_H */
