/* SPDX-License-Identifier: MIT */
/*
 * The model that the scenarios of interposer.c run in: what the interposer's mutex.c, cond.c,
 * lock.c and rwlock.c ask of its other files, of glibc and of the system.
 *
 * The interposer has started, nobody counts and nobody makes a profile. A mutex that is
 * glibc's is one word; a condition variable of glibc's has nobody to tell; calls on a
 * read-write lock of glibc's are counted. A thread that
 * may be cancelled is so, or not, before each of its writes and sleeps while that would
 * act at once, and in the end.
 */
#ifndef CHECK_INTERPOSER_WORLD_H
#define CHECK_INTERPOSER_WORLD_H

#include "interposer_names.h"
#include "results.h"

/* Constants here: see the definitions. */
#undef not_plain
#undef rwlock_plain_if
#undef identity_at
#define not_plain	declared_not_plain
#define identity_at	declared_identity_at
#define rwlock_plain_if declared_rwlock_plain_if
#include "interposer_off.h"
#undef not_plain
#undef rwlock_plain_if
#undef identity_at

#include <pawl/thread.h>
#include <sleep/parking.h>

#include <errno.h>
#include <setjmp.h>
#include <string.h>
#include <threads.h>

enum { THREADS = 3, PLACES = 8 };

static struct world {
	pthread_mutex_t mutex, second;
	pthread_cond_t places[PLACES], other;
	pthread_rwlock_t rwlock;
	_Alignas(8) pthread_spinlock_t spin; /* in a word of its own */
	pawl_atomic64 not_yet_started;	     /* stays 0 */
	pawl_atomic64 held;		     /* what a thread tells the others */
	/* Plain, under the mutex. */
	uint64_t inside, ready, served;
} * world;

static pthread_cond_t *cond; /* one of the places */

/* The interposer's other files. In memory that cannot be written, so that a look is no
 * step: nobody changes it any more. */
extern const int sim_preload_not_plain;
extern const ptrdiff_t sim_preload_identity_at;
pawl_atomic64 *sim_preload_not_started;
const int sim_preload_not_plain = 0;
static const uint64_t plain_if_ours = RWLOCK_OURS, plain_if_none = RWLOCK_NO_CLAIM;
const volatile uint64_t *sim_preload_rwlock_plain_if;
const ptrdiff_t sim_preload_identity_at = 0;
volatile ptrdiff_t declared_identity_at; /* the same, for this file */

static const uint32_t identities[THREADS] = {101, 102, 103};

OUTSIDE const char *sim_thread_pointer(void)
{
	return (const char *)&identities[explore_thread()];
}

static void never_asked_for(void)
{
	explore_fail(VERDICT_ASSERTION, "what is done is asked for again");
}

void start(void)
{
	never_asked_for();
}

uint32_t identity_ask(void)
{
	never_asked_for();
	return 0;
}

/* glibc. */

static bool theirs_refuses; /* its mutex to be unlocked */
static int told_theirs;	    /* calls on its own condition variables and rwlocks */

static pawl_atomic64 *word_of(pthread_mutex_t *mutex)
{
	return (pawl_atomic64 *)(void *)mutex;
}

static bool is_destroyed(const pthread_mutex_t *mutex)
{
	return mutex->__data.__kind == KIND_DESTROYED;
}

/* As an initialiser leaves it; of attributes only protocol and robustness matter. */
static int init_theirs(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	int protocol, robust;

	pthread_mutexattr_getprotocol(attr, &protocol);
	pthread_mutexattr_getrobust(attr, &robust);
	if (protocol == PTHREAD_PRIO_PROTECT && robust == PTHREAD_MUTEX_ROBUST)
		return ENOTSUP;
	mutex->__data.__kind = PTHREAD_MUTEX_RECURSIVE_NP |
			       (protocol == PTHREAD_PRIO_INHERIT ? KIND_INHERITS : 0) |
			       (protocol == PTHREAD_PRIO_PROTECT ? KIND_PROTECTS : 0) |
			       (robust == PTHREAD_MUTEX_ROBUST ? KIND_ROBUST : 0);
	return 0;
}

static int taken_theirs(pthread_mutex_t *mutex)
{
	((struct mutex *)mutex)->owner = my_id();
	return 0;
}

static int lock_theirs(pthread_mutex_t *mutex)
{
	if (is_destroyed(mutex))
		return EINVAL;
	pawl_await_cas_acquire(word_of(mutex), 0, my_id(), PAWL_SPIN);
	return taken_theirs(mutex);
}

static int try_theirs(pthread_mutex_t *mutex)
{
	if (!pawl_cas_acquire(word_of(mutex), 0, my_id()))
		return EBUSY;
	return taken_theirs(mutex);
}

static int timed_theirs(pthread_mutex_t *mutex, const struct timespec *time)
{
	(void)time;
	return try_theirs(mutex) == 0 ? 0 : ETIMEDOUT;
}

static int clocked_theirs(pthread_mutex_t *mutex, clockid_t clock,
			  const struct timespec *time)
{
	return clock == CLOCK_MONOTONIC ? timed_theirs(mutex, time) : EINVAL;
}

static int unlock_theirs(pthread_mutex_t *mutex)
{
	if (is_destroyed(mutex) || theirs_refuses)
		return is_destroyed(mutex) ? EINVAL : EPERM;
	((struct mutex *)mutex)->owner = 0;
	pawl_store_release(word_of(mutex), 0);
	return 0;
}

static int destroy_theirs(pthread_mutex_t *mutex)
{
	return is_destroyed(mutex) ? EINVAL : 0;
}

OUTSIDE static void count_theirs(void)
{
	told_theirs++;
}

/* Looks at it, as glibc does: nothing of ours may have written there, or freed it. */
static int tell_theirs(pthread_cond_t *c)
{
	if (pawl_load_relaxed((pawl_atomic64 *)(void *)c) != 0)
		explore_fail(VERDICT_ASSERTION, "glibc's condition variable is written");
	count_theirs();
	return 0;
}

/* A wait with a mutex that is glibc's, too. */
OUTSIDE static int wait_theirs(pthread_cond_t *c, pthread_mutex_t *mutex)
{
	(void)c, (void)mutex;
	told_theirs++;
	return EOWNERDEAD;
}

OUTSIDE static int wait_theirs_timed(pthread_cond_t *c, pthread_mutex_t *mutex,
				     const struct timespec *time)
{
	(void)time;
	return wait_theirs(c, mutex);
}

OUTSIDE static int wait_theirs_clock(pthread_cond_t *c, pthread_mutex_t *mutex,
				     clockid_t clock, const struct timespec *time)
{
	(void)clock, (void)time;
	return wait_theirs(c, mutex);
}

OUTSIDE static int init_cond_theirs(pthread_cond_t *c, const pthread_condattr_t *attr)
{
	(void)attr;
	return tell_theirs(c);
}

/* Read-write locks: what each call is to return. */
static int theirs_returns;

OUTSIDE static int call_theirs(pthread_rwlock_t *rwlock)
{
	(void)rwlock;
	told_theirs++;
	return theirs_returns;
}

OUTSIDE static int call_theirs_timed(pthread_rwlock_t *rwlock,
				     const struct timespec *time)
{
	(void)time;
	return call_theirs(rwlock);
}

OUTSIDE static int call_theirs_clock(pthread_rwlock_t *rwlock, clockid_t clock,
				     const struct timespec *time)
{
	(void)clock, (void)time;
	return call_theirs(rwlock);
}

/* Of attributes none matters. */
static int init_rwlock_theirs(pthread_rwlock_t *rwlock, const pthread_rwlockattr_t *attr)
{
	(void)attr;
	memset(rwlock, 0, sizeof(*rwlock));
	return call_theirs(rwlock);
}

const volatile struct glibc *glibc(void)
{
	static const struct glibc functions = {
		.mutex_init = init_theirs,
		.mutex_lock = lock_theirs,
		.mutex_trylock = try_theirs,
		.mutex_timedlock = timed_theirs,
		.mutex_clocklock = clocked_theirs,
		.mutex_unlock = unlock_theirs,
		.mutex_destroy = destroy_theirs,
		.cond_init = init_cond_theirs,
		.cond_destroy = tell_theirs,
		.cond_wait = wait_theirs,
		.cond_timedwait = wait_theirs_timed,
		.cond_clockwait = wait_theirs_clock,
		.cond_signal = tell_theirs,
		.cond_broadcast = tell_theirs,
		.rwlock_init = init_rwlock_theirs,
		.rwlock_destroy = call_theirs,
		.rwlock_rdlock = call_theirs,
		.rwlock_wrlock = call_theirs,
		.rwlock_tryrdlock = call_theirs,
		.rwlock_trywrlock = call_theirs,
		.rwlock_timedrdlock = call_theirs_timed,
		.rwlock_timedwrlock = call_theirs_timed,
		.rwlock_clockrdlock = call_theirs_clock,
		.rwlock_clockwrlock = call_theirs_clock,
		.rwlock_unlock = call_theirs,
	};

	return &functions;
}

/* Cancellation. */

static struct {
	bool mortal, at_once, cancelled;
	void (*handler)(void *);
	void *argument;
	jmp_buf end;
} lives[THREADS];

OUTSIDE void sim_cleanup_push(void (*handler)(void *), void *argument)
{
	lives[explore_thread()].handler = handler;
	lives[explore_thread()].argument = argument;
}

OUTSIDE void sim_cleanup_pop(void)
{
	lives[explore_thread()].handler = NULL;
}

OUTSIDE static void perhaps_be_cancelled(void)
{
	int me = explore_thread();

	if (me < 0 || !lives[me].mortal || !lives[me].at_once || !sim_one_in(2))
		return;
	lives[me].at_once = lives[me].mortal = false;
	lives[me].cancelled = true;
	lives[me].handler(lives[me].argument);
	_longjmp(lives[me].end, 1);
}

OUTSIDE int pthread_setcanceltype(int type, int *old)
{
	bool *at_once = &lives[explore_thread()].at_once;

	perhaps_be_cancelled();
	*old = *at_once ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
	*at_once = type == PTHREAD_CANCEL_ASYNCHRONOUS;
	return 0;
}

/* The program. */

/* What is waited for has a bucket of its own: see find_place() of cond.c. */
static void set_up_with(int kind)
{
	int t;

	world = explore_allocate(sizeof(*world), 128);
	explore_label(world, "world");
	world->mutex.__data.__kind = kind;
	sim_preload_not_started = &world->not_yet_started;
	cond = world->places;
	while (pawl_filter_of_(cond) == pawl_filter_of_(&world->mutex) ||
	       pawl_filter_of_(cond) ==
		       pawl_filter_of_(&((struct mutex *)&world->mutex)->owned))
		if (++cond == world->places + PLACES)
			pawl_die_("no place is in another bucket");
	for (t = 0; t < THREADS; t++)
		lives[t].mortal = lives[t].at_once = lives[t].cancelled = false;
	lock_choose(sim_lock_type_find("mutex"));
	sim_before_step = NULL;
	switch_off();
	sim_preload_rwlock_plain_if = &plain_if_ours;
	theirs_refuses = false;
	told_theirs = theirs_returns = 0;
	seen = 0;
}

#endif /* CHECK_INTERPOSER_WORLD_H */
