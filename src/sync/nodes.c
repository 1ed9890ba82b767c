/* SPDX-License-Identifier: MIT */
/* Queue nodes. Each is its own allocation: they end their lives in whichever
 * thread released a lock last. */
#include <pawl/runtime.h>

#include <stdlib.h>

struct pawl_node *pawl_node_new_(void)
{
	struct pawl_node *node = aligned_alloc(_Alignof(struct pawl_node), sizeof(*node));

	if (node == NULL)
		pawl_die_("out of memory for a queue node");
	node->looks = 0;
	pawl_at_thread_exit();
	return node;
}

void pawl_node_free_(struct pawl_node *node)
{
	free(node);
}
