/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of the interposer: src/preload/mutex.c, cond.c, lock.c and rwlock.c as they are,
 * called as programs call them. Every result is compared with what POSIX says and glibc does.
 */
#include "interposer_rwlock.h"

/* normal: locks in all ways. */
static void come_in_time(void)
{
	int error = lock_soon();

	if (error == ETIMEDOUT)
		see(SAW_LATE);
	else
		pass(error);
}

/* A time that is none is found out only if somebody has to wait. */
static void come_with_bad_time(void)
{
	int error;

	expect("clocklock by no clock",
	       pthread_mutex_clocklock(&world->mutex, CLOCK_BOOTTIME, &soon), EINVAL);
	error = pthread_mutex_clocklock(&world->mutex, CLOCK_MONOTONIC, &no_time);
	if (error == EINVAL)
		see(SAW_BAD_TIME);
	else
		pass(error);
}

static void come_or_not(void)
{
	int error = try();

	if (error == EBUSY)
		see(SAW_BUSY);
	else
		pass(error);
}

static void come_somehow(void)
{
	if (sim_one_in(2))
		come_or_not();
	else if (sim_one_in(2))
		come_with_bad_time();
	else
		come_in_time();
}

static void come_or_wait(void)
{
	if (sim_one_in(2))
		come_or_not();
	else
		come_in_time();
}

static void normal_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0)
		pass(lock());
	else
		come_somehow();
}

/* errorcheck: who is inside, and who is not, is told so. */
static void set_up_errorcheck(void *argument)
{
	(void)argument;
	set_up_with(PTHREAD_MUTEX_ERRORCHECK_NP);
}

static void ask_inside(void)
{
	expect("lock inside", lock(), EDEADLK);
	expect("timedlock inside", lock_soon(), EDEADLK);
	expect("trylock inside", try(), EBUSY);
}

static void errorcheck_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		begin_section(lock());
		ask_inside();
		end_section();
		expect("unlock outside", unlock(), EPERM);
	} else {
		expect("unlock before", unlock(), EPERM);
		come_or_wait();
	}
}

/* recursive: as often as it likes, and as often it has to leave. */
static void set_up_recursive(void *argument)
{
	(void)argument;
	set_up_with(PTHREAD_MUTEX_RECURSIVE_NP);
}

static void go_deep(void)
{
	unsigned depth;

	expect("trylock inside", try(), 0);
	expect("timedlock inside", lock_soon(), 0);
	depth = world->mutex.__data.__count;
	if (depth != 3)
		explore_fail(VERDICT_ASSERTION, "inside three times, and %u are counted",
			     depth);
	world->mutex.__data.__count = UINT32_MAX;
	expect("lock too deep", lock(), EAGAIN);
	expect("trylock too deep", try(), EAGAIN);
	world->mutex.__data.__count = depth;
	expect("unlock once", unlock(), 0);
	expect("unlock twice", unlock(), 0);
	world->inside++; /* still inside */
}

static void recursive_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 0) {
		begin_section(lock());
		go_deep();
		end_section();
		expect("unlock outside", unlock(), EPERM);
	} else {
		expect("unlock before", unlock(), EPERM);
		come_or_wait();
	}
}

/* c11: the same functions by C11's names, of a recursive mutex. */
static void c11_thread(void *argument, int thread)
{
	mtx_t *m = (mtx_t *)&world->mutex;
	int result;

	(void)argument;
	if (thread == 0) {
		expect("mtx_init", mtx_init(m, mtx_timed | mtx_recursive), thrd_success);
		pawl_store_release(&world->held, 1);
		expect("mtx_lock", mtx_lock(m), thrd_success);
		expect("mtx_lock inside", mtx_lock(m), thrd_success);
		world->inside++;
		expect("mtx_unlock", mtx_unlock(m), thrd_success);
		expect("mtx_unlock", mtx_unlock(m), thrd_success);
		expect("mtx_unlock outside", mtx_unlock(m), thrd_error);
		return;
	}
	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	result = sim_one_in(2) ? mtx_trylock(m) : mtx_timedlock(m, &soon);
	if (result == thrd_success) {
		see(SAW_LOCKED);
		world->inside++;
		expect("mtx_unlock", mtx_unlock(m), thrd_success);
	} else {
		see(result == thrd_busy ? SAW_BUSY : SAW_LATE);
		if (result != thrd_busy && result != thrd_timedout)
			expect("mtx_timedlock", result, thrd_timedout);
	}
}

/* destroyed: nobody comes any more, but one may still be inside, or on its way out. */
static void destroyed_thread(void *argument, int thread)
{
	pthread_mutex_t *m = &world->mutex;
	int error;

	(void)argument;
	if (thread == 0) {
		begin_section(lock());
		pawl_store_release(&world->held, 1);
		end_section();
		return;
	}
	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	error = pthread_mutex_destroy(m);
	if (error == EBUSY) {
		see(SAW_BUSY_DESTROY);
		return;
	}
	expect("destroy", error, 0);
	see(SAW_DESTROYED);
	expect("lock when destroyed", lock(), EINVAL);
	expect("unlock when destroyed", unlock(), EINVAL);
	expect("destroy again", pthread_mutex_destroy(m), EINVAL);
	expect("init", pthread_mutex_init(m, NULL), 0);
	pass(lock());
	mtx_destroy((mtx_t *)m);
	expect("lock when destroyed", lock(), EINVAL);
	expect("init", pthread_mutex_init(m, NULL), 0);
	expect("trylock", try(), 0);
	expect("trylock inside", try(), EBUSY);
}

/* freed: the last one out destroys it, and frees its memory. */
static void freed_thread(void *argument, int thread)
{
	bool last;

	(void)argument, (void)thread;
	begin_section(lock());
	last = world->inside == 2;
	end_section();
	if (last) {
		expect("destroy", pthread_mutex_destroy(&world->mutex), 0);
		see(SAW_DESTROYED);
		explore_free(world);
	}
}

/* theirs-calls: a mutex that its attributes make glibc's, locked in all ways; and one that
 * they make ours after all. */
static void init_as(int protocol, int robust, int error)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, protocol);
	pthread_mutexattr_setrobust(&attr, robust);
	expect("init", pthread_mutex_init(&world->mutex, &attr), error);
}

static void init_as_ours(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprioceiling(&attr, 1); /* means nothing without a protocol */
	expect("init", pthread_mutex_init(&world->mutex, &attr), 0);
	expect("lock", lock(), 0);
	expect("lock inside", lock(), 0);
	expect("unlock", unlock(), 0);
	expect("unlock", unlock(), 0);
	expect("unlock outside", unlock(), EPERM);
	expect("destroy", pthread_mutex_destroy(&world->mutex), 0);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	expect("init", pthread_mutex_init(&world->mutex, &attr), 0);
	expect("lock", lock(), 0);
	expect("lock inside", lock(), EDEADLK);
	expect("unlock", unlock(), 0);
}

static void theirs_calls_thread(void *argument, int thread)
{
	pthread_mutex_t *m = &world->mutex;
	int error;

	(void)argument;
	if (thread == 0) {
		init_as_ours();
		init_as(PTHREAD_PRIO_PROTECT, PTHREAD_MUTEX_ROBUST, ENOTSUP);
		init_as(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED, 0);
		pawl_store_release(&world->held, 1);
		pass(lock());
		return;
	}
	pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	expect("clocklock", pthread_mutex_clocklock(m, CLOCK_BOOTTIME, &soon), EINVAL);
	if (sim_one_in(2))
		error = try();
	else
		error = sim_one_in(2) ? pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon)
				      : lock_soon();
	if (error == EBUSY || error == ETIMEDOUT)
		see(error == EBUSY ? SAW_BUSY : SAW_LATE);
	else
		pass(error);
}

/* Another lock than the default: ticket, without a context, and mcs, with one. */
static void set_up_other(const char *name)
{
	set_up_with(PTHREAD_MUTEX_TIMED_NP);
	lock_choose(sim_lock_type_find(name));
}

static void set_up_ticket(void *argument)
{
	(void)argument;
	set_up_other("ticket");
}

static void set_up_mcs(void *argument)
{
	(void)argument;
	set_up_other("mcs");
}

/* The fast path, which is the default lock's, is not taken then: see not_plain. */
static void pass_long_way(void)
{
	mtx_t *m = (mtx_t *)&world->mutex;

	expect("mtx_lock", mtx_lock(m), thrd_success);
	world->inside++;
	see(SAW_LOCKED);
	expect("mtx_unlock", mtx_unlock(m), thrd_success);
}

/* Who comes too late comes again: it must not have been given what it does not take. */
static void other_thread(void *argument, int thread)
{
	mtx_t *m = (mtx_t *)&world->mutex;
	int result;

	(void)argument;
	if (thread == 0) {
		pass_long_way();
		return;
	}
	if (sim_one_in(2))
		result = mtx_trylock(m);
	else
		result = mtx_timedlock(m, sim_one_in(2) ? &soon : &no_time);
	if (result == thrd_success) {
		world->inside++;
		see(SAW_LOCKED);
		expect("mtx_unlock", mtx_unlock(m), thrd_success);
		return;
	}
	if (result == thrd_timedout)
		see(SAW_LATE);
	else
		see(result == thrd_busy ? SAW_BUSY : SAW_BAD_TIME);
	pass_long_way();
}

/* pieces: a context of 16 bytes. No lock that is offered has one; this one must be unlocked by
 * the thread that locked it, so nobody waits for a while, to whom it could be handed. */
static void set_up_pieces(void *argument)
{
	(void)argument;
	set_up_other("reciprocating");
}

static void pieces_thread(void *argument, int thread)
{
	mtx_t *m = (mtx_t *)&world->mutex;

	(void)argument;
	if (thread == 1 && mtx_trylock(m) == thrd_success)
		expect("mtx_unlock", mtx_unlock(m), thrd_success);
	else if (thread == 1)
		see(SAW_BUSY);
	pass_long_way();
}

/*
 * ticket-forked: the child of a fork whose thread 0 holds the mutex, for which others
 * waited who are not there. Thread 1 is started by the child.
 */
static void forked_thread(void *argument, int thread)
{
	mtx_t *m = (mtx_t *)&world->mutex;
	pawl_atomic64 *tickets = (pawl_atomic64 *)(void *)((struct mutex *)m)->core;

	(void)argument;
	if (thread == 0) {
		expect("mtx_unlock of nobody's", mtx_unlock(m), thrd_success); /* E3 */
		expect("mtx_lock", mtx_lock(m), thrd_success);
		/* As pawl_ticket_lock, by one who waits and is left behind. */
		pawl_fetch_add_relaxed(tickets, 1);
		lock_forked();
		pawl_store_release(&world->held, 1);
		world->inside++;
		expect("mtx_unlock", mtx_unlock(m), thrd_success); /* E2 */
	} else {
		pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	}
	if (thread == 1 && sim_one_in(2)) {
		int result = mtx_trylock(m);

		if (result != thrd_success) {
			expect("mtx_trylock", result, thrd_busy);
			see(SAW_BUSY);
			return;
		}
		world->inside++;
		expect("mtx_unlock", mtx_unlock(m), thrd_success);
	}
	pass_long_way();
}

/* spin: a spin lock, initialised by one thread and used by both; spin-profiled: in a profile
 * of the order of locks. */
static void set_up_spin_profiled(void *argument)
{
	set_up_normal(argument);
	profile_on = profile_orders = true;
}

/* glibc's format. */
#if defined(__x86_64__) || defined(__i386__)
enum { SPIN_FREE = 1 };
#else
enum { SPIN_FREE = 0 };
#endif

/* Lets others run until the lock may be free. */
int sched_yield(void)
{
	sim_await(SIM_AWAIT_EQ, (uint64_t *)(uintptr_t)&world->spin, SPIN_FREE, 0,
		  SIM_RELAXED);
	return 0;
}

static void spin_once(int result)
{
	bool last;

	expect("lock", result, 0);
	see(SAW_LOCKED);
	last = ++world->inside == 2;
	expect("trylock inside", pthread_spin_trylock(&world->spin), EBUSY);
	expect("unlock", pthread_spin_unlock(&world->spin), 0);
	if (last)
		expect("destroy", pthread_spin_destroy(&world->spin), 0);
}

static void spin_thread(void *argument, int thread)
{
	int error;

	(void)argument;
	if (thread == 0) {
		expect("init", pthread_spin_init(&world->spin, 0), 0);
		expect("what init leaves", world->spin, SPIN_FREE);
		pawl_store_release(&world->held, 1);
	} else {
		pawl_await_eq_acquire(&world->held, 1, PAWL_SPIN);
	}
	error = thread == 0 || sim_one_in(2) ? pthread_spin_lock(&world->spin)
					     : pthread_spin_trylock(&world->spin);
	if (error == EBUSY && thread == 1) {
		see(SAW_BUSY);
		return;
	}
	spin_once(error);
}

const struct lock_type interposer_types[] = {
	{.name = "interposer", .base = "interposer", .header = "pthread.h"},
	{.name = NULL},
};

#define TWO_SEEN(...) /* see sim_sleep_sees */ TWO(__VA_ARGS__, .sleep_sees = true)
#define TWO_LONG(...) TWO_SEEN(__VA_ARGS__, .takes_minutes = true)

const struct scenario interposer_scenarios[] = {
	TWO("normal", "a mutex of the interposer's, locked in all ways", set_up_normal,
	    normal_thread, saw,
	    SIGHT(LOCKED) | SIGHT(BUSY) | SIGHT(LATE) | SIGHT(BAD_TIME)),
	TWO("errorcheck", "the same, and it checks", set_up_errorcheck, errorcheck_thread,
	    saw, SIGHT(LOCKED) | SIGHT(BUSY) | SIGHT(LATE)),
	TWO("recursive", "the same, and it may be locked again", set_up_recursive,
	    recursive_thread, saw, SIGHT(LOCKED) | SIGHT(BUSY) | SIGHT(LATE)),
	TWO("c11", "the same by C11's names", set_up_normal, c11_thread, saw,
	    SIGHT(LOCKED) | SIGHT(BUSY) | SIGHT(LATE)),
	TWO("destroyed", "one destroys it while another leaves", set_up_normal,
	    destroyed_thread, saw, SIGHT(DESTROYED) | SIGHT(BUSY_DESTROY)),
	TWO("destroyed-errorcheck", "the same, if it checks", set_up_errorcheck,
	    destroyed_thread, saw, SIGHT(DESTROYED) | SIGHT(BUSY_DESTROY)),
	TWO("freed", "the last one out destroys and frees it", set_up_normal,
	    freed_thread, saw, SIGHT(DESTROYED)),
	TWO("freed-recursive", "the same, if it is recursive", set_up_recursive,
	    freed_thread, saw, SIGHT(DESTROYED)),
	TWO("wait", "one waits on a condition variable, one signals", set_up_normal,
	    signal_thread, nobody_is_counted, SIGHT(TOLD)),
	TWO_LONG("wait-inside", "the same, and who signals has the mutex", set_up_normal,
		 inside_thread, nobody_is_counted, SIGHT(TOLD)),
	TWO_LONG("wait-timed", "the same, and the waiter may give up", set_up_normal,
		 signal_timed_thread, nobody_is_counted, SIGHT(TOLD) | SIGHT(LATE)),
	TWO_SEEN("wait-errorcheck", "the same with a mutex that checks",
		 set_up_errorcheck, wait_errorcheck_thread, nobody_is_counted,
		 SIGHT(TOLD)),
	TWO("wait-recursive", "the same with a recursive mutex", set_up_recursive,
	    wait_recursive_thread, nobody_is_counted, SIGHT(TOLD)),
	TWO("wait-deep", "and if that was locked twice", set_up_recursive,
	    wait_deep_thread, nobody_is_counted, SIGHT(TOLD)),
	TWO_LONG("wait-freed", "who tells all frees the condition variable",
		 set_up_short_lived, wait_freed_thread, saw,
		 SIGHT(TOLD) | SIGHT(DESTROYED)),
	TWO("wait-busy", "a mutex is destroyed while one waits", set_up_normal,
	    wait_busy_thread, nobody_is_counted,
	    SIGHT(TOLD) | SIGHT(BUSY_DESTROY) | SIGHT(DESTROYED)),
	TWO_LONG("cancelled", "a waiter may be cancelled as it sleeps", set_up_cancelled,
		 cancelled_thread, nobody_is_counted, SIGHT(TOLD) | SIGHT(CANCELLED)),
	TWO("wait-calls", "one that is initialised again, in all ways", set_up_normal,
	    wait_calls_thread, nobody_is_counted, SIGHT(TOLD) | SIGHT(LATE)),
	TWO("wait-counted", "one waits, with statistics", set_up_wait_counted,
	    asleep_thread, requeued_in_the_end, SIGHT(TOLD)),
	TWO("wait-profiled", "the same in a profile", set_up_wait_profiled, asleep_thread,
	    requeued_in_the_end, SIGHT(TOLD)),
	TWO("cancelled-asleep", "a waiter may be cancelled before a signal comes",
	    set_up_cancelled, cancelled_asleep_thread, nobody_is_counted,
	    SIGHT(TOLD) | SIGHT(CANCELLED), .sleep_sees = true),
	TWO("cancelled-profiled", "the same in a profile", set_up_cancelled_profiled,
	    cancelled_asleep_thread, requeued_in_the_end, SIGHT(TOLD) | SIGHT(CANCELLED),
	    .sleep_sees = true),
	ONE("wait-theirs", "a condition variable and a mutex of glibc's",
	    set_up_wait_theirs, wait_theirs_thread, saw, SIGHT(TOLD)),
	TWO("stray", "a process-shared condition variable, a mutex of ours", set_up_stray,
	    signal_thread, all_told_theirs, SIGHT(TOLD)),
	TWO("stray-timed", "it may give up; the signal may be for another one",
	    set_up_stray_timed, stray_timed_thread, all_told_theirs,
	    SIGHT(TOLD) | SIGHT(LATE)),
	TWO("stray-freed", "the waiter frees the condition variable", set_up_stray_freed,
	    stray_freed_thread, all_told_theirs, SIGHT(TOLD)),
	TWO("theirs", "a mutex of glibc's, a condition variable of ours", set_up_theirs,
	    theirs_thread, nobody_is_counted, SIGHT(TOLD) | SIGHT(LATE)),
	TWO("theirs-protects", "the same, and its priority is raised", set_up_protects,
	    theirs_thread, nobody_is_counted, SIGHT(TOLD) | SIGHT(LATE)),
	TWO("theirs-robust", "the same, and it outlives its owner", set_up_robust,
	    theirs_thread, nobody_is_counted, SIGHT(TOLD) | SIGHT(LATE)),
	TWO("theirs-calls", "a mutex of glibc's, locked in all ways", set_up_normal,
	    theirs_calls_thread, saw, SIGHT(LOCKED) | SIGHT(BUSY) | SIGHT(LATE)),
	TWO("theirs-refuses", "glibc does not let go of its mutex", set_up_refuses,
	    theirs_refuses_thread, nobody_is_counted, SIGHT(REFUSED)),
	TWO("ticket", "another lock, and one waits for a while", set_up_ticket,
	    other_thread, saw,
	    SIGHT(LOCKED) | SIGHT(BUSY) | SIGHT(LATE) | SIGHT(BAD_TIME)),
	TWO("mcs", "the same with a lock that has a context", set_up_mcs, other_thread,
	    saw, SIGHT(LOCKED) | SIGHT(BUSY) | SIGHT(LATE) | SIGHT(BAD_TIME)),
	TWO("pieces", "the same with a lock whose context is in three pieces",
	    set_up_pieces, pieces_thread, saw, SIGHT(LOCKED) | SIGHT(BUSY)),
	TWO("ticket-forked", "the same after a fork", set_up_ticket, forked_thread, saw,
	    SIGHT(LOCKED) | SIGHT(BUSY)),
	TWO("spin", "a spin lock", set_up_normal, spin_thread, saw,
	    SIGHT(LOCKED) | SIGHT(BUSY)),
	TWO("spin-profiled", "the same in a profile", set_up_spin_profiled, spin_thread,
	    notes_in_the_end, SIGHT(LOCKED) | SIGHT(BUSY)),
	TWO("rwlock-first", "the first calls on a read-write lock meet", set_up_rwlock,
	    rwlock_first_thread, saw, SIGHT(LOCKED) | SIGHT(WRITTEN), .polls = true),
	TWO("rwlock-try", "the same, and the reader does not wait", set_up_rwlock,
	    rwlock_try_thread, saw, SIGHT(LOCKED) | SIGHT(WRITTEN) | SIGHT(BUSY)),
	TWO("rwlock-shared", "the same of a lock between processes", set_up_rwlock,
	    rwlock_shared_thread, all_left_to_glibc, SIGHT(LOCKED)),
	TWO("rwlock-calls", "one that is initialised again, locked in all ways",
	    set_up_rwlock_calls, rwlock_calls_thread, saw,
	    SIGHT(LOCKED) | SIGHT(BAD_TIME)),
	TWO("rwlock-counted", "the same with statistics", set_up_rwlock_counted,
	    rwlock_calls_thread, notes_in_the_end, SIGHT(LOCKED)),
	TWO("rwlock-profiled", "the same in a profile", set_up_rwlock_profiled,
	    rwlock_calls_thread, notes_in_the_end, SIGHT(LOCKED)),
	TWO("rwlock-asleep-counted", "one waits, with statistics", set_up_rwlock_counted,
	    rwlock_asleep_thread, notes_in_the_end, SIGHT(LOCKED) | SIGHT(WRITTEN)),
	TWO("rwlock-asleep-profiled", "the same in a profile", set_up_rwlock_profiled,
	    rwlock_asleep_thread, notes_in_the_end, SIGHT(LOCKED) | SIGHT(WRITTEN)),
	ONE("rwlock-theirs", "all are left to glibc", set_up_rwlock_theirs,
	    rwlock_theirs_thread, saw, SIGHT(LOCKED)),
	TWO("rwlock-other", "a thread ends another one's read", set_up_rwlock,
	    rwlock_other_thread, saw, SIGHT(LOCKED)),
	TWO("rwlock-slots", "readers are in slots", set_up_rwlock, rwlock_slots_thread,
	    saw, SIGHT(LOCKED) | SIGHT(BUSY)),
	THREE("rwlock-first-queued", "two writers and a reader meet so", set_up_rwlock,
	      rwlock_queued_thread, saw, SIGHT(LOCKED) | SIGHT(BUSY)),
	THREE("changed", "two wait with a mutex each, one broadcasts", set_up_changed,
	      changed_thread, nobody_is_counted, SIGHT(TOLD), .sleep_sees = true),
	THREE("passed-on-asleep", "one of two waiters is cancelled, one signalled",
	      set_up_cancelled, passed_on_asleep_thread, nobody_is_counted,
	      SIGHT(TOLD) | SIGHT(CANCELLED), .sleep_sees = true, .takes_minutes = true),
	THREE("passed-on", "the same in all its ways", set_up_cancelled, passed_on_thread,
	      nobody_is_counted, SIGHT(TOLD) | SIGHT(CANCELLED), .takes_hours = true),
	{.name = NULL},
};
