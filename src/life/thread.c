/* SPDX-License-Identifier: MIT */
/* A thread's storage, from first use to exit. */
#include "sleep/fences.h"
#include "os/os.h"
#include "sleep/parking.h"
#include "sync/reads.h"

#include <pawl/runtime.h>

#include <pthread.h>

__thread struct pawl_thread pawl_thread_native;

static void thread_exit(void *self)
{
	pawl_thread_exit(self);
}

/*
 * A first use may be in a signal handler, which may not use the heap. The C library
 * keeps the values of the first so many keys in the thread itself; only a program
 * that has more, and loads this library later, gets what may take memory.
 */
enum { KEYS_IN_PLACE = 32 };
static pthread_key_t exit_key;
static bool exit_key_in_place;

__attribute__((constructor)) static void make_exit_key(void)
{
	if (pthread_key_create(&exit_key, thread_exit) != 0)
		return;
	exit_key_in_place = exit_key < KEYS_IN_PLACE;
	if (!exit_key_in_place)
		pthread_key_delete(exit_key);
}

/* The library may go before its threads. */
__attribute__((destructor)) static void delete_exit_key(void)
{
	if (exit_key_in_place)
		pthread_key_delete(exit_key);
	exit_key_in_place = false;
}

static bool arrange_exit(struct pawl_thread *self)
{
	if (exit_key_in_place)
		return pthread_setspecific(exit_key, self) == 0;
	return pawl_os_at_thread_exit(thread_exit, self);
}

void pawl_at_thread_exit_native(void)
{
	struct pawl_thread *self = pawl_self();

	self->exit_arranged = true;
	/* A thread whose exit cannot be arranged, or is under way already, is
	 * treated as if it were over: it then leaves nothing behind. */
	if (self->exited || !arrange_exit(self))
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
 * parking table is full of threads that are not there, and so are the barrier's
 * queue and the records of who reads. */
static void forked(void)
{
	pawl_self()->next_hapax = 0;
	pawl_park_forget();
	pawl_hapax_forget();
	pawl_fence_forget();
	pawl_reads_forget();
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forked);
}
