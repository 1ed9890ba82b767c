/* SPDX-License-Identifier: MIT */
/* Cancellation of threads that wait for a lock; see cancel.c. */
#ifndef PAWL_PRELOAD_CANCEL_H
#define PAWL_PRELOAD_CANCEL_H

#include "sync/queues.h"

/* As pawl_os_sleep; a thread whose cancellation is asynchronous may be cancelled in it. */
bool cancel_sleep(const pawl_atomic64 *word, uint32_t expected,
		  const struct pawl_deadline *deadline);

/* The calling thread is about to jump, as pawl_jump_leaves has it. True if it leaves a wait,
 * so that its cancellation has to be asynchronous again after that. */
bool cancel_jump(bool (*is_left)(const void *frame, const void *target),
		 const void *target);

#endif /* PAWL_PRELOAD_CANCEL_H */
