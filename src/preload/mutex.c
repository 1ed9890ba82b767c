/* SPDX-License-Identifier: MIT */
/*
 * pthread_mutex_* and mtx_*: the kinds of mutex, over the bare lock.
 *
 * The fast paths are those of mutexes with the default lock: one test for __kind
 * and everything else that could be special, then pawl_mutex, inlined.
 *
 * owner is the id of the thread that holds a recursive or errorcheck mutex, and
 * 0 otherwise. It is written by who holds the bare lock, and anybody may read
 * it: a thread finds its own id there if and only if it put it there. Normal and
 * adaptive mutexes have no owner, and anybody may unlock them.
 */
#include "preload/profile.h"
#include "preload/record.h"
#include "sync/queues.h"
#include "preload/stats.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <threads.h>

#define SITE __builtin_return_address(0)

static struct mutex *ours(pthread_mutex_t *mutex)
{
	return (struct mutex *)mutex;
}

static pthread_mutex_t *theirs(struct mutex *m)
{
	return (pthread_mutex_t *)m;
}

static int type_of(const struct mutex *m)
{
	return m->kind & KIND_TYPE;
}

static bool is_mine(const struct mutex *m)
{
	return m->owner == my_id();
}

/* The caller has the bare lock: makes it the owner. */
static void own(struct mutex *m, const void *site)
{
	if (unlikely(profile_on))
		profile_acquired(m, PROFILE_MUTEX, site);
	if (!mutex_has_owner(m))
		return;
	m->owner = my_id();
	if (type_of(m) == PTHREAD_MUTEX_RECURSIVE_NP)
		m->depth = 1;
}

/* Locks once more what the caller holds already. */
static int deepen(struct mutex *m)
{
	if (m->depth + 1 == 0)
		return EAGAIN;
	m->depth++;
	return 0;
}

/*
 * What a lock call must say before it comes to the bare lock: -1 if nothing.
 * Errorcheck mutexes answer a trylock by their holder as they would anybody's.
 */
static int answer_holder(struct mutex *m, bool try)
{
	if (!mutex_has_owner(m) || !is_mine(m))
		return -1;
	if (type_of(m) == PTHREAD_MUTEX_RECURSIVE_NP)
		return deepen(m);
	return try ? -1 : EDEADLK;
}

int mutex_lock(struct mutex *m, const void *site)
{
	int answer;

	start_if_first();
	if (mutex_is_foreign(m))
		return glibc()->mutex_lock(theirs(m));
	answer = answer_holder(m, false);
	if (answer >= 0)
		return answer;
	lock_take(m, site);
	own(m, site);
	return 0;
}

static int mutex_trylock(struct mutex *m, const void *site)
{
	int answer;

	start_if_first();
	if (mutex_is_foreign(m))
		return glibc()->mutex_trylock(theirs(m));
	answer = answer_holder(m, true);
	if (answer >= 0)
		return answer;
	if (!lock_try(m))
		return EBUSY;
	own(m, site);
	return 0;
}

/* For a mutex that is ours. */
static int lock_until(struct mutex *m, clockid_t clock, const struct timespec *time,
		      const void *site)
{
	int answer = answer_holder(m, false);

	if (answer >= 0)
		return answer;
	answer = lock_take_until(m, clock, time, site);
	if (answer == 0)
		own(m, site);
	return answer;
}

int mutex_unlock(struct mutex *m, const void *site)
{
	start_if_first();
	if (mutex_is_foreign(m))
		return glibc()->mutex_unlock(theirs(m));
	if (mutex_has_owner(m)) {
		if (!is_mine(m))
			return EPERM;
		if (type_of(m) == PTHREAD_MUTEX_RECURSIVE_NP && --m->depth != 0)
			return 0;
		m->owner = 0;
	}
	if (unlikely(profile_on))
		profile_leaves(m, lock_owner(m), site);
	lock_give(m);
	if (unlikely(profile_on))
		profile_left();
	return 0;
}

struct pawl_mutex *mutex_queue(struct mutex *m)
{
	if (mutex_is_foreign(m))
		return NULL;
	if (type_of(m) == PTHREAD_MUTEX_RECURSIVE_NP && m->depth > 1)
		return NULL; /* it will not be let go of */
	return lock_queue(m);
}

/* Whether glibc would let the caller unlock a mutex of its own. */
static bool may_unlock_theirs(struct mutex *m)
{
	/* Volatile: who asks may be anybody, while others lock it. */
	const volatile struct __pthread_mutex_s *data = &theirs(m)->__data;

	if ((m->kind & (KIND_ROBUST | KIND_INHERITS)) != 0)
		return ((uint32_t)data->__lock & FUTEX_TID_MASK) == my_id();
	return (!mutex_has_owner(m) && (m->kind & KIND_PROTECTS) == 0) || is_mine(m);
}

/* How many threads use m, which is what glibc's destroy asks: the caller, who
 * holds it, will be back. glibc does not ask of a robust one. */
static void count_theirs(struct mutex *m, unsigned change)
{
	if (m->kind != KIND_DESTROYED && (m->kind & KIND_ROBUST) == 0)
		theirs(m)->__data.__nusers += change;
}

int mutex_may_suspend(struct mutex *m)
{
	bool may;

	if (!mutex_is_foreign(m))
		may = !mutex_has_owner(m) || is_mine(m);
	else
		may = m->kind == KIND_DESTROYED || may_unlock_theirs(m);
	return may ? 0 : EPERM;
}

int mutex_suspend(struct mutex *m, const void *site)
{
	int error;

	if (!mutex_is_foreign(m)) {
		m->users++;
		return mutex_unlock(m, site);
	}
	count_theirs(m, 1);
	error = mutex_unlock(m, site);
	if (error != 0)
		count_theirs(m, -1u);
	return error;
}

int mutex_resume(struct mutex *m, bool taken, const void *site)
{
	int error = 0;

	if (taken)
		own(m, site);
	else
		error = mutex_lock(m, site);
	if (!mutex_is_foreign(m))
		m->users--;
	else if (error == 0)
		count_theirs(m, -1u);
	return error;
}

/*
 * Owned mutexes with the default lock. Functions of their own that call none, but
 * end in a jump to the long way: neither they nor the normal mutex's path then has
 * a register to save.
 */

static inline int lock_owned(struct mutex *m, bool recursive, const void *site)
{
	uint32_t id = identity_look();

	if (m->owner == id && likely(id != 0))
		return recursive ? deepen(m) : EDEADLK;
	if (unlikely(id == 0) || !pawl_mutex_trylock(&m->owned))
		return mutex_lock(m, site);
	m->owner = id;
	if (recursive)
		m->depth = 1;
	return 0;
}

static __attribute__((noinline)) int lock_recursive(struct mutex *m, const void *site)
{
	return lock_owned(m, true, site);
}

static __attribute__((noinline)) int lock_errorcheck(struct mutex *m, const void *site)
{
	return lock_owned(m, false, site);
}

static inline int unlock_owned(struct mutex *m, bool recursive, const void *site)
{
	uint32_t id = identity_look();

	if (unlikely(m->owner != id || id == 0))
		return mutex_unlock(m, site);
	if (recursive && --m->depth != 0)
		return 0;
	m->owner = 0;
	pawl_mutex_unlock(&m->owned);
	return 0;
}

static __attribute__((noinline)) int unlock_recursive(struct mutex *m, const void *site)
{
	return unlock_owned(m, true, site);
}

static __attribute__((noinline)) int unlock_errorcheck(struct mutex *m, const void *site)
{
	return unlock_owned(m, false, site);
}

/* Normal mutexes in a profile: the same, and a few stores. */

static __attribute__((noinline)) int lock_profiled(struct mutex *m, const void *site)
{
	/* Without a look before, which would fetch the line twice. */
	if (unlikely(profile_mine == NULL) ||
	    !pawl_cas_acquire(&m->normal.word, 0,
			      pawl_mutex_me_())) /* [A] of pawl/mutex.h */
		return mutex_lock(m, site);
	return profile_acquired(m, PROFILE_MUTEX, site);
}

static __attribute__((noinline)) int try_profiled(struct mutex *m, const void *site)
{
	if (unlikely(profile_mine == NULL))
		return mutex_trylock(m, site);
	if (!pawl_mutex_trylock(&m->normal))
		return EBUSY;
	return profile_acquired(m, PROFILE_MUTEX, site);
}

static __attribute__((noinline)) int lock_owned_profiled(struct mutex *m,
							 const void *site)
{
	bool recursive = type_of(m) == PTHREAD_MUTEX_RECURSIVE_NP;
	uint32_t id = identity_look();

	if (m->owner == id && likely(id != 0))
		return recursive ? deepen(m) : EDEADLK;
	if (unlikely(profile_mine == NULL || id == 0) || !pawl_mutex_trylock(&m->owned))
		return mutex_lock(m, site);
	m->owner = id;
	if (recursive)
		m->depth = 1;
	return profile_acquired(m, PROFILE_MUTEX, site);
}

static __attribute__((noinline)) int unlock_owned_profiled(struct mutex *m,
							   const void *site)
{
	bool recursive = type_of(m) == PTHREAD_MUTEX_RECURSIVE_NP;
	uint32_t id = identity_look();

	if (unlikely(m->owner != id || id == 0))
		return mutex_unlock(m, site);
	if (recursive && m->depth > 1) {
		m->depth--;
		return 0;
	}
	if (unlikely(!profile_can_pop(profile_mine, m)))
		return mutex_unlock(m, site);
	profile_pop(profile_mine);
	m->depth = 0;
	m->owner = 0;
	pawl_mutex_unlock(&m->owned);
	return 0;
}

static __attribute__((noinline)) int unlock_profiled(struct mutex *m, const void *site)
{
	if (unlikely(!profile_can_pop(profile_mine, m)))
		return mutex_unlock(m, site);
	profile_pop(profile_mine);
	pawl_mutex_unlock(&m->normal);
	return 0;
}

/* The functions themselves. */

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	struct mutex *m = ours(mutex);
	int kind = m->kind | not_plain;

	if (unlikely(kind != 0)) {
		if (kind == PROFILED)
			return lock_profiled(m, SITE);
		if (kind == (PROFILED | PTHREAD_MUTEX_RECURSIVE_NP) ||
		    kind == (PROFILED | PTHREAD_MUTEX_ERRORCHECK_NP))
			return lock_owned_profiled(m, SITE);
		if (kind == PTHREAD_MUTEX_RECURSIVE_NP)
			return lock_recursive(m, SITE);
		if (kind == PTHREAD_MUTEX_ERRORCHECK_NP)
			return lock_errorcheck(m, SITE);
		return mutex_lock(m, SITE);
	}
	pawl_mutex_lock(&m->normal);
	return 0;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	struct mutex *m = ours(mutex);

	int kind = m->kind | not_plain;

	if (unlikely(kind != 0)) {
		if (kind == PROFILED)
			return try_profiled(m, SITE);
		return mutex_trylock(m, SITE);
	}
	return pawl_mutex_trylock(&m->normal) ? 0 : EBUSY;
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	struct mutex *m = ours(mutex);
	int kind = m->kind | not_plain;

	if (unlikely(kind != 0)) {
		if (kind == PROFILED)
			return unlock_profiled(m, SITE);
		if (kind == (PROFILED | PTHREAD_MUTEX_RECURSIVE_NP) ||
		    kind == (PROFILED | PTHREAD_MUTEX_ERRORCHECK_NP))
			return unlock_owned_profiled(m, SITE);
		if (kind == PTHREAD_MUTEX_RECURSIVE_NP)
			return unlock_recursive(m, SITE);
		if (kind == PTHREAD_MUTEX_ERRORCHECK_NP)
			return unlock_errorcheck(m, SITE);
		return mutex_unlock(m, SITE);
	}
	pawl_mutex_unlock(&m->normal);
	return 0;
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *time)
{
	struct mutex *m = ours(mutex);

	start_if_first();
	if (mutex_is_foreign(m))
		return glibc()->mutex_timedlock(mutex, time);
	return lock_until(m, CLOCK_REALTIME, time, SITE);
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
				   const struct timespec *time)
{
	struct mutex *m = ours(mutex);

	start_if_first();
	if (mutex_is_foreign(m))
		return glibc()->mutex_clocklock(mutex, clock, time);
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return EINVAL;
	return lock_until(m, clock, time, SITE);
}

/* Nobody who was left waiting at this address, in another life of its memory, has
 * any business with what is or was there: whatever kind that was. */
static void forget(struct mutex *m)
{
	pawl_mutex_forget(&m->normal);
	pawl_mutex_forget(&m->owned);
}

static void initialise(struct mutex *m, int kind, const void *site)
{
	if (unlikely(profile_on))
		profile_initialised(m, site);
	forget(m);
	memset(m, 0, sizeof(pthread_mutex_t));
	m->kind = kind;
}

EXPORT int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	struct mutex *m = ours(mutex);
	int wanted = 0, error;

	start_if_first();
	if (attr != NULL)
		memcpy(&wanted, attr, sizeof(wanted));
	if ((wanted & KIND_FOREIGN) == 0) {
		initialise(m, wanted & KIND_TYPE, SITE);
		return 0;
	}
	/* glibc knows what its attributes come to. */
	error = glibc()->mutex_init(mutex, attr);
	if (error == 0 && !mutex_is_foreign(m))
		initialise(m, m->kind & KIND_TYPE, SITE);
	return error;
}

EXPORT int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	struct mutex *m = ours(mutex);
	bool busy;

	start_if_first();
	if (mutex_is_foreign(m))
		return glibc()->mutex_destroy(mutex);
	if (!lock_try(m))
		return EBUSY;
	busy = m->users != 0;
	lock_give(m);
	if (busy)
		return EBUSY;
	forget(m);
	m->kind = KIND_DESTROYED;
	return 0;
}

/* Names that glibc keeps for old programs. */
OLD_NAME(pthread_mutex_lock);
OLD_NAME(pthread_mutex_trylock);
OLD_NAME(pthread_mutex_unlock);
OLD_NAME(pthread_mutex_init);
OLD_NAME(pthread_mutex_destroy);

/* C11. A mtx_t is a pthread_mutex_t by another name, in glibc too. */

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "a mtx_t is a mutex");

static int in_c11(int error)
{
	switch (error) {
	case 0:
		return thrd_success;
	case EBUSY:
		return thrd_busy;
	case ETIMEDOUT:
		return thrd_timedout;
	default:
		return thrd_error;
	}
}

/* glibc takes any other type for a plain one. */
EXPORT int mtx_init(mtx_t *mtx, int type)
{
	bool recursive = type == (mtx_plain | mtx_recursive) ||
			 type == (mtx_timed | mtx_recursive);

	start_if_first();
	initialise((struct mutex *)mtx, recursive ? PTHREAD_MUTEX_RECURSIVE_NP : 0, SITE);
	return thrd_success;
}

EXPORT int mtx_lock(mtx_t *mtx)
{
	return in_c11(mutex_lock((struct mutex *)mtx, SITE));
}

EXPORT int mtx_trylock(mtx_t *mtx)
{
	return in_c11(mutex_trylock((struct mutex *)mtx, SITE));
}

EXPORT int mtx_timedlock(mtx_t *restrict mtx, const struct timespec *restrict time)
{
	start_if_first();
	return in_c11(lock_until((struct mutex *)mtx, CLOCK_REALTIME, time, SITE));
}

EXPORT int mtx_unlock(mtx_t *mtx)
{
	return in_c11(mutex_unlock((struct mutex *)mtx, SITE));
}

EXPORT void mtx_destroy(mtx_t *mtx)
{
	pthread_mutex_destroy((pthread_mutex_t *)mtx);
}
