/* SPDX-License-Identifier: MIT */
/* The debug face's table, for whoever sees to forks. */
#ifndef PAWL_SYNC_DEBUG_H
#define PAWL_SYNC_DEBUG_H

void pawl_debug_before_fork(void);
void pawl_debug_after_fork(void); /* in parent and child */

#endif /* PAWL_SYNC_DEBUG_H */
