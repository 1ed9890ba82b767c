/* SPDX-License-Identifier: MIT */
/* The mutex of nsync, which is also its read-write lock, and its condition variable. */
#include "rwlock.h"
#include "subject.h"

#include <nsync.h>

_Static_assert(sizeof(nsync_mu) <= BENCH_LOCK_BYTES, "fits");
_Static_assert(sizeof(nsync_cv) <= BENCH_LOCK_BYTES, "fits");

static void lock(void *l)
{
	nsync_mu_lock(l);
}

static void unlock(void *l)
{
	nsync_mu_unlock(l);
}

static void wait(void *c, void *l)
{
	nsync_cv_wait(c, l);
}

static bool wait_for(void *c, void *l, uint64_t ns)
{
	nsync_time length = nsync_time_s_ns((time_t)(ns / 1000000000u),
					    (unsigned)(ns % 1000000000u));

	return nsync_cv_wait_with_deadline(c, l, nsync_time_add(nsync_time_now(), length),
					   NULL) == 0;
}

static void signal(void *c)
{
	nsync_cv_signal(c);
}

static void broadcast(void *c)
{
	nsync_cv_broadcast(c);
}

static const struct bench_cond_type cond = {
	.wait = wait, .wait_for = wait_for, .signal = signal, .broadcast = broadcast};

DEFINE_SUBJECT_LOOPS(nsync, lock, unlock);

const struct bench_subject bench_nsync = {.name = "nsync",
					  SUBJECT_LOOPS(nsync),
					  .lock = lock,
					  .unlock = unlock,
					  .size = sizeof(nsync_mu),
					  .cond = &cond};

static void read_lock(void *l)
{
	nsync_mu_rlock(l);
}

static void read_unlock(void *l)
{
	nsync_mu_runlock(l);
}

DEFINE_RWLOCK_LOOP(nsync, read_lock, read_unlock, lock, unlock);

const struct bench_subject bench_nsync_rwlock = {
	.name = "nsync", .loop = nsync_rwlock, .size = sizeof(nsync_mu)};
