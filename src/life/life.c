/* SPDX-License-Identifier: MIT */
/*
 * A thread's storage; and what becomes of everything when a process forks, a thread
 * exits, or the library is unloaded. Nobody else registers for any of these: each
 * subsystem has a line in the table below. docs/design/lifecycle.md says why each
 * does what it does, and what a signal handler may call.
 */
#include "lease/heirs.h"
#include "lease/leases.h"
#include "life/life.h"
#include "os/os.h"
#include "shared/shared.h"
#include "sleep/fences.h"
#include "sleep/parking.h"
#include "sync/debug.h"
#include "sync/nodes.h"
#include "sync/reads.h"

#include <pawl/runtime.h>

#include <pthread.h>

__thread struct pawl_thread pawl_thread_native_;

/* See os.h. */
const char pawl_life[] = "fork, thread exit, unload";

/*
 * A program that is linked with the archive has of each subsystem only what it uses:
 * a function that is not there is NULL.
 */
#define IF_LINKED(function) extern __typeof__(function) function __attribute__((weak))
IF_LINKED(pawl_fence_forget);
IF_LINKED(pawl_park_join);
IF_LINKED(pawl_park_leave);
IF_LINKED(pawl_park_forget);
IF_LINKED(pawl_hapax_forget_);
IF_LINKED(pawl_reads_forget);
IF_LINKED(pawl_nodes_forget);
IF_LINKED(pawl_debug_before_fork);
IF_LINKED(pawl_debug_after_fork);
IF_LINKED(pawl_lease_before_fork);
IF_LINKED(pawl_lease_after_fork);
IF_LINKED(pawl_lease_forked);
IF_LINKED(pawl_heirs_before_fork);
IF_LINKED(pawl_heirs_after_fork);
IF_LINKED(pawl_heirs_forked);
IF_LINKED(pawl_shared_forked);
IF_LINKED(pawl_shared_leave);
IF_LINKED(pawl_preload_forked);

/* The parent goes on with the block of hapax values that this thread drew from. */
static void draw_anew(void)
{
	pawl_self()->next_hapax = 0;
}

static void delete_exit_key(void);

/*
 * The table, in the order of the layers: gone through from above before a fork, at
 * exit and at unload, and from below after a fork. So upper layers find lower ones at
 * work.
 */
static const struct subsystem {
	const char *name;
	void (*before)(void);			/* a fork: by the thread that forks */
	void (*parent)(void);			/* and after it, in the parent */
	void (*child)(void);			/* or in the child, where it is alone */
	void (*exit)(struct pawl_thread *self); /* of a thread, that arranged for it */
	void (*unload)(void);			/* of the library */
} subsystems[] = {
	{"fences", .child = pawl_fence_forget},
	{"parts of the process", .before = pawl_os_parts_fork},
	{"parking table", .child = pawl_park_forget, .unload = pawl_park_leave},
	{"hapax values", .child = draw_anew},
	{"hapax waiters", .child = pawl_hapax_forget_},
	{"nodes", .child = pawl_nodes_forget},
	{"who reads", .child = pawl_reads_forget},
	{"debug face", .before = pawl_debug_before_fork, .parent = pawl_debug_after_fork,
	 .child = pawl_debug_after_fork},
	/* Locked when nobody is inside a lease any more, who may want the lock. */
	{"list of slots", .before = pawl_heirs_before_fork,
	 .parent = pawl_heirs_after_fork},
	{"leases", .before = pawl_lease_before_fork, .parent = pawl_lease_after_fork,
	 .child = pawl_lease_forked},
	{"slots", .child = pawl_heirs_forked},
	{"shared regions", .child = pawl_shared_forked, .exit = pawl_shared_leave},
	/* mailboxes, leases, reads, nodes: in exit.c, for every back end */
	{"threads", .exit = pawl_thread_exit_, .unload = delete_exit_key},
	{"interposer", .child = pawl_preload_forked},
};

enum { SUBSYSTEMS = sizeof(subsystems) / sizeof(subsystems[0]) };

/* Fork. */

static void before_fork(void)
{
	size_t i;

	for (i = SUBSYSTEMS; i-- > 0;)
		if (subsystems[i].before != NULL)
			subsystems[i].before();
}

static void after_fork_in_parent(void)
{
	size_t i;

	for (i = 0; i < SUBSYSTEMS; i++)
		if (subsystems[i].parent != NULL)
			subsystems[i].parent();
}

static void after_fork_in_child(void)
{
	size_t i;

	for (i = 0; i < SUBSYSTEMS; i++)
		if (subsystems[i].child != NULL)
			subsystems[i].child();
}

void pawl_life_watch_forks(void)
{
	static pawl_atomic64 watching;

	/* Relaxed: once is all that counts. */
	if (pawl_exchange_relaxed(&watching, 1) == 0 &&
	    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
		pawl_die_("out of memory to be told of forks");
}

/* Thread exit. */

static void thread_exits(void *self)
{
	size_t i;

	for (i = SUBSYSTEMS; i-- > 0;)
		if (subsystems[i].exit != NULL)
			subsystems[i].exit(self);
}

/*
 * A first use may be in a signal handler or in an allocator, which may not use the heap.
 * The C library keeps the values of the first so many keys in the thread itself; to set
 * another takes memory. The key is the last of these, so that a program gets the same
 * keys as without this library, and made at the first need, which may come before our
 * constructor. Where a program had taken all of these already there is none.
 */
enum { KEYS_IN_PLACE = 32 };

/* NOT_MADE; NO_KEY: there is none; or the key. */
static pawl_atomic64 exit_key;
enum { NOT_MADE, NO_KEY, FIRST_KEY };

static uint64_t make_exit_key(void)
{
	pthread_key_t keys[KEYS_IN_PLACE];
	uint64_t kept = NO_KEY;
	unsigned i, made = 0;

	while (made < KEYS_IN_PLACE && pthread_key_create(&keys[made], thread_exits) == 0)
		made++;
	for (i = 0; i < made; i++)
		if (keys[i] < KEYS_IN_PLACE && FIRST_KEY + keys[i] > kept)
			kept = FIRST_KEY + keys[i];
	for (i = 0; i < made; i++)
		if (FIRST_KEY + keys[i] != kept)
			pthread_key_delete(keys[i]);
	return kept;
}

static void delete_key(uint64_t key)
{
	if (key >= FIRST_KEY)
		pthread_key_delete((pthread_key_t)(key - FIRST_KEY));
}

/* Relaxed, here and below: a key is a number, and nothing is behind it. */
static uint64_t get_exit_key(void)
{
	uint64_t key = pawl_load_relaxed(&exit_key);

	if (key == NOT_MADE) {
		key = make_exit_key();
		if (!pawl_cas_relaxed(&exit_key, NOT_MADE, key)) {
			delete_key(key); /* another thread was first */
			key = pawl_load_relaxed(&exit_key);
		}
	}
	return key;
}

void pawl_life_make_key(void)
{
	(void)get_exit_key();
}

bool pawl_life_give_up_key(void)
{
	uint64_t key = pawl_exchange_relaxed(&exit_key, NO_KEY); /* Relaxed: as above */

	delete_key(key);
	return key >= FIRST_KEY;
}

/* The library may go before its threads. */
static void delete_exit_key(void)
{
	(void)pawl_life_give_up_key();
}

void pawl_at_thread_exit_native_(void)
{
	struct pawl_thread *self = pawl_self();
	uint64_t key = get_exit_key();

	self->exit_arranged = true;
	/* A thread whose exit cannot be arranged, or is under way already, is
	 * treated as if it were over: it then leaves nothing behind. */
	if (self->exited || key == NO_KEY ||
	    pthread_setspecific((pthread_key_t)(key - FIRST_KEY), self) != 0)
		self->exited = true;
}

/* Load and unload. */

/* At the start, for to register takes memory; and before the program's constructors, if it
 * is linked with the archive. */
enum { BEFORE_OTHERS = 101 };
__attribute__((constructor(BEFORE_OTHERS))) static void load(void)
{
	pawl_os_meet_copies();
	if (pawl_park_join != NULL)
		pawl_park_join();
	pawl_life_make_key();
	pawl_life_watch_forks();
}

__attribute__((destructor)) static void unload(void)
{
	size_t i;

	for (i = SUBSYSTEMS; i-- > 0;)
		if (subsystems[i].unload != NULL)
			subsystems[i].unload();
}

/* The rest of the thread seam. */

uint64_t pawl_seed_native_(void)
{
	/* Never 0, and different for each thread. */
	return (pawl_os_now() ^ (pawl_address(pawl_self()) << 16)) | 1;
}

unsigned pawl_current_cpu(void)
{
	return pawl_os_cpu();
}

unsigned pawl_current_node(void)
{
	return pawl_os_node();
}
