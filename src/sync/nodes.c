/* SPDX-License-Identifier: MIT */
/*
 * Queue nodes. A node ends its life in whichever thread released a lock last. Memory
 * comes from the system in chunks and never goes back: a lock that is taken inside
 * malloc() must not allocate.
 */
#include "sync/nodes.h"

#include "os/os.h"
#include "sleep/parking.h"

#include <pawl/backend/debug.h>
#include <pawl/runtime.h>

enum { CHUNK = 32 }; /* nodes that are asked of the system at once: a page */

static struct {
	pawl_atomic64 guard;
	/* Under the guard. */
	struct pawl_node *free;
	struct pawl_node *chunk; /* its last `left` nodes were never used */
	unsigned left;
} store;

/* Requires the guard. NULL if there is no memory. */
static struct pawl_node *take(void)
{
	struct pawl_node *node = store.free;

	if (node != NULL) {
		store.free = node->free_next;
		return node;
	}
	if (store.left == 0) {
		store.chunk = pawl_os_reserve(CHUNK * sizeof(*node));
		if (store.chunk == NULL)
			return NULL;
		store.left = CHUNK;
	}
	return &store.chunk[CHUNK - store.left--];
}

struct pawl_node *pawl_node_new_(void)
{
	struct pawl_node *node;

	pawl_guard_lock(&store.guard);
	node = take();
	pawl_guard_unlock(&store.guard);
	if (node == NULL)
		pawl_die_("out of memory for a queue node");
	pawl_note_acquired(&store);
	node->looks = 0;
	pawl_at_thread_exit();
	return node;
}

void pawl_node_free_(struct pawl_node *node)
{
	pawl_note_releasing(&store);
	pawl_guard_lock(&store.guard);
	node->free_next = store.free;
	store.free = node;
	pawl_guard_unlock(&store.guard);
}

/* Another thread, or the one that forked in a signal handler, may have been half way
 * through anything above: the child leaves what was free where it is. */
void pawl_nodes_forget(void)
{
	pawl_store_relaxed(&store.guard, 0); /* Relaxed: the child has one thread */
	store.free = NULL;
	store.left = 0;
}
