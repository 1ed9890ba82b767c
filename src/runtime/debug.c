/* SPDX-License-Identifier: MIT */
/*
 * The debug face: which mutexes this thread holds, and what to say when that
 * does not fit. A thread's list is all it takes: who is not on it is a
 * stranger, who is on it already locks again.
 */
#include <pawl/runtime.h>

#include <pawl/backend/debug.h>

#include <stdlib.h>

void pawl_debug_locking(const void *m);
void pawl_debug_locked(const void *m);
void pawl_debug_unlocking(const void *m);
void pawl_debug_destroying(const void *m, bool held);

struct held {
	struct held *next;
	const void *mutex;
};

static __thread struct held *held_list;

static struct held **find(const void *m)
{
	struct held **link = &held_list;

	while (*link != NULL && (*link)->mutex != m)
		link = &(*link)->next;
	return link;
}

void pawl_debug_locking(const void *m)
{
	if (*find(m) != NULL)
		pawl_die("a thread locks a pawl_mutex that it already holds: it would "
			 "wait for itself for ever");
}

void pawl_debug_locked(const void *m)
{
	struct held *held = malloc(sizeof(*held));

	if (held == NULL)
		pawl_die("out of memory for the debug face's list of held mutexes");
	held->mutex = m;
	held->next = held_list;
	held_list = held;
}

void pawl_debug_unlocking(const void *m)
{
	struct held **link = find(m);
	struct held *held = *link;

	if (held == NULL)
		pawl_die("a thread unlocks a pawl_mutex that it does not hold");
	*link = held->next;
	free(held);
}

void pawl_debug_destroying(const void *m, bool held)
{
	(void)m;
	if (held)
		pawl_die("a pawl_mutex is destroyed while it is held");
}
