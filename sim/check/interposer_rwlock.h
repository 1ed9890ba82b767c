/* SPDX-License-Identifier: MIT */
/* Scenarios of the interposer's read-write locks: src/preload/rwlock.c as it is. */
#ifndef CHECK_INTERPOSER_RWLOCK_H
#define CHECK_INTERPOSER_RWLOCK_H

#include "interposer_calls.h"

#include <sim/runtime.h>

#include <pawl/rwlock.h>

/* What a static initialiser leaves: no thread has called a function on the lock. */
static void set_up_rwlock(void *argument)
{
	(void)argument;
	set_up_with(PTHREAD_MUTEX_TIMED_NP);
	sim_rwlock_look = 1000; /* no reader changes the mode */
	rwlock_choose(false);
	/* With the other kinds a writer's turn may end at any moment, and never the last. */
	world->rwlock.__data.__flags = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

/* What the lock guards is a plain word: two sections that overlap, or are not ordered,
 * are a data race. */
static void write_once(void)
{
	expect("wrlock", pthread_rwlock_wrlock(&world->rwlock), 0);
	world->inside++;
	see(SAW_LOCKED);
	expect("wrlock inside", pthread_rwlock_wrlock(&world->rwlock), EDEADLK);
	expect("unlock", pthread_rwlock_unlock(&world->rwlock), 0);
}

static void read_once(int result)
{
	expect("rdlock", result, 0);
	see(world->inside != 0 ? SAW_WRITTEN : SAW_LOCKED);
	expect("unlock", pthread_rwlock_unlock(&world->rwlock), 0);
}

static int read_lock(void)
{
	return pthread_rwlock_rdlock(&world->rwlock);
}

/* rwlock-first: the first calls of all threads meet. */
static void rwlock_first_thread(void *argument, int thread)
{
	(void)argument;
	sim_give_reads(thread);
	if (thread == 0)
		write_once();
	else
		read_once(read_lock());
}

/* rwlock-try: as before, and the reader does not wait. */
static void try_to_read(void)
{
	int error = pthread_rwlock_tryrdlock(&world->rwlock);

	if (error == EBUSY)
		see(SAW_BUSY);
	else
		read_once(error);
}

static void rwlock_try_thread(void *argument, int thread)
{
	(void)argument;
	sim_give_reads(thread);
	if (thread == 0)
		write_once();
	else
		try_to_read();
}

/* rwlock-first-queued: two writers and a reader. A writer that waits makes the upper half
 * of gate.due, which glibc calls __shared, other than 0, as watch() of sync/mutex_poll.c
 * does. To keep the search short it does no more, and no writer leaves. */
static void try_to_write(void)
{
	struct pawl_rwlock *l = (struct pawl_rwlock *)(void *)&world->rwlock;
	int error = pthread_rwlock_trywrlock(&world->rwlock);

	if (error == EBUSY) {
		see(SAW_BUSY);
		pawl_store_relaxed(&l->gate.due, (uint64_t)1 << 32);
		return;
	}
	expect("trywrlock", error, 0);
	see(SAW_LOCKED);
	world->inside++;
}

static void rwlock_queued_thread(void *argument, int thread)
{
	(void)argument;
	sim_give_reads(thread);
	if (thread < 2)
		try_to_write();
	else
		try_to_read();
}

static void all_left_to_glibc(void *argument)
{
	saw(argument);
	if (told_theirs != 4)
		explore_fail(VERDICT_ASSERTION, "glibc was called %d times, not 4",
			     told_theirs);
}

/* rwlock-shared: a lock between processes is glibc's, whichever thread comes first. */
static void rwlock_shared_thread(void *argument, int thread)
{
	struct pawl_rwlock *l = (struct pawl_rwlock *)(void *)&world->rwlock;

	(void)argument;
	sim_give_reads(thread);
	if (thread == 0) { /* __shared = 1; memory begins as 0 */
		pawl_store_relaxed(&l->gate.due, (uint64_t)1 << 32);
		pawl_store_release(&world->held, 1);
	} else {
		pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	}
	expect("lock", thread == 0 ? pthread_rwlock_wrlock(&world->rwlock) : read_lock(),
	       0);
	see(SAW_LOCKED);
	expect("unlock", pthread_rwlock_unlock(&world->rwlock), 0);
}

#endif /* CHECK_INTERPOSER_RWLOCK_H */
