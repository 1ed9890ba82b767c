/* SPDX-License-Identifier: MIT */
/* Every lock of locks.def as a subject, and the table of all subjects. */
#include "subject.h"

#include <pawl/pawl.h>

/* The value of the destroy column selects one of these macros. */
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

#define DEFINE_SUBJECT(id, way, lock_name, lock_call, unlock_call, destroyer)     \
	static void id##_##way##_lock(void *l)                                    \
	{                                                                         \
		lock_call;                                                        \
	}                                                                         \
	static void id##_##way##_unlock(void *l)                                  \
	{                                                                         \
		unlock_call;                                                      \
	}                                                                         \
	DEFINE_SUBJECT_LOOPS(id##_##way, id##_##way##_lock, id##_##way##_unlock); \
	static const struct bench_subject id##_##way = {                          \
		.name = lock_name,                                                \
		SUBJECT_LOOPS(id##_##way),                                        \
		.lock = id##_##way##_lock,                                        \
		.unlock = id##_##way##_unlock,                                    \
		.size = sizeof(struct pawl_##id),                                 \
		.destroy = destroyer};

/* The same for the waiting column. */
#define SUBJECTS_CHOICE(id, lock_name, destroy)                                         \
	DEFINE_SUBJECT(id, spin, lock_name, pawl_##id##_lock_as_(l, PAWL_SPIN),         \
		       pawl_##id##_unlock_as_(l, PAWL_SPIN), destroy)                   \
	DEFINE_SUBJECT(id, park, lock_name "+park", pawl_##id##_lock_as_(l, PAWL_PARK), \
		       pawl_##id##_unlock_as_(l, PAWL_PARK), destroy)
#define SUBJECTS_OWN(id, lock_name, destroy)                                           \
	DEFINE_SUBJECT(id, own, lock_name, pawl_##id##_lock(l), pawl_##id##_unlock(l), \
		       destroy)

#define PAWL_LOCK(id, lock_name, admission, context, unlock_when, destroy_how, try, \
		  released_by, waiting, lock_rmws, unlock_rmws, source)             \
	_Static_assert(sizeof(struct pawl_##id) <= BENCH_LOCK_BYTES, "fits");       \
	DESTROY_##destroy_how(id)                                                   \
		SUBJECTS_##waiting(id, lock_name, DESTROYER_##destroy_how(id))
#include <pawl/locks.def>
#undef PAWL_LOCK

#define ADDRESSES_CHOICE(id) &id##_spin, &id##_park,
#define ADDRESSES_OWN(id)    &id##_own,

const struct bench_subject *const bench_subjects[] = {
#define PAWL_LOCK(id, lock_name, admission, context, unlock_when, destroy_how, try, \
		  released_by, waiting, ...)                                        \
	ADDRESSES_##waiting(id)
#include <pawl/locks.def>
#undef PAWL_LOCK
	&bench_pthread,
	&bench_pthread_adaptive,
#ifdef BENCH_NSYNC
	&bench_nsync,
#endif
#ifdef BENCH_ABSEIL
	&bench_abseil,
#endif
#ifdef BENCH_TBB
	&bench_tbb_mutex,
	&bench_tbb_queuing_mutex,
#endif
#ifdef BENCH_PARKING_LOT
	&bench_parking_lot,
#endif
#ifdef BENCH_CK
	&bench_ck_mcs,
	&bench_ck_clh,
	&bench_ck_ticket,
#endif
	NULL,
};
