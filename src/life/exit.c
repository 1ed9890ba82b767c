/* SPDX-License-Identifier: MIT */
/* What a thread's exit does with the thread's state in pawl; shared by all back ends. */
#include "lease/leases.h"
#include "sync/reads.h"

#include <pawl/runtime.h>

/* Weak: a static link without leases or reader-writer locks lacks these functions. */
extern __typeof__(pawl_lease_exit) pawl_lease_exit __attribute__((weak));
extern __typeof__(pawl_reads_exit) pawl_reads_exit __attribute__((weak));

/* The thread took the node from the store, under its guard, after another thread had freed
 * it; but TSan ignores everything that happens inside a lock operation. */
__attribute__((no_sanitize_thread, noinline)) static struct pawl_node *next_free(
	const struct pawl_node *node)
{
	/* Volatile, or gcc passes the member, and its caller's load is instrumented. */
	return *(struct pawl_node *const volatile *)&node->free_next;
}

void pawl_thread_exit_(struct pawl_thread *self)
{
	self->exited = true;
	/* Ends when the last successor that this thread admitted runs and clears the
	 * word. */
	pawl_await_eq_acquire(&self->overlap_grant, 0,
			      PAWL_SPIN); /* [E] of hemlock_overlap.h */
	if (pawl_lease_exit != NULL)
		pawl_lease_exit(self);
	if (pawl_reads_exit != NULL)
		pawl_reads_exit(self);
	while (self->free_nodes != NULL) {
		struct pawl_node *node = self->free_nodes;

		self->free_nodes = next_free(node);
		pawl_node_free_(node);
	}
}
