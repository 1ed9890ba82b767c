/* SPDX-License-Identifier: MIT */
/*
 * pawl/shared.h after an error: each function is made to return each of its errors,
 * by a thread that has used nothing before, or holds something here or in another
 * region. Then all mutexes of both regions, however they are taken, must still
 * exclude another process, and what was held must still be held.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include "harness/hang.h"

#include "os/shared.h"
#include "shared/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REGIONS = 2, MUTEXES = 4, AGENTS = 6, KEPT = 3 /* the mutex held meanwhile */ };

static struct pawl_shared *regions[REGIONS];

/* What is to be said of a failure. */
static const char *doing = "", *before = "";

static const char *name_of(int error)
{
	return error == 0 ? "0" : strerrorname_np(error);
}

static void expect(const char *what, unsigned mutex, int got, int wanted)
{
	if (got == wanted)
		return;
	fprintf(stderr, "%s, %s: %s of mutex %u returned %s, not %s\n", doing, before,
		what, mutex, name_of(got), name_of(wanted));
	_exit(1);
}

/* All ways to call, for the thread itself and for the other process. */
enum call { LOCK, TRYLOCK, TIMEDLOCK, UNLOCK, CONSISTENT };
static const char *const names[] = {"lock", "trylock", "timedlock", "unlock",
				    "consistent"};

static int call(enum call what, unsigned region, unsigned mutex)
{
	/* Long past: does not wait, but does all that comes with a wait. */
	const struct timespec past = {.tv_sec = 1};

	switch (what) {
	case LOCK:
		return pawl_shared_mutex_lock(regions[region], mutex);
	case TRYLOCK:
		return pawl_shared_mutex_trylock(regions[region], mutex);
	case TIMEDLOCK:
		return pawl_shared_mutex_timedlock(regions[region], mutex,
						   CLOCK_MONOTONIC, &past);
	case UNLOCK:
		return pawl_shared_mutex_unlock(regions[region], mutex);
	case CONSISTENT:
		return pawl_shared_mutex_consistent(regions[region], mutex);
	}
	return -1;
}

/* The other process: calls what it is told to, and says what came of it. */

struct order {
	enum call call;
	unsigned region, mutex;
};

static int peer; /* a socket */

static void obey(int socket)
{
	struct order order;
	int error;

	while (read(socket, &order, sizeof(order)) == sizeof(order)) {
		error = call(order.call, order.region, order.mutex);
		if (write(socket, &error, sizeof(error)) != sizeof(error))
			break;
	}
	_exit(0);
}

static int tell(enum call what, unsigned region, unsigned mutex)
{
	const struct order order = {what, region, mutex};
	int error;

	if (write(peer, &order, sizeof(order)) != sizeof(order) ||
	    read(peer, &error, sizeof(error)) != sizeof(error))
		_exit(2);
	return error;
}

static void start_peer(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		_exit(2);
	if (fork() == 0) {
		close(pair[0]);
		obey(pair[1]);
	}
	close(pair[1]);
	peer = pair[0];
	/* So that the numbers of a thread's agents differ between the regions. */
	expect("the peer's lock", 0, tell(LOCK, 0, 0), 0);
	expect("the peer's unlock", 0, tell(UNLOCK, 0, 0), 0);
}

static void ours(enum call what, unsigned region, unsigned mutex, int wanted)
{
	expect(names[what], mutex, call(what, region, mutex), wanted);
}

static void peers(enum call what, unsigned region, unsigned mutex, int wanted)
{
	expect(names[what], mutex, tell(what, region, mutex), wanted);
}

/* The errors. Each is provoked at mutex 0 of region 0, which is left as it was found
 * unless the case says that it is lost. */

static int deadlock_lock(void)
{
	int error;

	ours(LOCK, 0, 0, 0);
	error = call(LOCK, 0, 0);
	ours(UNLOCK, 0, 0, 0);
	return error;
}

static int deadlock_timedlock(void)
{
	int error;

	ours(LOCK, 0, 0, 0);
	error = call(TIMEDLOCK, 0, 0);
	ours(UNLOCK, 0, 0, 0);
	return error;
}

/* The same, and the thread goes on to the other mutexes before it unlocks. */
static int deadlock_and_go_on(void)
{
	int error;

	ours(LOCK, 0, 0, 0);
	error = call(TIMEDLOCK, 0, 0);
	ours(LOCK, 0, 1, 0);
	ours(UNLOCK, 0, 1, 0);
	ours(TRYLOCK, 0, 2, 0);
	peers(TRYLOCK, 0, 2, EBUSY);
	ours(UNLOCK, 0, 2, 0);
	ours(UNLOCK, 0, 0, 0);
	return error;
}

static int deadlock_after_another_region(void)
{
	int error;

	ours(LOCK, 0, 0, 0);
	ours(LOCK, 1, 1, 0);
	ours(UNLOCK, 1, 1, 0);
	error = call(LOCK, 0, 0);
	ours(LOCK, 0, 1, 0);
	peers(TRYLOCK, 0, 1, EBUSY);
	ours(UNLOCK, 0, 1, 0);
	ours(UNLOCK, 0, 0, 0);
	return error;
}

static int busy_with_ourselves(void)
{
	int error;

	ours(LOCK, 0, 0, 0);
	error = call(TRYLOCK, 0, 0);
	ours(UNLOCK, 0, 0, 0);
	return error;
}

static int while_the_peer_has_it(enum call what)
{
	int error;

	peers(LOCK, 0, 0, 0);
	error = call(what, 0, 0);
	peers(UNLOCK, 0, 0, 0);
	return error;
}

static int busy_with_the_peer(void)
{
	return while_the_peer_has_it(TRYLOCK);
}

static int time_out(void)
{
	return while_the_peer_has_it(TIMEDLOCK);
}

static int time_out_often(void)
{
	int i, error = 0;

	for (i = 0; i < 3 * AGENTS; i++)
		error = while_the_peer_has_it(TIMEDLOCK);
	return error;
}

static int unlock_the_peers(void)
{
	return while_the_peer_has_it(UNLOCK);
}

static int mend_the_peers(void)
{
	return while_the_peer_has_it(CONSISTENT);
}

static int unlock_a_free_one(void)
{
	return call(UNLOCK, 0, 0);
}

static int mend_a_free_one(void)
{
	return call(CONSISTENT, 0, 0);
}

static int mend_for_nothing(void)
{
	int error;

	ours(LOCK, 0, 0, 0);
	error = call(CONSISTENT, 0, 0);
	ours(UNLOCK, 0, 0, 0);
	return error;
}

/* Calls all of them for a mutex that is not there. */
static int no_such_mutex(void)
{
	enum call what;

	for (what = LOCK; what < CONSISTENT; what++)
		ours(what, 0, MUTEXES, EINVAL);
	return call(CONSISTENT, 0, MUTEXES);
}

static int bad_time(void)
{
	const struct timespec bad = {.tv_nsec = 1000000000};

	return pawl_shared_mutex_timedlock(regions[0], 0, CLOCK_MONOTONIC, &bad);
}

static int bad_clock(void)
{
	const struct timespec time = {.tv_sec = 1};

	return pawl_shared_mutex_timedlock(regions[0], 0, CLOCK_PROCESS_CPUTIME_ID,
					   &time);
}

/* All agents are somebody's while we call; that somebody is this thread, but not
 * by way of the functions under test. */
static int without_agents(enum call what)
{
	struct region_agent *taken[AGENTS];
	int count = 0, error;

	while (count < AGENTS && (taken[count] = pawl_region_claim(
					  &regions[0]->r, pawl_os_thread_name())) != NULL)
		count++;
	error = call(what, 0, 0);
	while (count > 0)
		pawl_region_free(taken[--count]);
	return error;
}

static int lock_without_agents(void)
{
	return without_agents(LOCK);
}

static int trylock_without_agents(void)
{
	return without_agents(TRYLOCK);
}

static int timedlock_without_agents(void)
{
	int error;

	peers(LOCK, 0, 0, 0); /* so that a thread that holds something needs another */
	error = without_agents(TIMEDLOCK);
	peers(UNLOCK, 0, 0, 0);
	return error;
}

/* A process is killed inside. */
static void lose_an_owner(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pawl_shared_mutex_lock(regions[0], 0);
		raise(SIGKILL);
	}
	if (waitpid(pid, NULL, 0) != pid)
		_exit(2);
}

static int mend_after(enum call what)
{
	int error;

	lose_an_owner();
	error = call(what, 0, 0);
	ours(CONSISTENT, 0, 0, 0);
	ours(UNLOCK, 0, 0, 0);
	return error;
}

static int owner_dead_lock(void)
{
	return mend_after(LOCK);
}

static int owner_dead_trylock(void)
{
	return mend_after(TRYLOCK);
}

static int owner_dead_timedlock(void)
{
	return mend_after(TIMEDLOCK);
}

static int lose_then(enum call what)
{
	lose_an_owner();
	ours(LOCK, 0, 0, EOWNERDEAD);
	ours(UNLOCK, 0, 0, 0);
	return call(what, 0, 0);
}

static int lost_lock(void)
{
	return lose_then(LOCK);
}

static int lost_trylock(void)
{
	return lose_then(TRYLOCK);
}

static int lost_timedlock(void)
{
	return lose_then(TIMEDLOCK);
}

static int lost_unlock(void)
{
	return lose_then(UNLOCK);
}

/* Somebody wrote nonsense into the queue: a value that no agent drew. */
static int corrupt_then(enum call what)
{
	pawl_store_release(&regions[0]->r.mutexes[0].arrive, UINT64_MAX);
	return call(what, 0, 0);
}

static int corrupt_lock(void)
{
	return corrupt_then(LOCK);
}

static int corrupt_trylock(void)
{
	return corrupt_then(TRYLOCK);
}

static int corrupt_timedlock(void)
{
	return corrupt_then(TIMEDLOCK);
}

static int detach_while_inside(void)
{
	int error;

	ours(LOCK, 0, 0, 0);
	error = pawl_shared_detach(regions[0]);
	ours(UNLOCK, 0, 0, 0);
	return error;
}

static int create_without_mutexes(void)
{
	struct pawl_shared *another;

	return pawl_shared_create(&another, -1, &(struct pawl_shared_shape){0, 8, 0});
}

static int create_where_something_is(void)
{
	struct pawl_shared *another;

	return pawl_shared_create(&another, pawl_shared_fd(regions[0]),
				  &(struct pawl_shared_shape){1, 8, 0});
}

static int attach_what_is_no_region(void)
{
	struct pawl_shared *another;
	int fd = memfd_create("empty", MFD_CLOEXEC);
	int error = pawl_shared_attach(&another, fd);

	close(fd);
	return error;
}

static int attach_no_file(void)
{
	struct pawl_shared *another;

	return pawl_shared_attach(&another, -1);
}

/* What the thread did before, and still does. */
enum { NOTHING = 1, HOLDS_HERE = 2, HOLDS_THERE = 4, ALWAYS = 7 };
static const char *const conditions[] = {"having done nothing", "holding one here",
					 "holding one elsewhere"};

static const struct error {
	const char *doing;
	int (*provoke)(void);
	int expected;
	unsigned when;
	bool lost; /* mutex 0 of region 0, for good */
} errors[] = {
	{"lock twice", deadlock_lock, EDEADLK, ALWAYS, false},
	{"timedlock twice", deadlock_timedlock, EDEADLK, ALWAYS, false},
	{"timedlock twice and go on", deadlock_and_go_on, EDEADLK, ALWAYS, false},
	{"lock twice with another region between", deadlock_after_another_region, EDEADLK,
	 ALWAYS, false},
	{"trylock twice", busy_with_ourselves, EBUSY, ALWAYS, false},
	{"trylock the peer's", busy_with_the_peer, EBUSY, ALWAYS, false},
	{"timedlock the peer's", time_out, ETIMEDOUT, ALWAYS, false},
	{"timedlock the peer's often", time_out_often, ETIMEDOUT, ALWAYS, false},
	{"unlock the peer's", unlock_the_peers, EPERM, ALWAYS, false},
	{"mend the peer's", mend_the_peers, EPERM, ALWAYS, false},
	{"unlock a free one", unlock_a_free_one, EPERM, ALWAYS, false},
	{"mend a free one", mend_a_free_one, EPERM, ALWAYS, false},
	{"mend for nothing", mend_for_nothing, EINVAL, ALWAYS, false},
	{"use one that is not there", no_such_mutex, EINVAL, ALWAYS, false},
	{"wait until no time", bad_time, EINVAL, ALWAYS, false},
	{"wait by no clock", bad_clock, EINVAL, ALWAYS, false},
	{"lock without an agent", lock_without_agents, EAGAIN, NOTHING | HOLDS_THERE,
	 false},
	{"trylock without an agent", trylock_without_agents, EAGAIN,
	 NOTHING | HOLDS_THERE, false},
	{"timedlock without an agent", timedlock_without_agents, EAGAIN, ALWAYS, false},
	{"lock after a death", owner_dead_lock, EOWNERDEAD, ALWAYS, false},
	{"trylock after a death", owner_dead_trylock, EOWNERDEAD, ALWAYS, false},
	{"timedlock after a death", owner_dead_timedlock, EOWNERDEAD, ALWAYS, false},
	{"lock a lost one", lost_lock, ENOTRECOVERABLE, ALWAYS, true},
	{"trylock a lost one", lost_trylock, ENOTRECOVERABLE, ALWAYS, true},
	{"timedlock a lost one", lost_timedlock, ENOTRECOVERABLE, ALWAYS, true},
	{"unlock a lost one", lost_unlock, EPERM, ALWAYS, true},
	{"lock a corrupt one", corrupt_lock, ENOTRECOVERABLE, ALWAYS, true},
	{"trylock a corrupt one", corrupt_trylock, ENOTRECOVERABLE, ALWAYS, true},
	{"timedlock a corrupt one", corrupt_timedlock, ENOTRECOVERABLE, ALWAYS, true},
	{"detach from inside", detach_while_inside, EBUSY, ALWAYS, false},
	{"create without mutexes", create_without_mutexes, EINVAL, ALWAYS, false},
	{"create where a region is", create_where_something_is, EEXIST, ALWAYS, false},
	{"attach what is no region", attach_what_is_no_region, EINVAL, ALWAYS, false},
	{"attach no file", attach_no_file, EBADF, ALWAYS, false},
};

/* Every free mutex, taken in every way, excludes the peer, and the peer us. */
static void all_is_well(const struct error *error, bool held_here, bool held_there)
{
	unsigned region, mutex;
	enum call how;

	for (how = LOCK; how <= TIMEDLOCK; how++)
		for (region = 0; region < REGIONS; region++)
			for (mutex = 0; mutex < MUTEXES; mutex++) {
				if (mutex == KEPT &&
				    (region == 0 ? held_here : held_there)) {
					peers(TRYLOCK, region, mutex, EBUSY);
					continue;
				}
				if (region == 0 && mutex == 0 && error->lost) {
					ours(how, region, mutex, ENOTRECOVERABLE);
					peers(how, region, mutex, ENOTRECOVERABLE);
					continue;
				}
				ours(how, region, mutex, 0);
				peers(TRYLOCK, region, mutex, EBUSY);
				peers(TIMEDLOCK, region, mutex, ETIMEDOUT);
				peers(UNLOCK, region, mutex, EPERM);
				ours(UNLOCK, region, mutex, 0);
				peers(how, region, mutex, 0);
				ours(TRYLOCK, region, mutex, EBUSY);
				ours(TIMEDLOCK, region, mutex, ETIMEDOUT);
				ours(UNLOCK, region, mutex, EPERM);
				peers(UNLOCK, region, mutex, 0);
			}
}

static void look_after(const struct error *error, unsigned condition)
{
	const struct pawl_shared_shape shape = {MUTEXES, AGENTS, 0};
	bool here = condition == HOLDS_HERE, there = condition == HOLDS_THERE;
	int i;

	for (i = 0; i < REGIONS; i++)
		expect("create", 0, pawl_shared_create(&regions[i], -1, &shape), 0);
	start_peer();
	if (here || there)
		ours(LOCK, there, KEPT, 0);
	expect("the call", 0, error->provoke(), error->expected);
	all_is_well(error, here, there);
	if (here || there)
		ours(UNLOCK, there, KEPT, 0);
	all_is_well(error, false, false);
	for (i = 0; i < REGIONS; i++)
		expect("detach", 0, pawl_shared_detach(regions[i]), 0);
	_exit(0);
}

static void all_is_well_after_every_error(void **state)
{
	size_t i, condition;
	int status, failures = 0;

	(void)state;
	watchdog("shared errors");
	for (i = 0; i < COUNT_OF(errors); i++)
		for (condition = 0; condition < COUNT_OF(conditions); condition++) {
			pid_t pid;

			if ((errors[i].when >> condition & 1) == 0)
				continue;
			doing = errors[i].doing;
			before = conditions[condition];
			pid = fork();
			assert_true(pid >= 0);
			if (pid == 0) {
				alarm(HANG_GUARD_S);
				look_after(&errors[i], 1u << condition);
			}
			assert_int_equal(waitpid(pid, &status, 0), pid);
			if (status == 0)
				continue;
			print_error("after: %s, %s: status %x\n", doing, before, status);
			failures++;
		}
	assert_int_equal(failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_well_after_every_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
