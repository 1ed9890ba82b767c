/* SPDX-License-Identifier: MIT */
/*
 * From the first call to the last: getting ready, and forks.
 *
 * Order: [R] pairs with [A] of preload.h: who finds us ready sees what was chosen.
 */
#define _GNU_SOURCE
#include "life/life.h"
#include "preload/offer.h"
#include "preload/profile.h"
#include "preload/record.h"
#include "sync/queues.h"
#include "preload/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

volatile int not_plain = NOT_PLAIN;
volatile uint64_t rwlock_plain_if = RWLOCK_NO_CLAIM;
pawl_atomic64 not_started = {1};
volatile int verbose;

static void refuse(const char *name, const char *why, const char *reason)
{
	pawl_os_complain("pawl: PAWL_LOCK=");
	pawl_os_complain(name);
	pawl_os_complain(why);
	pawl_os_complain(reason);
	pawl_os_complain("; 'pawl run --list' shows what there is\n");
	_exit(127);
}

/* Whose the read-write locks are. */
static bool leave_rwlocks(void)
{
	const char *name = secure_getenv("PAWL_RWLOCK");

	if (name == NULL || *name == '\0' || strcmp(name, OFFER_RWLOCK_OURS) == 0)
		return false;
	if (strcmp(name, OFFER_RWLOCK_GLIBC) == 0)
		return true;
	pawl_os_complain("pawl: PAWL_RWLOCK=");
	pawl_os_complain(name);
	pawl_os_complain(" is neither " OFFER_RWLOCK_OURS " nor " OFFER_RWLOCK_GLIBC
			 "\n");
	_exit(127);
}

static const struct lock_type *choose(void)
{
	const char *name = secure_getenv("PAWL_LOCK");
	const struct lock_type *type;
	const char *refusal;

	if (name == NULL || *name == '\0')
		name = OFFER_DEFAULT;
	type = lock_type_find(name);
	if (type == NULL)
		refuse(name, " names no lock", "");
	refusal = offer_refusal(type);
	if (refusal != NULL)
		refuse(name, " is not offered: ", refusal);
	return type;
}

/* The one thread of the child starts afresh: nobody queues. */
void pawl_preload_forked(void)
{
	barrier_forked();
	lock_forked();
	records_forked();
	stats_forked();
	profile_forked();
}

/* Handlers of the child run in the order in which they were registered: ours come
 * first, so that others find all in order. */
EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void),
			     void (*child)(void), void *library);

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
		      void *library)
{
	pawl_life_watch_forks();
	return glibc()->register_atfork(prepare, parent, child, library);
}

/*
 * The program has the keys that it would have without us: ours is made first, and is not
 * among those that a program gets first; and when all others are in use the program gets
 * ours, and we learn of no thread's end any more.
 */
EXPORT int pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
	int error;

	pawl_life_make_key();
	error = glibc()->key_create(key, destroy);
	if (error == EAGAIN && pawl_life_give_up_key())
		error = glibc()->key_create(key, destroy);
	return error;
}
OLD_NAME(pthread_key_create);

/* The linker's --wrap: what the runtime calls by that name. */
int __wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
	return glibc()->key_create(key, destroy);
}

EXPORT int tss_create(tss_t *key, tss_dtor_t destroy)
{
	return pthread_key_create(key, destroy) == 0 ? thrd_success : thrd_error;
}

static void start_profile(void)
{
	const char *folder = secure_getenv("PAWL_PROFILE");

	if (folder == NULL || *folder == '\0')
		return;
	if (!lock_is_default())
		refuse(secure_getenv("PAWL_LOCK"), " cannot be profiled", "");
	profile_start(folder, secure_getenv("PAWL_PROFILE_MODE"));
}

/* Whether glibc says that there is no other thread. */
static bool is_single_threaded(void)
{
	const volatile char *single = symbol_after_us("__libc_single_threaded");

	return single != NULL && *single != 0;
}

/* A thread on a fast path looks at not_plain, or rwlock_plain_if, and then at identity_at,
 * without an acquire: if there are such threads already, the heavy barrier stands in for
 * it. Where that is refused all calls take the long way, which begins with [A]. */
static void allow_fast_paths(bool glibcs_rwlocks)
{
	if (!is_single_threaded() && !pawl_os_barrier() && !pawl_os_visit(PAWL_OS_ONLINE))
		return;
	if (lock_is_default() && !stats_on)
		not_plain = !profile_on ? 0 : profile_orders ? NOT_PLAIN : PROFILED;
	if (!glibcs_rwlocks && !stats_on && !profile_on)
		rwlock_plain_if = RWLOCK_OURS;
}

void start(void)
{
	const char *asked = secure_getenv("PAWL_VERBOSE");
	const struct lock_type *type = choose();
	bool glibcs_rwlocks = leave_rwlocks(), first;
	int saved = errno;

	verbose = asked != NULL && *asked == '1';
	lock_choose(type);
	rwlock_choose(glibcs_rwlocks);
	identity_start();
	stats_start(type->name, secure_getenv("PAWL_STATS"));
	start_profile();
	pawl_os_barrier_prepare(); /* somebody may park before constructors run */
	first = pawl_exchange_release(&not_started, 0) != 0; /* [R] */
	pawl_life_watch_forks();
	if (first && verbose) {
		pawl_os_complain("pawl: pthread mutexes are ");
		pawl_os_complain(type->name);
		pawl_os_complain("\n");
	}
	allow_fast_paths(glibcs_rwlocks);
	errno = saved;
}

__attribute__((constructor)) static void start_at_the_latest(void)
{
	start_if_first();
}
