/* SPDX-License-Identifier: MIT */
/*
 * The debug face, src/sync/debug.c: its table of held locks, from the first entry on, and
 * what it objects to. An objection ends the thread's call; which one it was is compared with
 * the right one. Entries are plain memory under one guard, so that a missing lock is a race,
 * and an entry that is not freed is left over in the end.
 */
#define _GNU_SOURCE
#include "results.h"

#include <sim/runtime.h>

#include <pawl/runtime.h>

#include <dlfcn.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2 };

static struct room {
	uint64_t names[THREADS];
	uint64_t apart[2 * 64]; /* two locks, in one list of the table */
	pawl_atomic64 locked;
} * room;

enum { SAW_OTHER, SAW_NOBODY };
static const char *const sight_names[] = {
	[SAW_OTHER] = "a lock that another thread holds",
	[SAW_NOBODY] = "a lock that no thread holds",
};

static jmp_buf ends[THREADS];
static char objections[THREADS][2048];
static int complaints;
static bool no_memory;

OUTSIDE _Noreturn static void object(const char *sentence)
{
	strncpy(objections[explore_thread()], sentence, sizeof(objections[0]) - 1);
	_longjmp(ends[explore_thread()], 1);
}

OUTSIDE static void complain(const char *line)
{
	complaints += strstr(line, "waits for another") != NULL;
}

/* What is known of the place of a call: nothing, its object, its function. */
static enum { NOTHING, OBJECT, FUNCTION } known;

static int find_place(const void *place, Dl_info *in)
{
	(void)place;
	*in = (Dl_info){.dli_fname = "object"};
	if (known == FUNCTION)
		in->dli_sname = "function";
	return known != NOTHING;
}

static int entries;

OUTSIDE static void *allocate(size_t size)
{
	if (no_memory)
		return NULL;
	entries++;
	return sim_engine->allocate(size, 16);
}

OUTSIDE static void release(void *p)
{
	if (p == NULL)
		return;
	entries--;
	sim_engine->release(p, __builtin_return_address(0));
}

/* The name of a thread is its own. */
static uint64_t *name_of();
static uint64_t *name_of()
{
	return &room->names[explore_thread()];
}

#undef pawl_die_
#define pawl_die_	 object
#define pawl_os_complain complain
#define dladdr		 find_place
#define malloc		 allocate
#define free		 release
#define __thread /* a thread of the simulation is no thread of the system */
#define my_name		       (*name_of())
#define pawl_debug_locking_    shipped_locking
#define pawl_debug_locked_     shipped_locked
#define pawl_debug_unlocking_  shipped_unlocking
#define pawl_debug_destroying_ shipped_destroying
#define pawl_debug_before_fork shipped_before_fork
#define pawl_debug_after_fork  shipped_after_fork
#include <sync/debug.c>

static const void *lock(int i)
{
	return &room->apart[(size_t)i * 64];
}

OUTSIDE static void set_up(void *argument)
{
	(void)argument;
	room = explore_allocate(sizeof(*room), 128);
	explore_label(room, "room");
	__builtin_memset(&table, 0, sizeof(table));
	complaints = entries = 0;
	known = FUNCTION;
	no_memory = false;
	seen = 0;
}

/* No entry is left. */
OUTSIDE static void finished(void *argument)
{
	int i;

	(void)argument;
	for (i = 0; i < LISTS; i++)
		if (table.lists[i] != NULL)
			explore_fail(VERDICT_ASSERTION, "a lock is still held");
	if (entries != 0)
		explore_fail(VERDICT_ASSERTION, "an entry is left over");
	scenario_saw(seen);
}

OUTSIDE static void show_sights(void *argument)
{
	(void)argument;
	scenario_saw(seen);
}

OUTSIDE static void expect_objection(const char *words)
{
	const char *said = objections[explore_thread()];

	if (strstr(said, words) == NULL)
		explore_fail(VERDICT_ASSERTION, "it said \"%s\", not \"%s\"", said,
			     words);
}

/* A call that must be objected to, in these words. */
#define OBJECTS(words, call)                                \
	do {                                                \
		if (_setjmp(ends[explore_thread()]) == 0) { \
			call;                               \
			object("nothing");                  \
		}                                           \
		expect_objection(words);                    \
	} while (0)

/* first: two threads lock for the first time, and unlock what they have locked; both
 * entries are in one list. */
static void first_thread(void *argument, int thread)
{
	(void)argument;
	pawl_debug_locking_(lock(thread), "mutex");
	pawl_debug_locked_(lock(thread));
	if (room->names[thread] == 0 || room->names[thread] > THREADS)
		explore_fail(VERDICT_ASSERTION, "thread %d has no name", thread);
	pawl_debug_unlocking_(lock(thread), "mutex");
}

/* again: a thread that locks what it holds waits for itself, or for another thread. */
static void again_thread(void *argument, int thread)
{
	(void)argument;
	pawl_debug_locked_(lock(thread));
	OBJECTS("wait for itself", pawl_debug_locking_(lock(thread), "hemlock"));
	OBJECTS("destroyed", pawl_debug_destroying_(lock(thread), "hemlock"));
	pawl_debug_unlocking_(lock(thread), "hemlock");
	OBJECTS("nobody holds it", pawl_debug_unlocking_(lock(thread), "hemlock"));
	OBJECTS("while it is held", pawl_debug_destroying_(lock(thread), "hemlock"));
}

static void complains_thread(void *argument, int thread)
{
	(void)argument;
	if (thread != 0)
		return;
	pawl_debug_locked_(lock(0));
	pawl_debug_locked_(lock(1));
	pawl_debug_locking_(lock(0), "mutex");
	expect("complaints", complaints, 1);
	pawl_debug_locking_(lock(0), "of another header");
	expect("complaints", complaints, 2);
	OBJECTS("(function)", pawl_debug_destroying_(lock(0), "mutex"));
	known = OBJECT;
	OBJECTS(" at object+0x", pawl_debug_destroying_(lock(0), "mutex"));
	known = NOTHING;
	OBJECTS(" at 0x", pawl_debug_destroying_(lock(0), "mutex"));
	/* The lock was freed while it was held, and its memory is another lock. */
	pawl_debug_locked_(lock(0));
	pawl_debug_unlocking_(lock(0), "mutex");
	pawl_debug_unlocking_(lock(1), "mutex");
	no_memory = true;
	OBJECTS("out of memory", pawl_debug_locked_(lock(1)));
}

/* other: one unlocks what the other holds, which is for the owner alone, or not. */
static void other_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		pawl_debug_locked_(lock(0));
		pawl_debug_locked_(lock(1));
		pawl_store_release(&room->locked, 1);
		return;
	}
	pawl_debug_locked_(lock(1) + 8);
	if (pawl_load_acquire(&room->locked) == 0) {
		see(SAW_NOBODY);
		pawl_await_ne_acquire(&room->locked, 0, PAWL_SPIN);
	} else {
		see(SAW_OTHER);
	}
	pawl_debug_unlocking_(lock(1) + 8, "mutex");
	pawl_debug_locking_(lock(0), "mutex");
	pawl_debug_unlocking_(lock(0), "mutex");
	OBJECTS("by another thread", pawl_debug_unlocking_(lock(1), "hemlock"));
}

/* fork: the child of a fork finds a whole table. */
static void fork_thread(void *argument, int thread)
{
	struct held **link;

	(void)argument;
	if (thread == 0) {
		first_thread(argument, thread);
		return;
	}
	pawl_debug_before_fork();
	link = find(lock(0));
	if (*link != NULL && (*link)->lock != lock(0))
		explore_fail(VERDICT_ASSERTION, "half an entry");
	see(*link != NULL ? SAW_OTHER : SAW_NOBODY);
	pawl_debug_after_fork();
}

const struct lock_type debug_types[] = {
	{.name = "debug", .base = "debug", .header = "pawl/mutex.h"},
	{.name = NULL},
};

const struct scenario debug_scenarios[] = {
	TWO("first", "two threads make their first entries", set_up, first_thread,
	    finished, 0),
	TWO("again", "locks that are locked, unlocked and destroyed wrongly", set_up,
	    again_thread, finished, 0),
	TWO("complains", "what is said, and no memory", set_up, complains_thread,
	    finished, 0),
	TWO("other", "a thread unlocks what another holds", set_up, other_thread,
	    show_sights, SIGHT(OTHER) | SIGHT(NOBODY)),
	TWO("fork", "the table while the process forks", set_up, fork_thread, finished,
	    SIGHT(OTHER) | SIGHT(NOBODY)),
	{.name = NULL},
};
