/* SPDX-License-Identifier: MIT */
/* What sync.c disturbs: pawl_mutex and pawl_cond. */
#ifndef TESTS_DISTURB_PAWL_SYNC_H
#define TESTS_DISTURB_PAWL_SYNC_H

#include <pawl/cond.h>
#include <pawl/counter.h>
#include <pawl/mutex.h>
#include <pawl/pool.h>

/* Whether the next two functions are there. */
enum { SEES_INSIDE = true };

typedef struct pawl_mutex mutex;
typedef struct pawl_cond condition;

static struct pawl_counter counter;
static struct pawl_pool pool;
static struct pawl_lease lease;

static inline bool begin_sync(void)
{
	const struct pawl_pool_plan plan = {.size = 64, .limit = 128};

	return pawl_pool_create(&pool, &plan) == 0 &&
	       pawl_counter_create(&counter, PAWL_SHARDS_LEASED) == 0;
}

/* What a signal handler may use, wherever it interrupts. */
static inline void use_in_handler(void)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	void *object = pawl_pool_get(&pool);

	pawl_counter_add(&counter, 1);
	if (object != NULL)
		pawl_pool_put(&pool, object);
	if (pawl_lease_acquire(&lease, h) == PAWL_LEASE_OK)
		pawl_lease_release(&lease, h);
}

static inline void reset(mutex *m)
{
	*m = (mutex)PAWL_MUTEX_INIT;
}

static inline void lock(mutex *m)
{
	pawl_mutex_lock(m);
}

static inline bool try_lock(mutex *m)
{
	return pawl_mutex_trylock(m);
}

static inline int lock_until(mutex *m, const struct timespec *time)
{
	return pawl_mutex_timedlock(m, CLOCK_REALTIME, time);
}

static inline void unlock(mutex *m)
{
	pawl_mutex_unlock(m);
}

static inline void wait_for(condition *c, mutex *m)
{
	pawl_cond_wait(c, m);
}

static inline int wait_until(condition *c, mutex *m, const struct timespec *time)
{
	return pawl_cond_timedwait(c, m, CLOCK_REALTIME, time);
}

static inline void signal_one(condition *c)
{
	pawl_cond_signal(c);
}

static inline void signal_all(condition *c)
{
	pawl_cond_broadcast(c);
}

/* Whether somebody is in its queue. */
static inline bool has_queue(const mutex *m)
{
	return (uint32_t)pawl_load_relaxed(&m->due) != 0;
}

/* Makes the next unlock hand over to the head, as many unlocks in a row do (I2). */
static inline void make_due(mutex *m)
{
	pawl_store_relaxed(&m->due, 1);
}

#endif /* TESTS_DISTURB_PAWL_SYNC_H */
