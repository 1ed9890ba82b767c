/* SPDX-License-Identifier: MIT */
/* Every lock of locks.def as a subject, and the table of all subjects. */
#include "subject.h"

#include <pawl/pawl.h>

/* The destroy column selects one of these by its value. */
#define DESTROY_PROMPT(id)
#define DESTROY_STABLE(id)
#define DESTROY_DESTROY(id)               \
	static void id##_destroy(void *l) \
	{                                 \
		pawl_##id##_destroy(l);   \
	}
#define DESTROYER_PROMPT(id)  NULL
#define DESTROYER_STABLE(id)  NULL
#define DESTROYER_DESTROY(id) id##_destroy

#define PAWL_LOCK(id, lock_name, admission, context, unlock_when, destroy_how, try, \
		  released_by, lock_rmws, unlock_rmws, source)                      \
	_Static_assert(sizeof(struct pawl_##id) <= BENCH_LOCK_BYTES, "fits");       \
	static void id##_lock(void *l)                                              \
	{                                                                           \
		pawl_##id##_lock(l);                                                \
	}                                                                           \
	static void id##_unlock(void *l)                                            \
	{                                                                           \
		pawl_##id##_unlock(l);                                              \
	}                                                                           \
	DESTROY_##destroy_how(id) DEFINE_SUBJECT_LOOPS(id, id##_lock, id##_unlock); \
	static const struct bench_subject id##_subject = {                          \
		.name = lock_name,                                                  \
		.destroy = DESTROYER_##destroy_how(id),                             \
		SUBJECT_LOOPS(id)};
#include <pawl/locks.def>
#undef PAWL_LOCK

const struct bench_subject *const bench_subjects[] = {
#define PAWL_LOCK(id, ...) &id##_subject,
#include <pawl/locks.def>
#undef PAWL_LOCK
	&bench_pthread,
	NULL,
};
