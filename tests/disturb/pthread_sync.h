/* SPDX-License-Identifier: MIT */
/* What sync.c disturbs in a program that knows nothing of pawl. */
#ifndef TESTS_DISTURB_PTHREAD_SYNC_H
#define TESTS_DISTURB_PTHREAD_SYNC_H

#include <pthread.h>
#include <stdbool.h>

enum { SEES_INSIDE = false };

typedef pthread_mutex_t mutex;
typedef pthread_cond_t condition;

static inline bool begin_sync(void)
{
	return true;
}

static inline void use_in_handler(void)
{
	/* POSIX allows none of these functions there. */
}

static inline void reset(mutex *m)
{
	*m = (mutex)PTHREAD_MUTEX_INITIALIZER;
}

static inline void lock(mutex *m)
{
	pthread_mutex_lock(m);
}

static inline bool try_lock(mutex *m)
{
	return pthread_mutex_trylock(m) == 0;
}

static inline int lock_until(mutex *m, const struct timespec *time)
{
	return pthread_mutex_timedlock(m, time);
}

static inline void unlock(mutex *m)
{
	pthread_mutex_unlock(m);
}

static inline void wait_for(condition *c, mutex *m)
{
	pthread_cond_wait(c, m);
}

static inline int wait_until(condition *c, mutex *m, const struct timespec *time)
{
	return pthread_cond_timedwait(c, m, time);
}

static inline void signal_one(condition *c)
{
	pthread_cond_signal(c);
}

static inline void signal_all(condition *c)
{
	pthread_cond_broadcast(c);
}

static inline bool has_queue(const mutex *m)
{
	(void)m;
	return true;
}

static inline void make_due(mutex *m)
{
	(void)m;
}

#endif /* TESTS_DISTURB_PTHREAD_SYNC_H */
