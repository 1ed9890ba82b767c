/* SPDX-License-Identifier: MIT */
/* locks.def expanded: thunks for every lock, then the table of locks. */
#include "registry/registry.h"

#include <pawl/pawl.h>

#include <string.h>

/* The value of each column of locks.def selects one of these macros. */

#define TRY_THUNKS_TRY(id)                     \
	static bool id##_trylock(void *l)      \
	{                                      \
		return pawl_##id##_trylock(l); \
	}
#define TRY_THUNKS_NOTRY(id)
#define TRY_THUNKS_TIMED(id) TRY_THUNKS_TRY(id)

#define EXPLICIT_TRY_THUNKS_FREE_TRY(id)
#define EXPLICIT_TRY_THUNKS_FREE_NOTRY(id)
#define EXPLICIT_TRY_THUNKS_FREE_TIMED(id)
#define EXPLICIT_TRY_THUNKS_HELD_NOTRY(id)
#define EXPLICIT_TRY_THUNKS_HELD_TIMED(id) EXPLICIT_TRY_THUNKS_HELD_TRY(id)
#define EXPLICIT_TRY_THUNKS_HELD_TRY(id)                        \
	static bool id##_try_acquire(void *core, void *context) \
	{                                                       \
		return pawl_##id##_try_acquire_(core, context); \
	}

#define EXPLICIT_THUNKS_FREE(id, way, how)
#define EXPLICIT_THUNKS_HELD(id, way, how)                        \
	static void id##_acquire_##way(void *core, void *context) \
	{                                                         \
		pawl_##id##_acquire_(core, context, how);         \
	}                                                         \
	static void id##_release_##way(void *core, void *context) \
	{                                                         \
		pawl_##id##_release_(core, context, how);         \
	}

#define DESTROY_THUNKS_PROMPT(id)
#define DESTROY_THUNKS_STABLE(id)
#define DESTROY_THUNKS_DESTROY(id)        \
	static void id##_destroy(void *l) \
	{                                 \
		pawl_##id##_destroy(l);   \
	}

#define TIMED_THUNKS_TRY(id, way, how)
#define TIMED_THUNKS_NOTRY(id, way, how)
#define TIMED_THUNKS_TIMED(id, way, how)                                                 \
	static int id##_timedlock_##way(void *l, int clock, const struct timespec *time) \
	{                                                                                \
		return pawl_##id##_timedlock_as_(l, how, clock, time);                   \
	}

#define PLAIN_THUNKS(id, way, how)              \
	static void id##_lock_##way(void *l)    \
	{                                       \
		pawl_##id##_lock_as_(l, how);   \
	}                                       \
	static void id##_unlock_##way(void *l)  \
	{                                       \
		pawl_##id##_unlock_as_(l, how); \
	}

#define THUNKS_CHOICE(id, context, try)                                                 \
	TIMED_THUNKS_##try(id, spin, PAWL_SPIN) TIMED_THUNKS_##try(id, park, PAWL_PARK) \
		PLAIN_THUNKS(id, spin, PAWL_SPIN) PLAIN_THUNKS(id, park, PAWL_PARK)     \
			EXPLICIT_THUNKS_##context(id, spin, PAWL_SPIN)                  \
				EXPLICIT_THUNKS_##context(id, park, PAWL_PARK)
#define OWN_TIMED_THUNKS_TRY(id)
#define OWN_TIMED_THUNKS_NOTRY(id)
#define OWN_TIMED_THUNKS_TIMED(id)                                                     \
	static int id##_timedlock_own(void *l, int clock, const struct timespec *time) \
	{                                                                              \
		return pawl_##id##_timedlock(l, clock, time);                          \
	}
#define THUNKS_OWN(id, context, try)                                  \
	OWN_TIMED_THUNKS_##try(id) static void id##_lock_own(void *l) \
	{                                                             \
		pawl_##id##_lock(l);                                  \
	}                                                             \
	static void id##_unlock_own(void *l)                          \
	{                                                             \
		pawl_##id##_unlock(l);                                \
	}

#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	THUNKS_##waiting(id, context, try) TRY_THUNKS_##try(id)                         \
		EXPLICIT_TRY_THUNKS_##context##_##try(id) DESTROY_THUNKS_##destroy(id)
#include <pawl/locks.def>
#undef PAWL_LOCK

#define TRY_FIELDS_TRY(id, way) .trylock = id##_trylock,
#define TRY_FIELDS_NOTRY(id, way)
#define TRY_FIELDS_TIMED(id, way) \
	.trylock = id##_trylock, .timedlock = id##_timedlock_##way,
#define EXPLICIT_TRY_FIELDS_FREE_TRY(id)
#define EXPLICIT_TRY_FIELDS_FREE_NOTRY(id)
#define EXPLICIT_TRY_FIELDS_HELD_TRY(id) .try_acquire = id##_try_acquire,
#define EXPLICIT_TRY_FIELDS_HELD_NOTRY(id)
#define EXPLICIT_TRY_FIELDS_FREE_TIMED(id)
#define EXPLICIT_TRY_FIELDS_HELD_TIMED(id) EXPLICIT_TRY_FIELDS_HELD_TRY(id)
#define EXPLICIT_FIELDS_FREE(id, way)
#define EXPLICIT_FIELDS_HELD(id, way)                       \
	.core_size = sizeof(struct pawl_##id##_core),       \
	.context_size = sizeof(struct pawl_##id##_context), \
	.acquire = id##_acquire_##way, .release = id##_release_##way,
#define DESTROY_FIELDS_PROMPT(id)
#define DESTROY_FIELDS_STABLE(id)
#define DESTROY_FIELDS_DESTROY(id) .destroy = id##_destroy,

/* clang-format off */
#define ENTRY(id, way, suffix, sleeps, base_name, admits, has_context, unlocks, destroys, try, \
	      releases, rmws_to_lock, rmws_to_unlock, whose) \
	{ \
		.name = base_name suffix, \
		.base = base_name, \
		.header = "pawl/" #id ".h", \
		.source = whose, \
		.admission = ADMISSION_##admits, \
		.context = CONTEXT_##has_context, \
		.unlock_time = UNLOCK_##unlocks, \
		.destroy_when = DESTROY_##destroys, \
		.release_by = RELEASE_##releases, \
		.parks = sleeps, \
		.lock_rmws = rmws_to_lock, \
		.unlock_rmws = rmws_to_unlock, \
		.size = sizeof(struct pawl_##id), \
		.lock = id##_lock_##way, \
		.unlock = id##_unlock_##way, \
		TRY_FIELDS_##try(id, way) \
		EXPLICIT_FIELDS_##has_context(id, way) \
		EXPLICIT_TRY_FIELDS_##has_context##_##try(id) \
		DESTROY_FIELDS_##destroys(id) \
	},
#define ENTRIES_CHOICE(id, ...) \
	ENTRY(id, spin, "", false, __VA_ARGS__) \
	ENTRY(id, park, "+park", true, __VA_ARGS__)
#define ENTRIES_OWN(id, ...) ENTRY(id, own, "", true, __VA_ARGS__)
/* clang-format on */

const struct lock_type lock_types[] = {
#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	ENTRIES_##waiting(id, name, admission, context, unlock, destroy, try, release,  \
			  lock_rmws, unlock_rmws, source)
#include <pawl/locks.def>
#undef PAWL_LOCK
	{.name = NULL},
};

const struct lock_type *lock_type_find(const char *name)
{
	const struct lock_type *type;

	for (type = lock_types; type->name != NULL; type++)
		if (strcmp(type->name, name) == 0)
			return type;
	return NULL;
}
