/* SPDX-License-Identifier: MIT */
/* One side of mixed.c; SIDE is its name. */
#include "side.h"

#include <pawl/pawl.h>

#define THUNKS(face, verb)                 \
	static void face##_##verb(void *l) \
	{                                  \
		pawl_##face##_##verb(l);   \
	}
#define BOTH(face)	  THUNKS(face, lock) THUNKS(face, unlock)
#define THUNKS_CHOICE(id) BOTH(id) BOTH(id##_park)
#define THUNKS_OWN(id)	  BOTH(id)
#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	THUNKS_##waiting(id)
#include <pawl/locks.def>
#undef PAWL_LOCK
THUNKS(rwlock, read_lock)
THUNKS(rwlock, read_unlock)
THUNKS(rwlock, write_lock)
THUNKS(rwlock, write_unlock)

#define ENTRY(face, sleeps) \
	{#face, sizeof(struct pawl_##face), sleeps, face##_lock, face##_unlock},
#define ENTRIES_CHOICE(id) ENTRY(id, 0) ENTRY(id##_park, 1)
#define ENTRIES_OWN(id)	   ENTRY(id, 1)
static const struct side_lock locks[] = {
#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	ENTRIES_##waiting(id)
#include <pawl/locks.def>
#undef PAWL_LOCK
	{"rwlock, write", sizeof(struct pawl_rwlock), 1, rwlock_write_lock,
	 rwlock_write_unlock},
	{"rwlock, read", sizeof(struct pawl_rwlock), 1, rwlock_read_lock,
	 rwlock_read_unlock},
	{NULL, 0, 0, NULL, NULL}};

static void wait_for_signal(void *c, void *m)
{
	pawl_cond_wait(c, m);
}

static void broadcast(void *c)
{
	pawl_cond_broadcast(c);
}

const struct side SIDE = {locks, sizeof(struct pawl_cond), wait_for_signal, broadcast};
