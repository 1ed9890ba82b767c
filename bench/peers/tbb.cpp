/* SPDX-License-Identifier: MIT */
/* The mutexes of oneTBB, and its read-write locks. */
#include "rwlock.h"
#include "subject.h"

#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>

#include <new>

static void mutex_init(void *l)
{
	new (l) tbb::mutex;
}

static void mutex_lock(void *l)
{
	static_cast<tbb::mutex *>(l)->lock();
}

static void mutex_unlock(void *l)
{
	static_cast<tbb::mutex *>(l)->unlock();
}

DEFINE_SUBJECT_LOOPS(mutex, mutex_lock, mutex_unlock);

const struct bench_subject bench_tbb_mutex = {"tbb-mutex",
					      SUBJECT_LOOPS(mutex),
					      mutex_lock,
					      mutex_unlock,
					      sizeof(tbb::mutex),
					      mutex_init,
					      NULL,
					      false,
					      NULL};

/* A queuing mutex is taken by a scope object: one lock per run, so one per thread is
 * enough. */
static thread_local tbb::queuing_mutex::scoped_lock scope;

static void queuing_init(void *l)
{
	new (l) tbb::queuing_mutex;
}

static void queuing_lock(void *l)
{
	scope.acquire(*static_cast<tbb::queuing_mutex *>(l));
}

static void queuing_unlock(void *l)
{
	(void)l;
	scope.release();
}

DEFINE_SUBJECT_LOOPS(queuing, queuing_lock, queuing_unlock);

const struct bench_subject bench_tbb_queuing_mutex = {"tbb-queuing-mutex",
						      SUBJECT_LOOPS(queuing),
						      queuing_lock,
						      queuing_unlock,
						      sizeof(tbb::queuing_mutex),
						      queuing_init,
						      NULL,
						      true,
						      NULL};

template <typename Lock> static void rw_init(void *l)
{
	new (l) Lock;
}

template <typename Lock> static void read_lock(void *l)
{
	static_cast<Lock *>(l)->lock_shared();
}

template <typename Lock> static void read_unlock(void *l)
{
	static_cast<Lock *>(l)->unlock_shared();
}

template <typename Lock> static void write_lock(void *l)
{
	static_cast<Lock *>(l)->lock();
}

template <typename Lock> static void write_unlock(void *l)
{
	static_cast<Lock *>(l)->unlock();
}

DEFINE_RWLOCK_LOOP(sleeping, read_lock<tbb::rw_mutex>, read_unlock<tbb::rw_mutex>,
		   write_lock<tbb::rw_mutex>, write_unlock<tbb::rw_mutex>);
DEFINE_RWLOCK_LOOP(spinning, read_lock<tbb::spin_rw_mutex>,
		   read_unlock<tbb::spin_rw_mutex>, write_lock<tbb::spin_rw_mutex>,
		   write_unlock<tbb::spin_rw_mutex>);

const struct bench_subject bench_tbb_rw_mutex = {
	"tbb-rw-mutex",	       sleeping_rwlock,	       NULL, NULL,  NULL,
	sizeof(tbb::rw_mutex), rw_init<tbb::rw_mutex>, NULL, false, NULL};
const struct bench_subject bench_tbb_spin_rw_mutex = {"tbb-spin-rw-mutex",
						      spinning_rwlock,
						      NULL,
						      NULL,
						      NULL,
						      sizeof(tbb::spin_rw_mutex),
						      rw_init<tbb::spin_rw_mutex>,
						      NULL,
						      false,
						      NULL};
