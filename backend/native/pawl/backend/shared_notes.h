/* SPDX-License-Identifier: MIT */
/*
 * Shared mutexes are entirely in libpawl, which TSan does not see. A build under TSan
 * calls these wrappers, which tell TSan what a section happens after and before. TSan
 * knows only this process, so an address in the region is enough to name a mutex.
 */
#ifndef PAWL_BACKEND_SHARED_NOTES_H
#define PAWL_BACKEND_SHARED_NOTES_H

#include <pawl/backend/debug.h>

#if defined(PAWL_UNDER_TSAN) && !defined(PAWL_NO_NOTES) && !defined(PAWL_RUNTIME)

#include <errno.h>

static inline const char *pawl_noted_shared_word(struct pawl_shared *region,
						 unsigned mutex)
{
	return (const char *)region + 1 + mutex;
}

static inline int pawl_noted_shared_locked(struct pawl_shared *region, unsigned mutex,
					   int error)
{
	if (error == 0 || error == EOWNERDEAD)
		pawl_note_acquired(pawl_noted_shared_word(region, mutex));
	if (error == EOWNERDEAD)
		pawl_note_acquired(region); /* released by a thread that exits inside */
	return error;
}

static inline int pawl_noted_shared_lock(struct pawl_shared *region, unsigned mutex)
{
	return pawl_noted_shared_locked(region, mutex,
					pawl_shared_mutex_lock(region, mutex));
}

static inline int pawl_noted_shared_trylock(struct pawl_shared *region, unsigned mutex)
{
	return pawl_noted_shared_locked(region, mutex,
					pawl_shared_mutex_trylock(region, mutex));
}

static inline int pawl_noted_shared_timedlock(struct pawl_shared *region, unsigned mutex,
					      int clock, const struct timespec *time)
{
	return pawl_noted_shared_locked(
		region, mutex, pawl_shared_mutex_timedlock(region, mutex, clock, time));
}

static inline int pawl_noted_shared_unlock(struct pawl_shared *region, unsigned mutex)
{
	pawl_note_releasing(pawl_noted_shared_word(region, mutex));
	return pawl_shared_mutex_unlock(region, mutex);
}

#define pawl_shared_mutex_lock	    pawl_noted_shared_lock
#define pawl_shared_mutex_trylock   pawl_noted_shared_trylock
#define pawl_shared_mutex_timedlock pawl_noted_shared_timedlock
#define pawl_shared_mutex_unlock    pawl_noted_shared_unlock

#endif

#endif /* PAWL_BACKEND_SHARED_NOTES_H */
