/* SPDX-License-Identifier: MIT */
/* The mutex of Abseil. */
#include "subject.h"

#include <absl/synchronization/mutex.h>

#include <new>

static_assert(sizeof(absl::Mutex) <= BENCH_LOCK_BYTES, "fits");

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

DEFINE_SUBJECT_LOOPS(abseil, lock, unlock);

const struct bench_subject bench_abseil = {
	"abseil", SUBJECT_LOOPS(abseil), lock, unlock, sizeof(absl::Mutex), init, destroy,
	false};
