/* SPDX-License-Identifier: MIT */
/* locks.def, expanded: thunks for every lock, then the table of them. */
#include "registry.h"

#include <pawl/pawl.h>

#include <string.h>

/* Each column of locks.def selects one of these by its value. */

#define THUNKS_TRY(id)                         \
	static bool id##_trylock(void *l)      \
	{                                      \
		return pawl_##id##_trylock(l); \
	}
#define THUNKS_NOTRY(id)

#define THUNKS_FREE_TRY(id)
#define THUNKS_FREE_NOTRY(id)
#define THUNKS_FREE(id)
#define THUNKS_HELD_NOTRY(id)
#define THUNKS_HELD_TRY(id)                                     \
	static bool id##_try_acquire(void *core, void *context) \
	{                                                       \
		return pawl_##id##_try_acquire(core, context);  \
	}
#define THUNKS_HELD(id)                                        \
	static void id##_acquire(void *core, void *context)    \
	{                                                      \
		pawl_##id##_acquire(core, context, PAWL_SPIN); \
	}                                                      \
	static void id##_release(void *core, void *context)    \
	{                                                      \
		pawl_##id##_release(core, context, PAWL_SPIN); \
	}

#define THUNKS_PROMPT(id)
#define THUNKS_STABLE(id)
#define THUNKS_DESTROY(id)                \
	static void id##_destroy(void *l) \
	{                                 \
		pawl_##id##_destroy(l);   \
	}

#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, \
		  lock_rmws, unlock_rmws, source)                              \
	static void id##_lock(void *l)                                         \
	{                                                                      \
		pawl_##id##_lock(l);                                           \
	}                                                                      \
	static void id##_unlock(void *l)                                       \
	{                                                                      \
		pawl_##id##_unlock(l);                                         \
	}                                                                      \
	THUNKS_##try(id) THUNKS_##context(id) THUNKS_##context##_##try(id)     \
		THUNKS_##destroy(id)
#include <pawl/locks.def>
#undef PAWL_LOCK

#define FIELDS_TRY(id) .trylock = id##_trylock,
#define FIELDS_NOTRY(id)
#define FIELDS_FREE(id)
#define FIELDS_FREE_TRY(id)
#define FIELDS_FREE_NOTRY(id)
#define FIELDS_HELD(id)                                                              \
	.core_size = sizeof(struct pawl_##id##_core),                                \
	.context_size = sizeof(struct pawl_##id##_context), .acquire = id##_acquire, \
	.release = id##_release,
#define FIELDS_HELD_TRY(id) .try_acquire = id##_try_acquire,
#define FIELDS_HELD_NOTRY(id)
#define FIELDS_PROMPT(id)
#define FIELDS_STABLE(id)
#define FIELDS_DESTROY(id) .destroy = id##_destroy,

const struct lock_type lock_types[] = {
#define PAWL_LOCK(id, lock_name, lock_admission, lock_context, unlock_when, destroy_how, \
		  try, released_by, rmws_to_lock, rmws_to_unlock, whose)                 \
	{.name = lock_name,                                                              \
	 .header = "pawl/" #id ".h",                                                     \
	 .source = whose,                                                                \
	 .admission = ADMISSION_##lock_admission,                                        \
	 .context = CONTEXT_##lock_context,                                              \
	 .unlock_time = UNLOCK_##unlock_when,                                            \
	 .destroy_when = DESTROY_##destroy_how,                                          \
	 .release_by = RELEASE_##released_by,                                            \
	 .lock_rmws = rmws_to_lock,                                                      \
	 .unlock_rmws = rmws_to_unlock,                                                  \
	 .size = sizeof(struct pawl_##id),                                               \
	 .lock = id##_lock,                                                              \
	 .unlock = id##_unlock,                                                          \
	 FIELDS_##try(id) FIELDS_##lock_context(id) FIELDS_##lock_context##_##try(id)    \
		 FIELDS_##destroy_how(id)},
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
