/* SPDX-License-Identifier: MIT */
/*
 * The scoped form of pawl/hemlock.h, whose grant word is a new one each time. Part of
 * the simulated world, like scenario.c.
 */
#include "outside.h"

#include <pawl/hemlock.h>

enum { THREADS = 3 };

/* The words lie here, for a stack has nothing that a trace could name. */
static struct room {
	struct pawl_hemlock lock;
	uint64_t visits; /* plain: by whoever is inside */
	struct pawl_hemlock_scope scopes[THREADS];
} * room;

static void set_up(void *argument)
{
	(void)argument;
	room = explore_allocate(sizeof(*room), 128);
	explore_label(room, "room");
}

/* Makes a scope of what was something else before. */
static struct pawl_hemlock_scope *new_scope(int thread)
{
	struct pawl_hemlock_scope *scope = &room->scopes[thread];

	/* Relaxed: nobody else knows it yet. */
	pawl_store_relaxed(&scope->grant, pawl_hemlock_name_(&room->lock));
	pawl_store_relaxed(&scope->grant, 0);
	return scope;
}

static void visit(void)
{
	explore_enter(0);
	room->visits++;
	explore_leave(0);
}

/* scoped: the first only tries, if there is one who does. */
static void run(int thread, bool first_tries)
{
	struct pawl_hemlock_scope *scope = new_scope(thread);

	explore_arrive(0, &room->lock, sizeof(room->lock), ADMIT_FIFO);
	if (thread != 0 || !first_tries) {
		pawl_hemlock_scope_lock(&room->lock, scope);
	} else if (!pawl_hemlock_scope_trylock(&room->lock, scope)) {
		explore_retreat(0);
		return;
	}
	visit();
	pawl_hemlock_scope_unlock(&room->lock, scope);
}

static void scoped_thread(void *argument, int thread)
{
	(void)argument;
	run(thread, false);
}

static void scoped_try_thread(void *argument, int thread)
{
	(void)argument;
	run(thread, true);
}

const struct lock_type scoped_types[] = {
	{.name = "scoped", .base = "scoped", .header = "pawl/hemlock.h"},
	{.name = NULL},
};

const struct scenario scoped_scenarios[] = {
	{"scoped", "hemlock, each time with a new word", THREADS, THREADS, 1, 1, always,
	 passes, set_up, scoped_thread, NULL},
	{"scoped-try", "the same, and one only tries", THREADS, THREADS, 1, 1, always,
	 passes, set_up, scoped_try_thread, NULL},
	{.name = NULL},
};
