/* SPDX-License-Identifier: MIT */
/*
 * Notes: annotations by which locks and leases report their operations to TSan and to
 * debug builds. In an ordinary build they are empty.
 *
 * TSan sees only code that was compiled with it, which libpawl is not: hand-overs and
 * requeues in the runtime are invisible to it, and so are the asymmetric fences. So in a
 * build with -fsanitize=thread every lock hides its own words from TSan, and reports
 * instead what its section happens after and before. It does not report an owner: any
 * thread may unlock most locks of pawl, and they need no destructor that would end what
 * TSan knows of an address. Leases report their order where it arises; libpawl itself
 * (PAWL_RUNTIME) does so in its slow paths, by a test of a weak symbol.
 *
 * With PAWL_DEBUG the runtime records which thread holds which lock, and where it locked
 * it; a thread that breaks a rule ends the process with a message (src/sync/debug.c). It
 * changes no layout: code built with and without it may share a lock, but must not
 * unlock what the other locked.
 *
 * PAWL_NO_NOTES is for builds in which the tool sees all of pawl and judges the words
 * themselves: the library's own under TSan, and the simulators.
 *
 * docs/sanitizers.md is the user's view.
 */
#ifndef PAWL_BACKEND_DEBUG_H
#define PAWL_BACKEND_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define PAWL_UNDER_TSAN 1 /* gcc defines the macro above, clang has the feature below */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PAWL_UNDER_TSAN 1
#endif
#endif

/*
 * Attributes for clang's -Wthread-safety: which types are locks, and which functions
 * acquire and release them. It trusts the attributes and skips the functions' bodies.
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
#define PAWL_UNSEEN /* its caller has the attributes */
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

/* Order: code before releasing(word) happens before code after a later
 * acquired(word). */

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

/* Not NULL if the process runs under TSan. */
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

/* From begin to end, TSan ignores accesses. */

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
 * itself checks none: its callers have been checked already.
 */
#if defined(PAWL_DEBUG) && !defined(PAWL_RUNTIME)
/* Functions with notes are inlined, so that the return address of the calls below is
 * the place that a message names. */
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

/* After an unlock: only the address of l may be used. */
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
