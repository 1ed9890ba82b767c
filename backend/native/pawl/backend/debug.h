/* SPDX-License-Identifier: MIT */
/*
 * The debug face: what pawl_mutex tells about itself. Without PAWL_DEBUG these
 * are nothing at all. With it, a thread remembers what it holds, and misuse ends
 * the process with a sentence; under ThreadSanitizer each call is announced to
 * it as that of a mutex, so that it checks lock orders and the use of the mutex
 * instead of the mutex's own words.
 *
 * It changes no layout: code built with and without may share a mutex, but then
 * must not unlock what the other locked.
 */
#ifndef PAWL_BACKEND_DEBUG_H
#define PAWL_BACKEND_DEBUG_H

#ifdef PAWL_DEBUG

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
void pawl_debug_locking(const void *m);
void pawl_debug_locked(const void *m);
void pawl_debug_unlocking(const void *m);
void pawl_debug_destroying(const void *m, bool held);
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#else
#define __tsan_mutex_try_lock			0u
#define __tsan_mutex_try_lock_failed		0u
#define __tsan_mutex_pre_lock(m, flags)		((void)(flags))
#define __tsan_mutex_post_lock(m, flags, depth) ((void)(flags))
#define __tsan_mutex_pre_unlock(m, flags)	((void)0)
#define __tsan_mutex_post_unlock(m, flags)	((void)0)
#define __tsan_mutex_destroy(m, flags)		((void)0)
#endif

/* Before a lock or trylock. */
static inline void pawl_note_locking(const void *m, bool try_only)
{
	if (!try_only)
		pawl_debug_locking(m);
	__tsan_mutex_pre_lock((void *)m, try_only ? __tsan_mutex_try_lock : 0u);
}

/* After it; a trylock, or a timed lock, may have failed. */
static inline void pawl_note_locked(const void *m, bool try_only, bool success)
{
	__tsan_mutex_post_lock((void *)m,
			       (try_only ? __tsan_mutex_try_lock : 0u) |
				       (success ? 0u : __tsan_mutex_try_lock_failed),
			       0);
	if (success)
		pawl_debug_locked(m);
}

static inline void pawl_note_unlocking(const void *m)
{
	pawl_debug_unlocking(m);
	__tsan_mutex_pre_unlock((void *)m, 0);
}

/* After an unlock: m is an address by now. */
static inline void pawl_note_unlocked(const void *m)
{
	(void)m;
	__tsan_mutex_post_unlock((void *)m, 0);
}

static inline void pawl_note_destroying(const void *m, bool held)
{
	pawl_debug_destroying(m, held);
	__tsan_mutex_destroy((void *)m, 0);
}

#else

static inline void pawl_note_locking(const void *m, bool try_only)
{
	(void)m, (void)try_only;
}

static inline void pawl_note_locked(const void *m, bool try_only, bool success)
{
	(void)m, (void)try_only, (void)success;
}

static inline void pawl_note_unlocking(const void *m)
{
	(void)m;
}

static inline void pawl_note_unlocked(const void *m)
{
	(void)m;
}

static inline void pawl_note_destroying(const void *m, bool held)
{
	(void)m, (void)held;
}

#endif

#endif /* PAWL_BACKEND_DEBUG_H */
