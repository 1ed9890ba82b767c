/* SPDX-License-Identifier: MIT */
/*
 * pawl/face.h - the public functions of every lock, generated from its algorithm.
 *
 * An algorithm X supplies pawl_X_acquire_, pawl_X_release_ and, where sound,
 * pawl_X_try_acquire_, with the wait policy as an argument. From them these macros make
 *
 *   struct pawl_X            the lock; all-zero is unlocked
 *   pawl_X_lock(l)           waits until it owns *l, spinning
 *   pawl_X_trylock(l)        owns *l if it was free; never waits
 *   pawl_X_timedlock(l, clock, time)  0, or ETIMEDOUT, where the algorithm can
 *                            (pawl_X_timed_acquire_)
 *   pawl_X_unlock(l)         requires the caller to own *l
 *
 *   struct pawl_X_park       the same lock, of the same size, whose waiters sleep;
 *                            pawl_X_park_lock, _trylock, _timedlock, _unlock
 *
 * The wait policy is part of a lock's type, because all users of one lock must agree
 * on it: an unlock that assumes polling waiters does not wake sleeping ones.
 *
 * Where the algorithm passes context from acquire to release (struct
 * pawl_X_context), the plain functions keep it in the lock, where only the holder
 * accesses it. Unlock copies it out before the release: afterwards the lock may be
 * freed. The explicit functions leave the place of the context to the caller:
 *
 *   struct pawl_X_core       the lock without context, and struct pawl_X_park_core
 *   pawl_X_acquire(l, context), pawl_X_try_acquire, pawl_X_timed_acquire,
 *   pawl_X_release(l, context), and pawl_X_park_acquire and so on: as above
 *
 * In all headers, names that end in an underscore are private to pawl; scripts/lint
 * enforces it.
 *
 * The plain functions also report what they do to TSan and to debug builds
 * (pawl/backend/debug.h).
 *
 * PAWL_FACE_RARE_CONTEXT is for a context that is all zero unless the thread
 * has waited; then `end` is not 0, and `next` is the successor. The context in the lock
 * is all zero whenever the lock is free, so that the uncontended path need not store
 * it: that store costs 2 ns where the whole pair takes 12.
 */
#ifndef PAWL_FACE_H
#define PAWL_FACE_H

#include <pawl/atomic.h>
#include <pawl/backend/debug.h>

#define PAWL_FACE(x)                                                                  \
	PAWL_NOTED void pawl_##x##_lock_as_(struct pawl_##x *l, enum pawl_wait how)   \
		PAWL_ACQUIRES(l)                                                      \
	{                                                                             \
		pawl_note_locking(l, #x, false);                                      \
		pawl_##x##_acquire_(l, how);                                          \
		pawl_note_locked(l, true);                                            \
	}                                                                             \
	PAWL_NOTED void pawl_##x##_unlock_as_(struct pawl_##x *l, enum pawl_wait how) \
		PAWL_RELEASES(l)                                                      \
	{                                                                             \
		pawl_note_unlocking(l, #x);                                           \
		pawl_##x##_release_(l, how);                                          \
		pawl_note_unlocked(l);                                                \
	}                                                                             \
	PAWL_FACE_WAYS(x)

#define PAWL_FACE_TRY(x)                                                     \
	PAWL_NOTED bool pawl_##x##_trylock(struct pawl_##x *l) PAWL_TRIES(l) \
	{                                                                    \
		bool taken;                                                  \
                                                                             \
		pawl_note_locking(l, #x, true);                              \
		taken = pawl_##x##_try_acquire_(l);                          \
		pawl_note_locked(l, taken);                                  \
		return taken;                                                \
	}                                                                    \
	PAWL_FACE_PARK_TRY(x)

/*
 * When lock stores a context c in the lock, and when unlock clears it again: always and
 * never; or, for a rare context, if the thread has waited, and if it has no successor.
 */
#define PAWL_FACE_ALWAYS(c)	      true
#define PAWL_FACE_NEVER(c)	      false
#define PAWL_FACE_WAITED(c)	      __builtin_expect((c).end != 0, false)
#define PAWL_FACE_LAST(c)	      __builtin_expect((c).end != 0 && (c).next == NULL, false)

#define PAWL_FACE_CONTEXT(x)	      PAWL_FACE_KEPT(x, PAWL_FACE_ALWAYS, PAWL_FACE_NEVER)
#define PAWL_FACE_CONTEXT_TRY(x)      PAWL_FACE_KEPT_TRY(x, PAWL_FACE_ALWAYS)
#define PAWL_FACE_RARE_CONTEXT(x)     PAWL_FACE_KEPT(x, PAWL_FACE_WAITED, PAWL_FACE_LAST)
#define PAWL_FACE_RARE_CONTEXT_TRY(x) PAWL_FACE_KEPT_TRY(x, PAWL_FACE_NEVER)

#define PAWL_FACE_KEPT(x, KEEP, CLEAR)                                                \
	struct PAWL_CAPABILITY pawl_##x {                                             \
		struct pawl_##x##_core core;                                          \
		struct pawl_##x##_context held; /* accessed by the holder only */     \
	};                                                                            \
	PAWL_NOTED void pawl_##x##_lock_as_(struct pawl_##x *l, enum pawl_wait how)   \
		PAWL_ACQUIRES(l)                                                      \
	{                                                                             \
		struct pawl_##x##_context context;                                    \
                                                                                      \
		pawl_note_locking(l, #x, false);                                      \
		pawl_##x##_acquire_(&l->core, &context, how);                         \
		if (KEEP(context))                                                    \
			l->held = context;                                            \
		pawl_note_locked(l, true);                                            \
	}                                                                             \
	PAWL_NOTED void pawl_##x##_unlock_as_(struct pawl_##x *l, enum pawl_wait how) \
		PAWL_RELEASES(l)                                                      \
	{                                                                             \
		struct pawl_##x##_context context, none = PAWL_ZERO;                  \
                                                                                      \
		pawl_note_unlocking(l, #x);                                           \
		context = l->held;                                                    \
		if (CLEAR(context))                                                   \
			l->held = none;                                               \
		pawl_##x##_release_(&l->core, &context, how);                         \
		pawl_note_unlocked(l);                                                \
	}                                                                             \
	PAWL_FACE_EXPLICIT(x);                                                        \
	PAWL_FACE_WAYS(x)

#define PAWL_FACE_KEPT_TRY(x, KEEP)                                          \
	PAWL_NOTED bool pawl_##x##_trylock(struct pawl_##x *l) PAWL_TRIES(l) \
	{                                                                    \
		struct pawl_##x##_context context;                           \
		bool taken;                                                  \
                                                                             \
		pawl_note_locking(l, #x, true);                              \
		taken = pawl_##x##_try_acquire_(&l->core, &context);         \
		if (taken && KEEP(context))                                  \
			l->held = context;                                   \
		pawl_note_locked(l, taken);                                  \
		return taken;                                                \
	}                                                                    \
	PAWL_FACE_EXPLICIT_TRY(x);                                           \
	PAWL_FACE_PARK_TRY(x)

#define PAWL_FACE_CONTEXT_TIMED(x)                                                       \
	PAWL_NOTED int pawl_##x##_timedlock_as_(struct pawl_##x *l, enum pawl_wait how,  \
						int clock, const struct timespec *time)  \
	{                                                                                \
		struct pawl_##x##_context context;                                       \
		int error;                                                               \
                                                                                         \
		pawl_note_locking(l, #x, true);                                          \
		error = pawl_##x##_timed_acquire_(&l->core, &context, how, clock, time); \
		if (error == 0)                                                          \
			l->held = context;                                               \
		pawl_note_locked(l, error == 0);                                         \
		return error;                                                            \
	}                                                                                \
	PAWL_NOTED int pawl_##x##_timedlock(struct pawl_##x *l, int clock,               \
					    const struct timespec *time)                 \
		PAWL_TRIES_FOR(0, l)                                                     \
	{                                                                                \
		return pawl_##x##_timedlock_as_(l, PAWL_SPIN, clock, time);              \
	}                                                                                \
	PAWL_NOTED int pawl_##x##_park_timedlock(struct pawl_##x##_park *l, int clock,   \
						 const struct timespec *time)            \
		PAWL_TRIES_FOR(0, l)                                                     \
	{                                                                                \
		return pawl_##x##_timedlock_as_(&l->lock, PAWL_PARK, clock, time);       \
	}                                                                                \
	PAWL_FACE_EXPLICIT_TIMED(x)

#define PAWL_FACE_EXPLICIT(x)                                                          \
	struct pawl_##x##_park_core {                                                  \
		struct pawl_##x##_core core;                                           \
	};                                                                             \
	static inline void pawl_##x##_acquire(struct pawl_##x##_core *l,               \
					      struct pawl_##x##_context *context)      \
	{                                                                              \
		pawl_##x##_acquire_(l, context, PAWL_SPIN);                            \
	}                                                                              \
	static inline void pawl_##x##_release(struct pawl_##x##_core *l,               \
					      struct pawl_##x##_context *context)      \
	{                                                                              \
		pawl_##x##_release_(l, context, PAWL_SPIN);                            \
	}                                                                              \
	static inline void pawl_##x##_park_acquire(struct pawl_##x##_park_core *l,     \
						   struct pawl_##x##_context *context) \
	{                                                                              \
		pawl_##x##_acquire_(&l->core, context, PAWL_PARK);                     \
	}                                                                              \
	static inline void pawl_##x##_park_release(struct pawl_##x##_park_core *l,     \
						   struct pawl_##x##_context *context) \
	{                                                                              \
		pawl_##x##_release_(&l->core, context, PAWL_PARK);                     \
	}                                                                              \
	struct pawl_##x

#define PAWL_FACE_EXPLICIT_TRY(x)                                                     \
	static inline bool pawl_##x##_try_acquire(struct pawl_##x##_core *l,          \
						  struct pawl_##x##_context *context) \
	{                                                                             \
		return pawl_##x##_try_acquire_(l, context);                           \
	}                                                                             \
	static inline bool pawl_##x##_park_try_acquire(                               \
		struct pawl_##x##_park_core *l, struct pawl_##x##_context *context)   \
	{                                                                             \
		return pawl_##x##_try_acquire_(&l->core, context);                    \
	}                                                                             \
	struct pawl_##x

#define PAWL_FACE_EXPLICIT_TIMED(x)                                                   \
	static inline int pawl_##x##_timed_acquire(                                   \
		struct pawl_##x##_core *l, struct pawl_##x##_context *context,        \
		int clock, const struct timespec *time)                               \
	{                                                                             \
		return pawl_##x##_timed_acquire_(l, context, PAWL_SPIN, clock, time); \
	}                                                                             \
	static inline int pawl_##x##_park_timed_acquire(                              \
		struct pawl_##x##_park_core *l, struct pawl_##x##_context *context,   \
		int clock, const struct timespec *time)                               \
	{                                                                             \
		return pawl_##x##_timed_acquire_(&l->core, context, PAWL_PARK, clock, \
						 time);                               \
	}                                                                             \
	struct pawl_##x

#define PAWL_FACE_PARK_TRY(x)                                                            \
	PAWL_NOTED bool pawl_##x##_park_trylock(struct pawl_##x##_park *l) PAWL_TRIES(l) \
	{                                                                                \
		return pawl_##x##_trylock(&l->lock);                                     \
	}                                                                                \
	struct pawl_##x

#define PAWL_FACE_WAYS(x)                                                                \
	struct PAWL_CAPABILITY pawl_##x##_park {                                         \
		struct pawl_##x lock;                                                    \
	};                                                                               \
	PAWL_NOTED void pawl_##x##_lock(struct pawl_##x *l) PAWL_ACQUIRES(l)             \
	{                                                                                \
		pawl_##x##_lock_as_(l, PAWL_SPIN);                                       \
	}                                                                                \
	PAWL_NOTED void pawl_##x##_unlock(struct pawl_##x *l) PAWL_RELEASES(l)           \
	{                                                                                \
		pawl_##x##_unlock_as_(l, PAWL_SPIN);                                     \
	}                                                                                \
	PAWL_NOTED void pawl_##x##_park_lock(struct pawl_##x##_park *l) PAWL_ACQUIRES(l) \
	{                                                                                \
		pawl_##x##_lock_as_(&l->lock, PAWL_PARK);                                \
	}                                                                                \
	PAWL_NOTED void pawl_##x##_park_unlock(struct pawl_##x##_park *l)                \
		PAWL_RELEASES(l)                                                         \
	{                                                                                \
		pawl_##x##_unlock_as_(&l->lock, PAWL_PARK);                              \
	}                                                                                \
	struct pawl_##x

#endif /* PAWL_FACE_H */
