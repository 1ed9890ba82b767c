/* SPDX-License-Identifier: MIT */
/* pawl's locks as subjects of the read-write workloads, and the table of all subjects. */
#include "rwlock.h"

#include <pawl/mutex.h>
#include <pawl/rwlock.h>

static void read_lock(void *l)
{
	pawl_rwlock_read_lock(l);
}

static void read_unlock(void *l)
{
	pawl_rwlock_read_unlock(l);
}

static void write_lock(void *l)
{
	pawl_rwlock_write_lock(l);
}

static void write_unlock(void *l)
{
	pawl_rwlock_write_unlock(l);
}

DEFINE_RWLOCK_LOOP(ours, read_lock, read_unlock, write_lock, write_unlock);

static const struct bench_subject rwlock = {
	.name = "rwlock", .loop = ours_rwlock, .size = sizeof(struct pawl_rwlock)};

static void mutex_lock(void *l)
{
	pawl_mutex_lock(l);
}

static void mutex_unlock(void *l)
{
	pawl_mutex_unlock(l);
}

DEFINE_RWLOCK_LOOP(mutex, mutex_lock, mutex_unlock, mutex_lock, mutex_unlock);

static const struct bench_subject mutex = {
	.name = "mutex", .loop = mutex_rwlock, .size = sizeof(struct pawl_mutex)};

const struct bench_subject *const bench_rwlocks[] = {
	&rwlock,
	&mutex,
	&bench_pthread_rwlock,
	&bench_pthread_rwlock_writer,
#ifdef BENCH_STD
	&bench_std_shared,
#endif
#ifdef BENCH_NSYNC
	&bench_nsync_rwlock,
#endif
#ifdef BENCH_ABSEIL
	&bench_abseil_rwlock,
#endif
#ifdef BENCH_TBB
	&bench_tbb_rw_mutex,
	&bench_tbb_spin_rw_mutex,
#endif
#ifdef BENCH_CK
	&bench_ck_rwlock,
	&bench_ck_brlock,
	&bench_ck_pflock,
#endif
	NULL,
};
