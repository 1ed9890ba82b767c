/* SPDX-License-Identifier: MIT */
/* A thread's storage, from first use to exit. */
#include "fences.h"
#include "os.h"
#include "parking.h"

#include <pawl/runtime.h>

#include <pthread.h>

__thread struct pawl_thread pawl_thread_native;

static void thread_exit(void *self)
{
	pawl_thread_exit(self);
}

void pawl_at_thread_exit_native(void)
{
	struct pawl_thread *self = pawl_self();

	self->exit_arranged = true;
	/* A thread whose exit cannot be arranged, or is under way already, is
	 * treated as if it were over: it then leaves nothing behind. */
	if (self->exited || !pawl_os_at_thread_exit(thread_exit, self))
		self->exited = true;
}

uint64_t pawl_seed_native(void)
{
	/* Never 0, and different for each thread. */
	return (pawl_os_now() ^ (pawl_address(pawl_self()) << 16)) | 1;
}

unsigned pawl_current_cpu(void)
{
	return pawl_os_cpu();
}

unsigned pawl_current_node(void)
{
	return pawl_os_node();
}

/* Draw from a block of its own: the parent goes on with the old one. The
 * parking table is full of threads that are not there, and so is the barrier's
 * queue. */
static void forked(void)
{
	pawl_self()->next_hapax = 0;
	pawl_park_forget();
	pawl_hapax_forget();
	pawl_fence_forget();
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forked);
}
