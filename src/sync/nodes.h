/* SPDX-License-Identifier: MIT */
/* The store of queue nodes, for src/life. */
#ifndef PAWL_SYNC_NODES_H
#define PAWL_SYNC_NODES_H

/* In the child of a fork. */
void pawl_nodes_forget(void);

#endif /* PAWL_SYNC_NODES_H */
