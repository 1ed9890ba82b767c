/* SPDX-License-Identifier: MIT */
/* Uses whatever reaches into the library's data: buckets, waiting arrays, storage. */
#include <pawl/pawl.h>

#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	static struct pawl_##id id;
#include <pawl/locks.def>
#undef PAWL_LOCK
static struct pawl_semaphore semaphore;
static struct pawl_rwlock rwlock;

int main(void)
{
	pawl_light_fence();
#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	pawl_##id##_lock(&id);                                                          \
	pawl_##id##_unlock(&id);
#include <pawl/locks.def>
#undef PAWL_LOCK
	pawl_semaphore_wait(&semaphore);
	pawl_rwlock_read_lock(&rwlock);
	pawl_rwlock_read_unlock(&rwlock);
	return pawl_semaphore_post(&semaphore);
}
