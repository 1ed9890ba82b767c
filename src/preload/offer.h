/* SPDX-License-Identifier: MIT */
/* Which locks can be put under pthread, for the interposer and `pawl run`. */
#ifndef PAWL_PRELOAD_OFFER_H
#define PAWL_PRELOAD_OFFER_H

#include "registry/registry.h"

/* The lock that is used if none is named. */
#define OFFER_DEFAULT "mutex"

/* Values of PAWL_RWLOCK: the read-write locks are pawl's, if it is not set. */
#define OFFER_RWLOCK_OURS  "pawl"
#define OFFER_RWLOCK_GLIBC "glibc"

/* Returns NULL if the lock is offered, else why it is not: half a sentence that
 * follows "is not offered: ". */
const char *offer_refusal(const struct lock_type *type);

#endif /* PAWL_PRELOAD_OFFER_H */
