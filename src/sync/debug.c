/* SPDX-License-Identifier: MIT */
/*
 * The debug face: who holds which lock, since where, and what to say when that
 * does not fit. One table for all: a lock that any thread may unlock is nobody's
 * in particular, so what its holder keeps to itself would be of no use.
 */
#define _GNU_SOURCE
#include "os/os.h"
#include "sleep/parking.h"
#include "sync/debug.h"

#include <pawl/runtime.h>

#include <pawl/backend/debug.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct held {
	struct held *next;
	const void *lock;
	const void *site; /* where it was locked */
	uint64_t thread;  /* that locked it */
};

enum { LISTS = 64, TEXT = 2048 };

static struct {
	pawl_atomic64 guard;
	uint64_t threads; /* that ever locked something */
	struct held *lists[LISTS];
} table;

/* Unlike an address, it stays the name of one thread. */
static __thread uint64_t my_name;

/* What the registry says of the lock. Whose header is none of ours is believed
 * to know what it does. */
static bool owner_only(const char *id)
{
	enum { ANYONE, OWNER };
	static const struct {
		const char *id;
		int release;
	} rules[] = {
#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, ...) \
	{#id, release},
#include <pawl/locks.def>
#undef PAWL_LOCK
	};
	size_t i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strcmp(rules[i].id, id) == 0)
			return rules[i].release == OWNER;
	return false;
}

/* The link to the lock's entry, or to where its list ends. Requires the guard. */
static struct held **find(const void *l)
{
	struct held **link = &table.lists[(pawl_address(l) >> 3) % LISTS];

	while (*link != NULL && (*link)->lock != l)
		link = &(*link)->next;
	return link;
}

/* A copy of the lock's entry; false if nobody holds it. Takes it off the table
 * if it is to. */
static bool look_up(const void *l, struct held *copy, bool take)
{
	struct held *found, **link;

	pawl_guard_lock(&table.guard);
	link = find(l);
	found = *link;
	if (found != NULL) {
		*copy = *found;
		if (take)
			*link = found->next;
	}
	pawl_guard_unlock(&table.guard);
	if (take)
		free(found);
	return found != NULL;
}

/* Where a call was, in a form that addr2line takes: object+offset. `returns` is
 * what comes after the call. */
static void name_site(char *text, size_t size, const void *returns)
{
	uint64_t site = pawl_address(returns) - 1;
	Dl_info in;

	if (dladdr(pawl_pointer(site), &in) == 0)
		snprintf(text, size, "0x%" PRIx64, site);
	else if (in.dli_sname == NULL)
		snprintf(text, size, "%s+0x%" PRIx64, in.dli_fname,
			 site - pawl_address(in.dli_fbase));
	else
		snprintf(text, size, "%s+0x%" PRIx64 " (%s)", in.dli_fname,
			 site - pawl_address(in.dli_fbase), in.dli_sname);
}

/* "pawl_<id> <address>: <done> at <site><why>", and since when it is held. */
static void describe(char *text, const void *l, const char *id, const char *done,
		     const void *site, const struct held *held, const char *why)
{
	char at[TEXT / 3], since[TEXT / 3] = "";

	name_site(at, sizeof(at), site);
	if (held != NULL)
		name_site(since, sizeof(since), held->site);
	snprintf(text, TEXT, "pawl_%s 0x%" PRIx64 ": %s at %s%s%s", id, pawl_address(l),
		 done, at, why, since);
}

void pawl_debug_locking_(const void *l, const char *id)
{
	const void *site = __builtin_return_address(0);
	char text[TEXT], line[TEXT + 8];
	struct held held;

	if (!look_up(l, &held, false) || held.thread != my_name)
		return;
	if (owner_only(id)) {
		describe(text, l, id, "locked", site, &held,
			 " by the thread that holds it, which would wait for itself for "
			 "ever; it was locked at ");
		pawl_die_(text);
	}
	/* Not wrong by itself: somebody else may be about to unlock it. */
	describe(text, l, id, "locked", site, &held,
		 " by the thread that locked it before, which now waits for another "
		 "thread to unlock it; it was locked at ");
	snprintf(line, sizeof(line), "pawl: %s\n", text);
	pawl_os_complain(line);
}

void pawl_debug_locked_(const void *l)
{
	struct held *mine = malloc(sizeof(*mine)), **link;

	if (mine == NULL)
		pawl_die_("out of memory for the debug face's table of held locks");
	pawl_guard_lock(&table.guard);
	if (my_name == 0)
		my_name = ++table.threads;
	/* One that is there already is of a lock that was freed while held. */
	link = find(l);
	*mine = (struct held){*link != NULL ? (*link)->next : NULL, l,
			      __builtin_return_address(0), my_name};
	free(*link);
	*link = mine;
	pawl_guard_unlock(&table.guard);
}

void pawl_debug_unlocking_(const void *l, const char *id)
{
	const void *site = __builtin_return_address(0);
	char text[TEXT];
	struct held held;

	if (!look_up(l, &held, true)) {
		describe(text, l, id, "unlocked", site, NULL, ", but nobody holds it");
		pawl_die_(text);
	}
	if (held.thread != my_name && owner_only(id)) {
		describe(text, l, id, "unlocked", site, &held,
			 " by another thread than the one that holds it, which alone "
			 "may; it was locked at ");
		pawl_die_(text);
	}
}

void pawl_debug_destroying_(const void *l, const char *id)
{
	const void *site = __builtin_return_address(0);
	char text[TEXT];
	struct held held;

	/* Who locked it may have been built without the debug face. */
	if (look_up(l, &held, false))
		describe(text, l, id, "destroyed", site, &held,
			 " while it is held; it was locked at ");
	else
		describe(text, l, id, "destroyed", site, NULL, " while it is held");
	pawl_die_(text);
}

/* What is held at a fork is held in the child: by the thread that forked, or by
 * one that is not there. */

void pawl_debug_before_fork(void)
{
	pawl_guard_lock(&table.guard);
}

void pawl_debug_after_fork(void)
{
	pawl_guard_unlock(&table.guard);
}
