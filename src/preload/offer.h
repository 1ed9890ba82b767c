/* SPDX-License-Identifier: MIT */
/* Which locks can be put under pthread, for the interposer and `pawl run`. */
#ifndef PAWL_PRELOAD_OFFER_H
#define PAWL_PRELOAD_OFFER_H

#include "registry/registry.h"

/* The lock that is used if none is named. */
#define OFFER_DEFAULT "mutex"

/* Returns NULL if the lock is offered, else why it is not: half a sentence that
 * follows "is not offered: ". */
const char *offer_refusal(const struct lock_type *type);

#endif /* PAWL_PRELOAD_OFFER_H */
