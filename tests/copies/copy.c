/* SPDX-License-Identifier: MIT */
#include "copy.h"

#include <pawl/cond.h>
#include <pawl/mutex.h>
#include <pawl/rwlock.h>
#include <pawl/semaphore.h>
#include <pawl/ticket.h>

static void lock(struct pawl_mutex *m)
{
	pawl_mutex_lock(m);
}

static int lock_until(struct pawl_mutex *m, int clock, const struct timespec *time)
{
	return pawl_mutex_timedlock(m, clock, time);
}

static void unlock(struct pawl_mutex *m)
{
	pawl_mutex_unlock(m);
}

static void wait(struct pawl_cond *c, struct pawl_mutex *m)
{
	pawl_cond_wait(c, m);
}

extern const struct copy copy;
const struct copy copy = {
	.me = pawl_mutex_me_,
	.lock = lock,
	.lock_until = lock_until,
	.unlock = unlock,
	.wait = wait,
	.signal = pawl_cond_signal,
	.broadcast = pawl_cond_broadcast,
	.take = pawl_semaphore_wait,
	.post = pawl_semaphore_post,
	.draw = pawl_hapax_draw,
	.read_lock = pawl_rwlock_read_lock,
	.read_trylock = pawl_rwlock_read_trylock,
	.read_unlock = pawl_rwlock_read_unlock,
	.write_lock = pawl_rwlock_write_lock,
	.write_trylock = pawl_rwlock_write_trylock,
	.write_unlock = pawl_rwlock_write_unlock,
	.ticket_lock = pawl_ticket_park_lock,
	.ticket_unlock = pawl_ticket_park_unlock,
};
