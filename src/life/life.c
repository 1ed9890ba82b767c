/* SPDX-License-Identifier: MIT */
/*
 * Per-thread storage, and the only handlers for fork, thread exit and unload: each
 * subsystem has a line in the table below. docs/design/lifecycle.md gives the reason for
 * each handler and lists what a signal handler may call.
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
 * A static link contains only the subsystems that the program uses; a function that is
 * not linked is NULL.
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

/* The child must not draw from this thread's block of hapax values: the parent goes on
 * using it. */
static void draw_anew(void)
{
	pawl_self()->next_hapax = 0;
}

static void delete_exit_key(void);

/*
 * In the order of the layers. Before a fork, at exit and at unload the table is walked
 * from the top layer down, after a fork from the bottom up, so that a handler can rely on
 * the layers below it.
 */
static const struct subsystem {
	const char *name;
	void (*before)(void);			/* fork: in the forking thread */
	void (*parent)(void);			/* fork: in the parent, afterwards */
	void (*child)(void);			/* fork: in the child's only thread */
	void (*exit)(struct pawl_thread *self); /* thread exit, if registered */
	void (*unload)(void);			/* unload of the library */
} subsystems[] = {
	{"fences", .child = pawl_fence_forget},
	{"parts of the process", .before = pawl_os_parts_fork},
	{"parking table", .child = pawl_park_forget, .unload = pawl_park_leave},
	{"hapax values", .child = draw_anew},
	{"hapax waiters", .child = pawl_hapax_forget_},
	{"nodes", .child = pawl_nodes_forget},
	{"read records", .child = pawl_reads_forget},
	{"debug face", .before = pawl_debug_before_fork, .parent = pawl_debug_after_fork,
	 .child = pawl_debug_after_fork},
	/* Locked only after all threads have left their leases: a thread inside a lease
	 * may want this lock. */
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

	/* Relaxed: only the atomicity matters, so that one caller registers. */
	if (pawl_exchange_relaxed(&watching, 1) == 0 &&
	    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
		pawl_die_("out of memory for the fork handlers");
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
 * The first use may be in a signal handler or in an allocator, where malloc is not
 * allowed. glibc stores the values of the first 32 keys in the thread descriptor and
 * allocates for later keys. We take the last of these 32, so that the program gets the
 * same keys as without pawl, and take it at the first use, which may come before our
 * constructor. If the program already has all 32, there is no exit key.
 */
enum { KEYS_IN_PLACE = 32 };

/* NOT_MADE, NO_KEY (none of the first 32 was free), or FIRST_KEY + the key. */
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

/* Relaxed, here and below: the key is a plain number and publishes no other data. */
static uint64_t get_exit_key(void)
{
	uint64_t key = pawl_load_relaxed(&exit_key);

	if (key == NOT_MADE) {
		key = make_exit_key();
		if (!pawl_cas_relaxed(&exit_key, NOT_MADE, key)) {
			delete_key(key); /* another thread stored its key first */
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

/* The library may be unloaded while threads that used it still run. */
static void delete_exit_key(void)
{
	(void)pawl_life_give_up_key();
}

void pawl_at_thread_exit_native_(void)
{
	struct pawl_thread *self = pawl_self();
	uint64_t key = get_exit_key();

	self->exit_arranged = true;
	/* A thread that is already exiting, or for which no handler can be registered, is
	 * marked exited: it then keeps no state that an exit handler would have to
	 * free. */
	if (self->exited || key == NO_KEY ||
	    pthread_setspecific((pthread_key_t)(key - FIRST_KEY), self) != 0)
		self->exited = true;
}

/* Load and unload. */

/* At load, because registration allocates; and, in a static link, before the program's
 * own constructors. */
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
