/* SPDX-License-Identifier: MIT */
/* pawl/shared.h: what each function returns, to whom, and after which mishap. */
#define _GNU_SOURCE
#include "harness/harness.h"

#include "shared/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct pawl_shared *region;

static void create(unsigned mutexes, unsigned threads)
{
	const struct pawl_shared_shape shape = {mutexes, threads, 4096};

	assert_int_equal(pawl_shared_create(&region, -1, &shape), 0);
}

static int set_up(void **state)
{
	(void)state;
	watchdog("shared");
	create(3, 8);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return pawl_shared_detach(region);
}

/* Runs in a child, which ends as the function says, or by a signal. */
static int in_child(int (*run)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int die_inside(void)
{
	if (pawl_shared_mutex_lock(region, 0) == 0)
		raise(SIGKILL);
	return 1;
}

static int try_0(void)
{
	int error = pawl_shared_mutex_trylock(region, 0);

	if (error == 0)
		pawl_shared_mutex_unlock(region, 0);
	return error;
}

static int lock_0(void)
{
	int error = pawl_shared_mutex_lock(region, 0);

	if (error == 0)
		pawl_shared_mutex_unlock(region, 0);
	return error;
}

static int time_0(int clock, long ms)
{
	struct timespec time = in_ms(clock, ms);

	return pawl_shared_mutex_timedlock(region, 0, clock, &time);
}

static int time_out(void)
{
	return time_0(CLOCK_MONOTONIC, 5);
}

static int unlock_0(void)
{
	return pawl_shared_mutex_unlock(region, 0);
}

static void misuse_is_refused(void **state)
{
	struct timespec bad = {.tv_nsec = 1000000000}, time = in_ms(CLOCK_MONOTONIC, 1);

	(void)state;
	assert_int_equal(pawl_shared_mutex_lock(region, 3), EINVAL);
	assert_int_equal(pawl_shared_mutex_trylock(region, 3), EINVAL);
	assert_int_equal(pawl_shared_mutex_unlock(region, 3), EINVAL);
	assert_int_equal(pawl_shared_mutex_consistent(region, 3), EINVAL);
	assert_int_equal(pawl_shared_mutex_timedlock(region, 3, CLOCK_MONOTONIC, &time),
			 EINVAL);
	assert_int_equal(pawl_shared_mutex_timedlock(region, 0, CLOCK_MONOTONIC, &bad),
			 EINVAL);
	assert_int_equal(
		pawl_shared_mutex_timedlock(region, 0, CLOCK_PROCESS_CPUTIME_ID, &time),
		EINVAL);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), EPERM);
	assert_int_equal(pawl_shared_mutex_consistent(region, 0), EPERM);
	assert_int_equal(pawl_shared_mutex_lock(region, 0), 0);
	assert_int_equal(pawl_shared_mutex_lock(region, 0), EDEADLK);
	assert_int_equal(time_0(CLOCK_MONOTONIC, 1), EDEADLK);
	assert_int_equal(pawl_shared_mutex_trylock(region, 0), EBUSY);
	assert_int_equal(pawl_shared_mutex_consistent(region, 0), EINVAL);
	assert_int_equal(in_child(unlock_0), EPERM);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), EPERM);
}

static void trylock_and_timedlock_see_who_holds_it(void **state)
{
	(void)state;
	assert_int_equal(pawl_shared_mutex_lock(region, 0), 0);
	assert_int_equal(in_child(try_0), EBUSY);
	assert_int_equal(in_child(time_out), ETIMEDOUT);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
	assert_int_equal(in_child(try_0), 0);
	assert_int_equal(in_child(time_out), 0);
	/* The child ended inside. */
	assert_int_equal(time_0(CLOCK_REALTIME, 5000), EOWNERDEAD);
	assert_int_equal(pawl_shared_mutex_consistent(region, 0), 0);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
}

/* More often than there are agents: each time-out leaves one behind. */
static int time_out_often(void)
{
	int i;

	if (pawl_shared_mutex_lock(region, 1) != 0)
		return 1;
	for (i = 0; i < 40; i++)
		if (time_0(i % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, i % 3) != ETIMEDOUT)
			return 2;
	/* What it holds it still holds. */
	return pawl_shared_mutex_unlock(region, 1);
}

static void who_times_out_leaves_nothing_behind(void **state)
{
	(void)state;
	assert_int_equal(pawl_shared_mutex_lock(region, 0), 0);
	assert_int_equal(in_child(time_out_often), 0);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
	/* The last that came had left: its place is skipped. */
	assert_int_equal(in_child(try_0), 0);
	assert_int_equal(pawl_shared_mutex_lock(region, 0), 0);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
}

static void an_owner_that_dies_is_told_of_once(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_int_equal(in_child(die_inside), -SIGKILL);
		assert_int_equal(i == 0	  ? pawl_shared_mutex_lock(region, 0)
				 : i == 1 ? pawl_shared_mutex_trylock(region, 0)
					  : time_0(CLOCK_MONOTONIC, 5000),
				 EOWNERDEAD);
		assert_int_equal(pawl_shared_mutex_consistent(region, 0), 0);
		assert_int_equal(pawl_shared_mutex_consistent(region, 0), EINVAL);
		assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
		assert_int_equal(pawl_shared_mutex_lock(region, 0), 0);
		assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
	}
}

static void an_owner_told_of_a_death_that_dies_too_is_told_of(void **state)
{
	(void)state;
	assert_int_equal(in_child(die_inside), -SIGKILL);
	assert_int_equal(in_child(lock_0), EOWNERDEAD); /* and exits inside */
	assert_int_equal(pawl_shared_mutex_lock(region, 0), EOWNERDEAD);
	assert_int_equal(pawl_shared_mutex_consistent(region, 0), 0);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
	assert_int_equal(in_child(lock_0), 0);
}

static void an_unlock_without_consistent_ends_the_mutex(void **state)
{
	int i;

	(void)state;
	assert_int_equal(in_child(die_inside), -SIGKILL);
	assert_int_equal(pawl_shared_mutex_lock(region, 0), EOWNERDEAD);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(pawl_shared_mutex_lock(region, 0), ENOTRECOVERABLE);
		assert_int_equal(pawl_shared_mutex_trylock(region, 0), ENOTRECOVERABLE);
		assert_int_equal(time_0(CLOCK_MONOTONIC, 50), ENOTRECOVERABLE);
		assert_int_equal(in_child(lock_0), ENOTRECOVERABLE);
		assert_int_equal(pawl_shared_mutex_unlock(region, 0), EPERM);
	}
	/* The others are well. */
	assert_int_equal(pawl_shared_mutex_lock(region, 1), 0);
	assert_int_equal(pawl_shared_mutex_unlock(region, 1), 0);
}

static void *lock_and_exit(void *result)
{
	*(int *)result = pawl_shared_mutex_lock(region, 0);
	return NULL;
}

static void a_thread_that_exits_inside_is_told_of(void **state)
{
	pthread_t thread;
	int result = -1;

	(void)state;
	pthread_create(&thread, NULL, lock_and_exit, &result);
	pthread_join(thread, NULL);
	assert_int_equal(result, 0);
	assert_int_equal(pawl_shared_mutex_lock(region, 0), EOWNERDEAD);
	assert_int_equal(pawl_shared_mutex_consistent(region, 0), 0);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
}

/* A chain of waiters, killed in the middle, at the end, all of them. */
static void waiters_that_are_killed_are_passed_over(void **state)
{
	enum { WAITERS = 4 };
	static const unsigned killed[] = {0x2, 0x6, 0x8, 0xE, 0x1, 0xF};
	size_t round;

	(void)state;
	for (round = 0; round < COUNT_OF(killed); round++) {
		pid_t pid[WAITERS];
		int i, status;

		assert_int_equal(pawl_shared_mutex_lock(region, 0), 0);
		for (i = 0; i < WAITERS; i++) {
			uint64_t last = pawl_load_acquire(&region->r.mutexes[0].arrive);

			pid[i] = fork();
			assert_true(pid[i] >= 0);
			if (pid[i] == 0)
				_exit(lock_0());
			while (pawl_load_acquire(&region->r.mutexes[0].arrive) == last)
				usleep(100);
		}
		for (i = 0; i < WAITERS; i++)
			if (killed[round] >> i & 1)
				kill(pid[i], SIGKILL);
		assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
		for (i = 0; i < WAITERS; i++) {
			assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
			assert_int_equal(status, killed[round] >> i & 1 ? SIGKILL : 0);
		}
		assert_int_equal(pawl_shared_mutex_lock(region, 0), 0);
		assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
	}
}

static int use_up_agents(void)
{
	int i;

	for (i = 0; i < 100; i++)
		if (in_child(lock_0) != 0)
			return 1;
	return 0;
}

static int lock_them_all(void)
{
	unsigned i;

	for (i = 0; i < 3; i++)
		if (pawl_shared_mutex_lock(region, i) != 0)
			return 1;
	raise(SIGKILL);
	return 0;
}

static void agents_of_the_dead_are_used_again(void **state)
{
	unsigned i;
	int k;

	(void)state;
	assert_int_equal(use_up_agents(), 0);
	for (k = 0; k < 30; k++) {
		assert_int_equal(in_child(lock_them_all), -SIGKILL);
		for (i = 0; i < 3; i++) {
			assert_int_equal(pawl_shared_mutex_lock(region, i), EOWNERDEAD);
			assert_int_equal(pawl_shared_mutex_consistent(region, i), 0);
			assert_int_equal(pawl_shared_mutex_unlock(region, i), 0);
		}
	}
}

static void *hold_an_agent(void *barrier)
{
	if (lock_0() != 0)
		return (void *)1;
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

static void more_threads_than_agents_are_refused(void **state)
{
	pthread_barrier_t barrier;
	pthread_t threads[8];
	void *result;
	size_t i;

	(void)state;
	pthread_barrier_init(&barrier, NULL, COUNT_OF(threads) + 1);
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_create(&threads[i], NULL, hold_an_agent, &barrier);
	pthread_barrier_wait(&barrier);
	assert_int_equal(in_child(lock_0), EAGAIN);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < COUNT_OF(threads); i++) {
		pthread_join(threads[i], &result);
		assert_null(result);
	}
	assert_int_equal(in_child(lock_0), 0);
	pthread_barrier_destroy(&barrier);
}

static int hold_nothing(void)
{
	/* The parent holds it, and may be waited for; the child may not unlock it. */
	if (pawl_shared_mutex_unlock(region, 0) != EPERM)
		return 1;
	if (pawl_shared_mutex_trylock(region, 0) != EBUSY)
		return 2;
	if (pawl_shared_mutex_lock(region, 1) != 0)
		return 3;
	if (pawl_shared_mutex_unlock(region, 1) != 0)
		return 4;
	return pawl_shared_detach(region);
}

static void the_child_of_a_fork_holds_nothing(void **state)
{
	(void)state;
	assert_int_equal(pawl_shared_mutex_lock(region, 0), 0);
	assert_int_equal(in_child(hold_nothing), 0);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
}

static void a_region_can_be_attached_twice_but_not_detached_in_use(void **state)
{
	struct pawl_shared *again;

	(void)state;
	assert_int_equal(pawl_shared_attach(&again, pawl_shared_fd(region)), 0);
	assert_true(pawl_shared_data(again) != pawl_shared_data(region));
	assert_int_equal(pawl_shared_data_bytes(again), 4096);
	*(int *)pawl_shared_data(region) = 7;
	assert_int_equal(*(int *)pawl_shared_data(again), 7);
	assert_int_equal(pawl_shared_mutex_lock(again, 0), 0);
	assert_int_equal(pawl_shared_mutex_trylock(region, 0), EBUSY);
	assert_int_equal(pawl_shared_mutex_lock(region, 0), EDEADLK);
	assert_int_equal(pawl_shared_detach(again), EBUSY);
	assert_int_equal(pawl_shared_mutex_unlock(again, 0), 0);
	assert_int_equal(pawl_shared_mutex_lock(region, 0), 0);
	assert_int_equal(pawl_shared_detach(again), 0);
	assert_int_equal(pawl_shared_mutex_lock(region, 0), EDEADLK); /* it stays ours */
	assert_int_equal(pawl_shared_detach(region), EBUSY);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
}

/* A file of this many bytes, filled with the byte. */
static int file_of(size_t bytes, int byte)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	size_t i;

	assert_true(fd >= 0);
	for (i = 0; i < bytes; i++)
		assert_int_equal(write(fd, &(char){(char)byte}, 1), 1);
	return fd;
}

static void what_is_no_region_is_refused(void **state)
{
	struct pawl_shared *other;
	int fd, pair[2];

	(void)state;
	assert_int_equal(pawl_shared_attach(&other, -1), EBADF);
	fd = file_of(0, 0);
	assert_int_equal(pawl_shared_attach(&other, fd), EINVAL);
	close(fd);
	fd = file_of(70000, 0);
	assert_int_equal(pawl_shared_attach(&other, fd), EINVAL);
	close(fd);
	fd = file_of(3000, 'x');
	assert_int_equal(pawl_shared_attach(&other, fd), EINVAL);
	assert_int_equal(
		pawl_shared_create(&other, fd, &(struct pawl_shared_shape){1, 1, 0}),
		EEXIST);
	close(fd);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(pawl_shared_attach(&other, pair[0]), EINVAL);
	close(pair[0]);
	close(pair[1]);
	fd = open("/", O_RDONLY);
	assert_int_equal(pawl_shared_attach(&other, fd), EINVAL);
	close(fd);
}

static void senseless_shapes_are_refused(void **state)
{
	static const struct pawl_shared_shape shapes[] = {
		{0, 8, 0}, {1, 5000, 0}, {1u << 30, 8, 0}, {1, 8, SIZE_MAX}};
	struct pawl_shared *other;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(shapes); i++)
		assert_int_equal(pawl_shared_create(&other, -1, &shapes[i]), EINVAL);
}

/* The file of a region, as a copy that may be damaged. */
static int copy_of(const struct pawl_shared *s)
{
	int fd = file_of(0, 0);
	const char *bytes = (const char *)s + SHARED_FRONT;

	assert_int_equal(write(fd, bytes, s->bytes), (ssize_t)s->bytes);
	return fd;
}

static void a_file_that_is_too_short_is_refused(void **state)
{
	struct pawl_shared *other;
	off_t size;
	int fd;

	(void)state;
	for (size = 0; size < (off_t)region->bytes; size += 509) {
		fd = copy_of(region);
		assert_int_equal(ftruncate(fd, size), 0);
		assert_int_equal(pawl_shared_attach(&other, fd), EINVAL);
		close(fd);
	}
	/* Whole, it is accepted; an anonymous region cannot be cut. */
	fd = copy_of(region);
	assert_int_equal(pawl_shared_attach(&other, fd), 0);
	assert_int_equal(pawl_shared_detach(other), 0);
	close(fd);
	assert_int_equal(ftruncate(pawl_shared_fd(region), 64), -1);
}

/* Uses whatever a damaged region lets itself be attached as. */
static int use_damaged(void)
{
	unsigned i;

	for (i = 0; i < 3; i++) {
		struct timespec soon = in_ms(CLOCK_MONOTONIC, 2);

		if (pawl_shared_mutex_trylock(region, i) == 0)
			pawl_shared_mutex_unlock(region, i);
		pawl_shared_mutex_timedlock(region, i, CLOCK_MONOTONIC, &soon);
		pawl_shared_mutex_unlock(region, i);
	}
	return 0;
}

static void damaged_regions_never_crash_anybody(void **state)
{
	enum { ROUNDS = 300 };
	struct pawl_shared *whole = region;
	uint64_t random = 88172645463325252u;
	int round, refused = 0;

	(void)state;
	/* With something in it: owners dead and gone, a queue. */
	assert_int_equal(in_child(lock_them_all), -SIGKILL);
	for (round = 0; round < ROUNDS; round++) {
		int fd = copy_of(whole), damage, i;
		/* The header, the tables, or anywhere. */
		size_t reach = round % 3 == 0	? 128
			       : round % 3 == 1 ? 128 + 3 * 64 + 8 * 64
						: (size_t)whole->bytes;

		damage = 1 + round % 9;
		for (i = 0; i < damage; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			assert_int_equal(pwrite(fd, &random, 1 + (random >> 60) % 8,
						(off_t)((random >> 8) % (reach - 8))),
					 1 + (random >> 60) % 8);
		}
		if (pawl_shared_attach(&region, fd) != 0) {
			refused++;
		} else {
			assert_int_equal(in_child(use_damaged), 0);
			assert_int_equal(pawl_shared_detach(region), 0);
		}
		close(fd);
	}
	region = whole;
	/* Nearly all damage to the header, and some of the rest. */
	assert_in_range(refused, ROUNDS / 4, ROUNDS - 1);
}

static void a_region_in_a_file_outlives_its_users(void **state)
{
	char path[] = "/tmp/pawl-shared-XXXXXX";
	struct pawl_shared *whole = region;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(
		pawl_shared_create(&region, fd, &(struct pawl_shared_shape){1, 4, 64}),
		0);
	*(int *)pawl_shared_data(region) = 11;
	assert_int_equal(in_child(die_inside), -SIGKILL);
	assert_int_equal(pawl_shared_detach(region), 0);
	close(fd);

	fd = open(path, O_RDONLY);
	assert_int_equal(pawl_shared_attach(&region, fd), EACCES);
	close(fd);
	fd = open(path, O_RDWR);
	assert_int_equal(pawl_shared_attach(&region, fd), 0);
	close(fd);
	assert_int_equal(*(int *)pawl_shared_data(region), 11);
	assert_int_equal(pawl_shared_mutex_lock(region, 0), EOWNERDEAD);
	assert_int_equal(pawl_shared_mutex_consistent(region, 0), 0);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
	assert_int_equal(pawl_shared_detach(region), 0);
	unlink(path);
	region = whole;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(misuse_is_refused),
		TEST(trylock_and_timedlock_see_who_holds_it),
		TEST(who_times_out_leaves_nothing_behind),
		TEST(an_owner_that_dies_is_told_of_once),
		TEST(an_owner_told_of_a_death_that_dies_too_is_told_of),
		TEST(an_unlock_without_consistent_ends_the_mutex),
		TEST(a_thread_that_exits_inside_is_told_of),
		TEST(waiters_that_are_killed_are_passed_over),
		TEST(agents_of_the_dead_are_used_again),
		TEST(more_threads_than_agents_are_refused),
		TEST(the_child_of_a_fork_holds_nothing),
		TEST(a_region_can_be_attached_twice_but_not_detached_in_use),
		TEST(what_is_no_region_is_refused),
		TEST(senseless_shapes_are_refused),
		TEST(a_file_that_is_too_short_is_refused),
		TEST(damaged_regions_never_crash_anybody),
		TEST(a_region_in_a_file_outlives_its_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
