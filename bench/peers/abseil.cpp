/* SPDX-License-Identifier: MIT */
/* The mutex of Abseil, which is also its read-write lock, and its condition variable. */
#include "rwlock.h"
#include "subject.h"

#include <absl/synchronization/mutex.h>
#include <absl/time/time.h>

#include <new>

static_assert(sizeof(absl::Mutex) <= BENCH_LOCK_BYTES, "fits");
static_assert(sizeof(absl::CondVar) <= BENCH_LOCK_BYTES, "fits");

static void init(void *l)
{
	new (l) absl::Mutex;
}

static void destroy(void *l)
{
	static_cast<absl::Mutex *>(l)->~Mutex();
}

static void lock(void *l)
{
	static_cast<absl::Mutex *>(l)->Lock();
}

static void unlock(void *l)
{
	static_cast<absl::Mutex *>(l)->Unlock();
}

static absl::CondVar *variable(void *c)
{
	return static_cast<absl::CondVar *>(c);
}

static void init_cond(void *c)
{
	new (c) absl::CondVar;
}

static void destroy_cond(void *c)
{
	variable(c)->~CondVar();
}

static void wait(void *c, void *l)
{
	variable(c)->Wait(static_cast<absl::Mutex *>(l));
}

static bool wait_for(void *c, void *l, uint64_t ns)
{
	return !variable(c)->WaitWithTimeout(static_cast<absl::Mutex *>(l),
					     absl::Nanoseconds(ns));
}

static void signal(void *c)
{
	variable(c)->Signal();
}

static void broadcast(void *c)
{
	variable(c)->SignalAll();
}

static const bench_cond_type cond = {init_cond, destroy_cond, wait,
				     wait_for,	signal,	      broadcast};

DEFINE_SUBJECT_LOOPS(abseil, lock, unlock);

const struct bench_subject bench_abseil = {"abseil",
					   SUBJECT_LOOPS(abseil),
					   lock,
					   unlock,
					   sizeof(absl::Mutex),
					   init,
					   destroy,
					   false,
					   &cond};

static void read_lock(void *l)
{
	static_cast<absl::Mutex *>(l)->ReaderLock();
}

static void read_unlock(void *l)
{
	static_cast<absl::Mutex *>(l)->ReaderUnlock();
}

DEFINE_RWLOCK_LOOP(abseil, read_lock, read_unlock, lock, unlock);

const struct bench_subject bench_abseil_rwlock = {
	"abseil", abseil_rwlock, NULL,	NULL, NULL, sizeof(absl::Mutex),
	init,	  destroy,	 false, NULL};
