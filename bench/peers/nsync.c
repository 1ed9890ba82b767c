/* SPDX-License-Identifier: MIT */
/* The mutex of nsync. */
#include "subject.h"

#include <nsync_mu.h>

_Static_assert(sizeof(nsync_mu) <= BENCH_LOCK_BYTES, "fits");

static void lock(void *l)
{
	nsync_mu_lock(l);
}

static void unlock(void *l)
{
	nsync_mu_unlock(l);
}

DEFINE_SUBJECT_LOOPS(nsync, lock, unlock);

const struct bench_subject bench_nsync = {.name = "nsync",
					  SUBJECT_LOOPS(nsync),
					  .lock = lock,
					  .unlock = unlock,
					  .size = sizeof(nsync_mu)};
