/* SPDX-License-Identifier: MIT */
/*
 * The model that the scenarios of start.c run in: the interposer's files, and what they ask
 * of the system, of glibc and of the rest of the library.
 *
 * A thread's id is where glibc keeps it, at some distance from the thread pointer; at the
 * distance that identity_at begins with all threads find the same number.
 */
#ifndef CHECK_START_WORLD_H
#define CHECK_START_WORLD_H

#define INTERPOSER_COPY first
#include "interposer_names.h"
#include "results.h"

#include <pawl/runtime.h>

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

/* What the files ask of the system, and of the rest of the library. */
#undef not_started
#undef rwlock_plain_if
#undef lock_type_find
#undef pawl_os_barrier
#undef pawl_die_
#define not_started		INTERPOSED(preload_not_started)
#define rwlock_plain_if		INTERPOSED(preload_rwlock_plain_if)
#define lock_type_find		sim_lock_type_find
#define symbol_after_us		INTERPOSED(symbol_after_us)
#define pawl_os_barrier		INTERPOSED(barrier)
#define pawl_os_visit		INTERPOSED(visit)
#define pawl_os_barrier_prepare INTERPOSED(barrier_prepare)
#define pawl_os_complain	INTERPOSED(complain)
#define pawl_die_		INTERPOSED(die)
#define pawl_life_watch_forks	INTERPOSED(watch_forks)
#define pawl_life_make_key	INTERPOSED(make_key)
#define pawl_life_give_up_key	INTERPOSED(give_up_key)
#define secure_getenv		INTERPOSED(getenv)
#define syscall			INTERPOSED(syscall)
#define mmap			INTERPOSED(mmap)
#define pthread_self		INTERPOSED(pthread_self)
#define _exit			INTERPOSED(exit)

/* Fibers have one thread-local storage between them: each variable is a field instead, or
 * one for all. */
struct profile_thread;
struct profile_thread **INTERPOSED(my_profile)(void);
#undef profile_mine
#define profile_mine (*INTERPOSED(my_profile)())
#define __thread
#define tls_model(model)
#include "interposer_off.h"

#include <life/life.h>
#include <preload/offer.h>
#include <src/os/os.h>

enum { THREADS = 2 };

/* What a thread pointer points to. */
static struct storage {
	uint32_t same; /* where identity_at points at first */
	uint32_t id;   /* glibc's */
	uint32_t copy; /* ours, if glibc's is not to be found */
	struct record *record;
	struct profile_thread *profile;
} storages[THREADS];

/* Asked for between a look at not_plain and one at identity_at: the compiler keeps volatile
 * accesses in order, which is all that a light fence does. */
const char *INTERPOSED(thread_pointer)(void)
{
	sim_fence(SIM_FENCE_LIGHT);
	return (const char *)&storages[explore_thread()];
}

pthread_t pthread_self(void)
{
	return (pthread_t)&storages[explore_thread()];
}

static struct world {
	pthread_mutex_t mutex;
	pthread_mutex_t own[THREADS]; /* a thread's own */
	pawl_atomic64 held;	      /* what a thread tells the others */
	uint64_t inside;	      /* plain, under the mutex */
} * world;

/* The system: what it refuses, and what it was asked for. */
static struct {
	bool barrier_refused, visit_refused, single, unknown_glibc, no_memory, no_keys;
	uint32_t gone; /* id of a thread that has ended; 0: all live */
	int complaints, keys, watches, handlers;
	const char *lock, *rwlock, *loud, *stats, *profile, *mode;
	bool rwlocks_left;
	jmp_buf end;
} machine;

enum { SAW_LOCKED, SAW_BUSY, SAW_LATE, SAW_FAST, SAW_ENDED, SAW_TAKEN_OVER, SAW_MADE };

static const char *const sight_names[] = {
	[SAW_LOCKED] = "a lock that returns 0",
	[SAW_BUSY] = "EBUSY from trylock",
	[SAW_LATE] = "ETIMEDOUT",
	[SAW_FAST] = "fast paths that are allowed",
	[SAW_ENDED] = "a process that ends",
	[SAW_TAKEN_OVER] = "a record that is taken over",
	[SAW_MADE] = "a record that is made",
};

OUTSIDE static void end_process(void)
{
	see(SAW_ENDED);
	_longjmp(machine.end, 1);
}

_Noreturn void _exit(int status)
{
	expect("exit", status, 127);
	end_process();
	__builtin_unreachable();
}

_Noreturn void pawl_die_(const char *sentence)
{
	(void)sentence;
	end_process();
	__builtin_unreachable();
}

OUTSIDE char *secure_getenv(const char *name)
{
	const struct {
		const char *name, *value;
	} all[] = {
		{"PAWL_LOCK", machine.lock},	   {"PAWL_RWLOCK", machine.rwlock},
		{"PAWL_VERBOSE", machine.loud},	   {"PAWL_STATS", machine.stats},
		{"PAWL_PROFILE", machine.profile}, {"PAWL_PROFILE_MODE", machine.mode},
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(name, all[i].name) == 0)
			return (char *)(uintptr_t)all[i].value;
	return NULL;
}

/* glibc's functions. All of its keys are in use, but for ours, if machine.no_keys. */

OUTSIDE static int create_theirs(pthread_key_t *key, void (*destroy)(void *))
{
	(void)key, (void)destroy;
	return machine.no_keys && machine.keys > 0 ? EAGAIN : 0;
}

OUTSIDE static int register_theirs(void (*prepare)(void), void (*parent)(void),
				   void (*child)(void), void *library)
{
	(void)prepare, (void)parent, (void)child, (void)library;
	machine.handlers = machine.watches;
	return 0;
}

/* What glibc tells debuggers of the field: its bits, how many, where. */
OUTSIDE void *symbol_after_us(const char *name)
{
	static uint32_t field[] = {32, 1, offsetof(struct storage, id)};
	static _Alignas(8) char single_threaded[8]; /* a word of its own */

	single_threaded[0] = machine.single;
	if (strcmp(name, "pthread_key_create") == 0)
		return (void *)create_theirs;
	if (strcmp(name, "__register_atfork") == 0)
		return (void *)register_theirs;
	if (strcmp(name, "_thread_db_pthread_tid") == 0)
		return machine.unknown_glibc ? NULL : field;
	return strcmp(name, "__libc_single_threaded") == 0 ? single_threaded : NULL;
}

OUTSIDE long syscall(long number, ...)
{
	va_list arguments;
	long thread;

	if (number == SYS_gettid)
		return storages[explore_thread()].id;
	va_start(arguments, number);
	(void)va_arg(arguments, long);
	thread = va_arg(arguments, uint32_t);
	va_end(arguments);
	errno = (uint32_t)thread == machine.gone ? ESRCH : EPERM;
	return number == SYS_tgkill && errno != ESRCH ? 0 : -1;
}

static _Alignas(128) char pool[1 << 16];

OUTSIDE void *mmap(void *at, size_t size, int protection, int flags, int file,
		   off_t offset)
{
	(void)at, (void)size, (void)protection, (void)flags, (void)file, (void)offset;
	errno = ENOMEM;
	return machine.no_memory ? MAP_FAILED : pool;
}

bool pawl_os_barrier_prepare(void)
{
	return !machine.barrier_refused;
}

bool pawl_os_barrier(void)
{
	if (machine.barrier_refused)
		return false;
	sim_fence(SIM_FENCE_HEAVY);
	return true;
}

bool pawl_os_visit(unsigned cpu)
{
	if (cpu != PAWL_OS_ONLINE || machine.visit_refused)
		return false;
	sim_fence(SIM_FENCE_HEAVY);
	return true;
}

OUTSIDE void pawl_os_complain(const char *text)
{
	machine.complaints += strchr(text, '\n') != NULL;
}

OUTSIDE void pawl_life_watch_forks(void)
{
	machine.watches++;
}

OUTSIDE void pawl_life_make_key(void)
{
	machine.keys++;
}

OUTSIDE bool pawl_life_give_up_key(void)
{
	return machine.keys-- == 1;
}

OUTSIDE void rwlock_choose(bool glibcs)
{
	machine.rwlocks_left = glibcs;
}

OUTSIDE void stats_start(const char *lock, const char *path)
{
	(void)lock;
	if (path != NULL)
		stats_on = true;
}

OUTSIDE void profile_start(const char *folder, const char *mode)
{
	(void)folder;
	profile_on = true;
	profile_orders = mode != NULL;
}

OUTSIDE void stats_forked(void)
{
}

OUTSIDE void profile_forked(void)
{
}

OUTSIDE void barrier_forked(void)
{
}

#include <preload/glibc.c>
#include <preload/offer.c>

static uint32_t *my_copy(void)
{
	return &storages[explore_thread()].copy;
}

struct profile_thread **INTERPOSED(my_profile)(void)
{
	return &storages[explore_thread()].profile;
}

static struct record **my_pointer(void)
{
	return &storages[explore_thread()].record;
}

#define id   (*my_copy())
#define mine (*my_pointer())
#include <preload/record.c>
#undef id
#undef mine
#undef __thread
#undef tls_model
#include <preload/lock.c>
#include <preload/mutex.c>

#define constructor unused /* a scenario calls it */
#include <preload/start.c>
#undef constructor

/* A new process. */

static struct record old[2]; /* of threads that have ended */

OUTSIDE static void begin(void)
{
	int t;

	world = explore_allocate(sizeof(*world), 128);
	explore_label(world, "world");
	__builtin_memset(&machine, 0, sizeof(machine));
	__builtin_memset(storages, 0, sizeof(storages));
	__builtin_memset(old, 0, sizeof(old));
	for (t = 0; t < THREADS; t++)
		storages[t] = (struct storage){.same = 77, .id = 101u + (uint32_t)t};
	not_plain = NOT_PLAIN;
	rwlock_plain_if = RWLOCK_NO_CLAIM;
	not_started.raw = 1;
	identity_at = 0;
	guard = (struct pawl_mutex)PAWL_MUTEX_INIT;
	list.raw = resolved.raw = 0;
	cursor = NULL;
	chunk = chunk_end = NULL;
	switch_off();
	seen = 0;
}

static void set_up(void *argument)
{
	(void)argument;
	begin();
}

#endif /* CHECK_START_WORLD_H */
