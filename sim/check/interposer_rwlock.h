/* SPDX-License-Identifier: MIT */
/* Scenarios of the interposer's read-write locks: src/preload/rwlock.c as it is. */
#ifndef CHECK_INTERPOSER_RWLOCK_H
#define CHECK_INTERPOSER_RWLOCK_H

#include "interposer_cond.h"

#include <sim/runtime.h>

#include <pawl/rwlock.h>

/* What a static initialiser leaves: no thread has called a function on the lock. */
static void set_up_rwlock(void *argument)
{
	(void)argument;
	set_up_with(PTHREAD_MUTEX_TIMED_NP);
	sim_rwlock_look = 1000; /* no reader changes the mode */
	rwlock_choose(false);
	world->rwlock.__data.__flags = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

/* Before another thread uses the lock: readers are preferred, or writers. */
static void choose_kind(void)
{
	world->rwlock.__data.__flags =
		sim_one_in(2) ? PTHREAD_RWLOCK_PREFER_READER_NP
			      : PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
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

/* rwlock-calls: a lock that was used before is initialised again, and locked in all ways; in
 * -counted with statistics, in -profiled in a profile. To keep the search short every time
 * limit is past, and a section ends when nobody waits for it. */
OUTSIDE static uint64_t past_soon(void)
{
	return 2000000000;
}

static void set_up_rwlock_calls(void *argument)
{
	set_up_rwlock(argument);
	sim_clock = past_soon;
}

static void set_up_rwlock_counted(void *argument)
{
	set_up_rwlock_calls(argument);
	stats_on = true;
	sim_preload_rwlock_plain_if = &plain_if_none; /* as start.c has it */
}

static void set_up_rwlock_profiled(void *argument)
{
	set_up_rwlock_calls(argument);
	profile_on = profile_orders = true;
	sim_preload_rwlock_plain_if = &plain_if_none;
}

static void expect_bad_times(void)
{
	pthread_rwlock_t *l = &world->rwlock;

	expect("timedrdlock", pthread_rwlock_timedrdlock(l, &no_time), EINVAL);
	expect("timedwrlock", pthread_rwlock_timedwrlock(l, &no_time), EINVAL);
	expect("clockrdlock", pthread_rwlock_clockrdlock(l, CLOCK_BOOTTIME, &soon),
	       EINVAL);
	expect("clockwrlock", pthread_rwlock_clockwrlock(l, CLOCK_BOOTTIME, &soon),
	       EINVAL);
	see(SAW_BAD_TIME);
}

static void init_again(void)
{
	pthread_rwlock_t *l = &world->rwlock;

	expect("wrlock", pthread_rwlock_wrlock(l), 0);
	expect("unlock", pthread_rwlock_unlock(l), 0);
	expect("destroy", pthread_rwlock_destroy(l), 0);
	expect("init", pthread_rwlock_init(l, NULL), 0);
	choose_kind();
}

/* Every call of the thread that writes returns an error. */
static void write_in_a_way(int error)
{
	expect("wrlock", error, 0);
	world->inside++;
	see(SAW_LOCKED);
	expect("wrlock inside", pthread_rwlock_wrlock(&world->rwlock), EDEADLK);
	expect("timedwrlock inside", pthread_rwlock_timedwrlock(&world->rwlock, &soon),
	       EDEADLK);
	expect("timedrdlock inside", pthread_rwlock_timedrdlock(&world->rwlock, &soon),
	       EDEADLK);
	expect("rdlock inside", read_lock(), EDEADLK);
	expect("tryrdlock inside", pthread_rwlock_tryrdlock(&world->rwlock), EBUSY);
}

/* While the other thread writes, or not: one of the calls, and what it returns. */
static void call_outside(int tried, int timed)
{
	pthread_rwlock_t *l = &world->rwlock;
	bool writes = sim_one_in(2);
	int error;

	if (sim_one_in(2)) {
		error = writes ? pthread_rwlock_trywrlock(l)
			       : pthread_rwlock_tryrdlock(l);
		expect("try", error, tried);
	} else if (sim_one_in(2)) {
		error = writes ? pthread_rwlock_timedwrlock(l, &soon)
			       : pthread_rwlock_timedrdlock(l, &soon);
		expect("timed", error, timed);
	} else {
		error = writes ? pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &soon)
			       : pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &soon);
		expect("clock", error, timed);
	}
	if (error == 0 && writes)
		expect("wrlock inside", pthread_rwlock_wrlock(l), EDEADLK);
	if (error == 0)
		expect("unlock", pthread_rwlock_unlock(l), 0);
}

static void rwlock_calls_thread(void *argument, int thread)
{
	(void)argument;
	sim_give_reads(thread);
	if (thread == 0) {
		init_again();
		write_in_a_way(pthread_rwlock_trywrlock(&world->rwlock));
		pawl_store_release(&world->held, 1);
		pawl_await_eq_acquire(&world->held, 2, PAWL_SPIN);
		expect("unlock", pthread_rwlock_unlock(&world->rwlock), 0);
		pawl_store_release(&world->held, 3);
		return;
	}
	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	expect_bad_times();
	call_outside(EBUSY, ETIMEDOUT);
	pawl_store_release(&world->held, 2);
	pawl_await_eq_acquire(&world->held, 3, PAWL_SPIN);
	expect_bad_times();
	call_outside(0, 0);
}

/* rwlock-asleep-counted, -profiled: one waits without a limit, and is asleep when the other
 * unlocks. */
static void rwlock_asleep_thread(void *argument, int thread)
{
	pthread_rwlock_t *l = &world->rwlock;
	bool writes = sim_one_in(2);

	(void)argument;
	sim_give_reads(thread);
	if (thread == 0) {
		choose_kind();
		expect("lock", writes ? pthread_rwlock_wrlock(l) : read_lock(), 0);
		pawl_store_release(&world->held, 1);
		explore_await_quiet();
	} else {
		pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
		expect("lock", writes ? pthread_rwlock_wrlock(l) : read_lock(), 0);
		see(writes ? SAW_WRITTEN : SAW_LOCKED);
	}
	expect("unlock", pthread_rwlock_unlock(l), 0);
}

/* rwlock-theirs: all are left to glibc, whose results are the caller's, with a profile and
 * without. */
static void set_up_rwlock_theirs(void *argument)
{
	set_up_rwlock(argument);
	rwlock_choose(true);
}

static void call_all_theirs(int result)
{
	pthread_rwlock_t *l = &world->rwlock;

	theirs_returns = result;
	expect("rdlock", pthread_rwlock_rdlock(l), result);
	expect("wrlock", pthread_rwlock_wrlock(l), result);
	expect("tryrdlock", pthread_rwlock_tryrdlock(l), result);
	expect("trywrlock", pthread_rwlock_trywrlock(l), result);
	expect("timedrdlock", pthread_rwlock_timedrdlock(l, &soon), result);
	expect("timedwrlock", pthread_rwlock_timedwrlock(l, &soon), result);
	expect("clockrdlock", pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &soon),
	       result);
	expect("clockwrlock", pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &soon),
	       result);
	expect("unlock", pthread_rwlock_unlock(l), result);
	expect("destroy", pthread_rwlock_destroy(l), result);
}

static void rwlock_theirs_thread(void *argument, int thread)
{
	(void)argument;
	sim_give_reads(thread);
	expect("init", pthread_rwlock_init(&world->rwlock, NULL), 0);
	call_all_theirs(0);
	call_all_theirs(EAGAIN);
	expect("calls", told_theirs, 21);
	profile_on = true;
	told_theirs = 0;
	call_all_theirs(0);
	expect("calls in a profile", told_theirs, 10);
	call_all_theirs(EAGAIN); /* those that may wait are tried before */
	expect("calls in a profile", told_theirs, 26);
	expect("init", pthread_rwlock_init(&world->rwlock, NULL), EAGAIN);
	see(SAW_LOCKED);
}

/* rwlock-other: glibc counts readers, and cannot tell one from another: a thread that does
 * not read ends another one's read. Nobody reads in the end. */
static void rwlock_other_thread(void *argument, int thread)
{
	(void)argument;
	sim_give_reads(thread);
	if (thread == 0) {
		expect("rdlock", read_lock(), 0);
		pawl_store_release(&world->held, 1);
		return;
	}
	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	expect("unlock of another's", pthread_rwlock_unlock(&world->rwlock), 0);
	expect("trywrlock", pthread_rwlock_trywrlock(&world->rwlock), 0);
	see(SAW_LOCKED);
}

/* rwlock-slots: of a lock whose readers say so in slots. */
static void rwlock_slots_thread(void *argument, int thread)
{
	struct pawl_rwlock *l = (struct pawl_rwlock *)(void *)&world->rwlock;

	(void)argument;
	sim_give_reads(thread);
	if (thread == 0) {
		expect("rdlock", read_lock(), 0);
		expect("unlock", pthread_rwlock_unlock(&world->rwlock), 0);
		pawl_store_relaxed(&l->word, PAWL_RWLOCK_FENCED | PAWL_RWLOCK_WRITTEN);
		pawl_store_release(&world->held, 1);
		read_once(read_lock());
		pawl_store_release(&world->held, 2);
	} else {
		bool after = sim_one_in(2);
		int error;

		if (after)
			pawl_await_eq_acquire(&world->held, 2, PAWL_SPIN);
		else
			pawl_await_ne_acquire(&world->held, 0, PAWL_SPIN);
		error = pthread_rwlock_trywrlock(&world->rwlock);
		if (error == EBUSY && !after) {
			see(SAW_BUSY);
			return;
		}
		expect("trywrlock", error, 0);
		world->inside++;
		see(SAW_LOCKED);
		expect("unlock", pthread_rwlock_unlock(&world->rwlock), 0);
	}
}

#endif /* CHECK_INTERPOSER_RWLOCK_H */
