/* SPDX-License-Identifier: MIT */
/*
 * Mutex, condition variable and reader-writer lock as functions that can be called,
 * for languages that cannot include a header. They are what the headers' inline
 * functions are, under the same names; so those go by another name in this file.
 */
#define pawl_mutex_lock		    inline_mutex_lock
#define pawl_mutex_trylock	    inline_mutex_trylock
#define pawl_mutex_timedlock	    inline_mutex_timedlock
#define pawl_mutex_unlock	    inline_mutex_unlock
#define pawl_cond_wait		    inline_cond_wait
#define pawl_cond_timedwait	    inline_cond_timedwait
#define pawl_cond_signal	    inline_cond_signal
#define pawl_cond_broadcast	    inline_cond_broadcast
#define pawl_rwlock_read_lock	    inline_rwlock_read_lock
#define pawl_rwlock_read_trylock    inline_rwlock_read_trylock
#define pawl_rwlock_read_timedlock  inline_rwlock_read_timedlock
#define pawl_rwlock_read_unlock	    inline_rwlock_read_unlock
#define pawl_rwlock_write_lock	    inline_rwlock_write_lock
#define pawl_rwlock_write_trylock   inline_rwlock_write_trylock
#define pawl_rwlock_write_timedlock inline_rwlock_write_timedlock
#define pawl_rwlock_write_unlock    inline_rwlock_write_unlock
#define pawl_rwlock_downgrade	    inline_rwlock_downgrade
#include <pawl/cond.h>
#include <pawl/rwlock.h>
#undef pawl_mutex_lock
#undef pawl_mutex_trylock
#undef pawl_mutex_timedlock
#undef pawl_mutex_unlock
#undef pawl_cond_wait
#undef pawl_cond_timedwait
#undef pawl_cond_signal
#undef pawl_cond_broadcast
#undef pawl_rwlock_read_lock
#undef pawl_rwlock_read_trylock
#undef pawl_rwlock_read_timedlock
#undef pawl_rwlock_read_unlock
#undef pawl_rwlock_write_lock
#undef pawl_rwlock_write_trylock
#undef pawl_rwlock_write_timedlock
#undef pawl_rwlock_write_unlock
#undef pawl_rwlock_downgrade

/* Declared and defined at once: no header of C has them. */
#define CALL(type, call, parameters)                                        \
	type pawl_##call parameters __attribute__((visibility("default"))); \
	type pawl_##call parameters

CALL(void, mutex_lock, (struct pawl_mutex * m))
{
	inline_mutex_lock(m);
}

CALL(bool, mutex_trylock, (struct pawl_mutex * m))
{
	return inline_mutex_trylock(m);
}

CALL(int, mutex_timedlock,
     (struct pawl_mutex * m, int clock, const struct timespec *time))
{
	return inline_mutex_timedlock(m, clock, time);
}

CALL(void, mutex_unlock, (struct pawl_mutex * m))
{
	inline_mutex_unlock(m);
}

CALL(void, cond_wait, (struct pawl_cond * c, struct pawl_mutex *m))
{
	inline_cond_wait(c, m);
}

CALL(int, cond_timedwait,
     (struct pawl_cond * c, struct pawl_mutex *m, int clock, const struct timespec *time))
{
	return inline_cond_timedwait(c, m, clock, time);
}

CALL(void, cond_signal, (struct pawl_cond * c))
{
	inline_cond_signal(c);
}

CALL(void, cond_broadcast, (struct pawl_cond * c))
{
	inline_cond_broadcast(c);
}

CALL(void, rwlock_read_lock, (struct pawl_rwlock * l))
{
	inline_rwlock_read_lock(l);
}

CALL(bool, rwlock_read_trylock, (struct pawl_rwlock * l))
{
	return inline_rwlock_read_trylock(l);
}

CALL(int, rwlock_read_timedlock,
     (struct pawl_rwlock * l, int clock, const struct timespec *time))
{
	return inline_rwlock_read_timedlock(l, clock, time);
}

CALL(void, rwlock_read_unlock, (struct pawl_rwlock * l))
{
	inline_rwlock_read_unlock(l);
}

CALL(void, rwlock_write_lock, (struct pawl_rwlock * l))
{
	inline_rwlock_write_lock(l);
}

CALL(bool, rwlock_write_trylock, (struct pawl_rwlock * l))
{
	return inline_rwlock_write_trylock(l);
}

CALL(int, rwlock_write_timedlock,
     (struct pawl_rwlock * l, int clock, const struct timespec *time))
{
	return inline_rwlock_write_timedlock(l, clock, time);
}

CALL(void, rwlock_write_unlock, (struct pawl_rwlock * l))
{
	inline_rwlock_write_unlock(l);
}

CALL(void, rwlock_downgrade, (struct pawl_rwlock * l))
{
	inline_rwlock_downgrade(l);
}
