/* SPDX-License-Identifier: MIT */
/* The mutexes of oneTBB that are its answer to ours. */
#include "subject.h"

#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/queuing_mutex.h>

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

/* A queuing mutex is taken by a scope: one lock a run, so one a thread will do. */
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
