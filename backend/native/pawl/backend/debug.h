/* SPDX-License-Identifier: MIT */
/*
 * Notes: what locks and leases tell about themselves to whoever checks their use.
 * In an ordinary build they are nothing at all.
 *
 * ThreadSanitizer sees what its compiler made, and libpawl is not of that: the
 * hand-overs, moves and drains in there are hidden, and so are the asymmetric
 * fences. So in a build with -fsanitize=thread every lock shuts its own words
 * from TSan's sight, and says in their stead what its section happens after and
 * before. That it does not say who owns it is on purpose: most locks of pawl may
 * be unlocked by any thread, and need no destructor that would end what TSan
 * knows of an address. The order of leases is told where it comes about, and by
 * libpawl itself (PAWL_RUNTIME) as far as that is in there: one look at a weak
 * symbol, in slow paths.
 *
 * With PAWL_DEBUG it is kept in mind who holds which lock, and since where; who
 * breaks a rule ends the process with a sentence (see src/sync/debug.c). It
 * changes no layout: code built with and without may share a lock, but then must
 * not unlock what the other locked.
 *
 * PAWL_NO_NOTES is for builds in which the checker sees all of pawl: our own,
 * under TSan and in the simulators, which are to judge the words themselves.
 *
 * docs/sanitizers.md is the user's view.
 */
#ifndef PAWL_BACKEND_DEBUG_H
#define PAWL_BACKEND_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define PAWL_UNDER_TSAN 1 /* gcc's way to say it, and clang's */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PAWL_UNDER_TSAN 1
#endif
#endif

/*
 * What clang's -Wthread-safety is told: which types are locks, and who takes and
 * leaves them. It believes the names of functions, and does not look into them.
 */
#if defined(__clang__)
#define PAWL_SAFETY(attribute) __attribute__((attribute, no_thread_safety_analysis))
#define PAWL_CAPABILITY	       __attribute__((capability("mutex")))
#define PAWL_SCOPED	       __attribute__((scoped_lockable))
#define PAWL_UNSEEN	       __attribute__((no_thread_safety_analysis))
#else
#define PAWL_SAFETY(attribute)
#define PAWL_CAPABILITY
#define PAWL_SCOPED
#define PAWL_UNSEEN /* what it does is declared by its caller */
#endif
#define PAWL_ACQUIRES(...)	  PAWL_SAFETY(acquire_capability(__VA_ARGS__))
#define PAWL_ACQUIRES_SHARED(...) PAWL_SAFETY(acquire_shared_capability(__VA_ARGS__))
#define PAWL_RELEASES(...)	  PAWL_SAFETY(release_capability(__VA_ARGS__))
#define PAWL_RELEASES_SHARED(...) PAWL_SAFETY(release_shared_capability(__VA_ARGS__))
#define PAWL_REQUIRES(...)	  PAWL_SAFETY(requires_capability(__VA_ARGS__))
/* Acquires if it returns true; or what comes first among the arguments. */
#define PAWL_TRIES(...) PAWL_SAFETY(try_acquire_capability(true, __VA_ARGS__))
#define PAWL_TRIES_SHARED(...) \
	PAWL_SAFETY(try_acquire_shared_capability(true, __VA_ARGS__))
#define PAWL_TRIES_FOR(...)	   PAWL_SAFETY(try_acquire_capability(__VA_ARGS__))
#define PAWL_TRIES_SHARED_FOR(...) PAWL_SAFETY(try_acquire_shared_capability(__VA_ARGS__))

/* Order: what happened before releasing(word) happens before what comes after
 * an acquired(word) that follows it. */

#if defined(PAWL_NO_NOTES) || (!defined(PAWL_UNDER_TSAN) && !defined(PAWL_RUNTIME))

static inline void pawl_note_acquired(const void *word)
{
	(void)word;
}

static inline void pawl_note_releasing(const void *word)
{
	(void)word;
}

#elif defined(PAWL_UNDER_TSAN)

#include <sanitizer/tsan_interface.h>

static inline void pawl_note_acquired(const void *word)
{
	__tsan_acquire((void *)(uintptr_t)word);
}

static inline void pawl_note_releasing(const void *word)
{
	__tsan_release((void *)(uintptr_t)word);
}

#else

/* There if the process runs under TSan. */
void __tsan_acquire(void *word) __attribute__((weak));
void __tsan_release(void *word) __attribute__((weak));

static inline void pawl_note_acquired(const void *word)
{
	if (__builtin_expect(__tsan_acquire != NULL, false))
		__tsan_acquire((void *)(uintptr_t)word);
}

static inline void pawl_note_releasing(const void *word)
{
	if (__builtin_expect(__tsan_release != NULL, false))
		__tsan_release((void *)(uintptr_t)word);
}

#endif

/* From begin to end, TSan looks away. */

#if defined(PAWL_UNDER_TSAN) && !defined(PAWL_NO_NOTES)

static inline void pawl_note_begin(const void *l)
{
	__tsan_mutex_pre_signal((void *)(uintptr_t)l, 0);
}

static inline void pawl_note_end(const void *l)
{
	__tsan_mutex_post_signal((void *)(uintptr_t)l, 0);
}

#else

static inline void pawl_note_begin(const void *l)
{
	(void)l;
}

static inline void pawl_note_end(const void *l)
{
	(void)l;
}

#endif

/*
 * Rules. `id` is that of the registry: the lock is a struct pawl_<id>. The library
 * has none: it does on a program's behalf what that has been asked about.
 */
#if defined(PAWL_DEBUG) && !defined(PAWL_RUNTIME)
/* A function with notes is part of its caller, so that the calls below return to
 * the place that is to be named. */
#define PAWL_NOTED static inline __attribute__((always_inline))
enum { PAWL_DEBUGGING = 1 };
#else
#define PAWL_NOTED static inline
enum { PAWL_DEBUGGING = 0 };
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
void pawl_debug_locking_(const void *l, const char *id);
void pawl_debug_locked_(const void *l);
void pawl_debug_unlocking_(const void *l, const char *id);
void pawl_debug_destroying_(const void *l, const char *id);
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Before a lock, or an attempt. */
PAWL_NOTED void pawl_note_locking(const void *l, const char *id, bool try_only)
{
	if (PAWL_DEBUGGING && !try_only)
		pawl_debug_locking_(l, id);
	pawl_note_begin(l);
}

/* After it. */
PAWL_NOTED void pawl_note_locked(const void *l, bool success)
{
	pawl_note_end(l);
	if (success)
		pawl_note_acquired(l);
	if (PAWL_DEBUGGING && success)
		pawl_debug_locked_(l);
}

PAWL_NOTED void pawl_note_unlocking(const void *l, const char *id)
{
	if (PAWL_DEBUGGING)
		pawl_debug_unlocking_(l, id);
	pawl_note_releasing(l);
	pawl_note_begin(l);
}

/* After an unlock: l is an address by now. */
PAWL_NOTED void pawl_note_unlocked(const void *l)
{
	pawl_note_end(l);
}

PAWL_NOTED void pawl_note_destroying(const void *l, const char *id, bool held)
{
	if (PAWL_DEBUGGING && held)
		pawl_debug_destroying_(l, id);
}

#endif /* PAWL_BACKEND_DEBUG_H */
