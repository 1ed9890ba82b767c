/* SPDX-License-Identifier: MIT */
/* One of each type that programs hold, for the description of the ABI. */
#include <pawl/pawl.h>

#define OBJECT(id)                                                                    \
	extern __attribute__((visibility("default"))) struct pawl_##id pawl_abi_##id; \
	struct pawl_##id pawl_abi_##id

#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	OBJECT(id);
#include <pawl/locks.def>
#undef PAWL_LOCK
OBJECT(cond);
OBJECT(counter);
OBJECT(idalloc);
OBJECT(lease);
OBJECT(pool);
OBJECT(rwlock);
OBJECT(semaphore);
OBJECT(seqlock);
OBJECT(shards);
