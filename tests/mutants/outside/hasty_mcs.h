/* SPDX-License-Identifier: MIT */
/* A queue lock whose unlock does not wait for a successor that is still linking
 * itself: it takes the missing link for the end of the queue. */
#ifndef HASTY_MCS_H
#define HASTY_MCS_H

#include <pawl/face.h>
#include <pawl/runtime.h>

struct pawl_hasty_mcs_core {
	pawl_atomic64 tail;
};

struct pawl_hasty_mcs_context {
	struct pawl_node *node;
};

static inline void pawl_hasty_mcs_acquire_(struct pawl_hasty_mcs_core *l,
					   struct pawl_hasty_mcs_context *context,
					   enum pawl_wait how)
{
	struct pawl_node *node = pawl_node_get_();
	struct pawl_node *ahead;

	context->node = node;
	pawl_store_relaxed(&node->next, 0);
	pawl_store_relaxed(&node->ready, 0);
	ahead = (struct pawl_node *)pawl_pointer(
		pawl_exchange_acq_rel(&l->tail, pawl_address(node)));
	if (ahead == NULL)
		return;
	pawl_store_release(&ahead->next, pawl_address(node));
	pawl_await_ne_acquire(&node->ready, 0, how);
}

static inline void pawl_hasty_mcs_release_(struct pawl_hasty_mcs_core *l,
					   struct pawl_hasty_mcs_context *context,
					   enum pawl_wait how)
{
	struct pawl_node *node = context->node;
	struct pawl_node *behind = (struct pawl_node *)pawl_pointer(
		pawl_load_acquire(&node->next));

	if (behind != NULL) {
		pawl_store_release(&behind->ready, 1);
		pawl_notify(&behind->ready, 1, how);
	} else {
		pawl_cas_release(&l->tail, pawl_address(node), 0);
	}
	pawl_node_put_(node);
}

PAWL_FACE_CONTEXT(hasty_mcs);

#endif /* HASTY_MCS_H */
