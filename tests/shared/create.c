/* SPDX-License-Identifier: MIT */
/*
 * Regions and the system around them.
 *
 * Creating a region in a file: several creators at once, creators that are killed at
 * every system call, and calls that fail half-way. Whatever comes before it, a create
 * returns 0, or EEXIST and there is a whole region to attach.
 *
 * Fork: no memory is freed before the allocator's own handler has run.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include "harness/hang.h"

#include <pawl/shared.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CREATORS = 3, RACES = 300, GROWN = 4096, STEP = 1 << 20 };

/* What the creators of a race say; shared by them. */
static struct says {
	_Atomic int ready;
	int result[CREATORS]; /* of create */
	size_t bytes[CREATORS];
} * says;

/* What the system does to the calls below, in the process that sets it. */
static struct {
	bool refuses_reopen;
	int interruptions; /* of posix_fallocate, which leave the file grown */
	int grow_error;	   /* after the file has grown by a part */
	void (*while_growing)(void);
} trouble;

int open(const char *path, int flags, ...)
{
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = va_arg(list, mode_t);
	va_end(list);
	if (trouble.refuses_reopen && strncmp(path, "/proc/self/fd/", 14) == 0) {
		errno = EACCES;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int posix_fallocate(int fd, off_t offset, off_t length)
{
	if (trouble.while_growing != NULL)
		trouble.while_growing();
	if (trouble.interruptions > 0 || trouble.grow_error != 0) {
		struct stat status;

		assert_int_equal(fstat(fd, &status), 0);
		if (status.st_size < GROWN)
			assert_int_equal(ftruncate(fd, GROWN), 0);
		if (trouble.interruptions == 0)
			return trouble.grow_error;
		trouble.interruptions--;
		return EINTR;
	}
	return syscall(SYS_fallocate, fd, 0, offset, length) == 0 ? 0 : errno;
}

static int frees; /* so far, by anybody in this process */

void __real_free(void *memory);
void __wrap_free(void *memory);

void __wrap_free(void *memory)
{
	frees++;
	__real_free(memory);
}

static void reset(void)
{
	memset(&trouble, 0, sizeof(trouble));
}

/* An empty file without a name, as a name through which it can be opened again. */
static int empty_file(void)
{
	char name[] = "/tmp/pawl-create-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	return fd;
}

static int create_sized(struct pawl_shared **region, int fd, size_t data_bytes)
{
	const struct pawl_shared_shape shape = {
		.mutexes = 1, .threads = 8, .data_bytes = data_bytes};

	return pawl_shared_create(region, fd, &shape);
}

static int create(struct pawl_shared **region, int fd)
{
	return create_sized(region, fd, GROWN);
}

static off_t size_of(int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	return status.st_size;
}

/* A region of this size can be had, by create or by attach, and used. */
static size_t demand_region(int fd)
{
	struct pawl_shared *region;
	size_t bytes;
	int error = create(&region, fd);

	if (error == EEXIST)
		error = pawl_shared_attach(&region, fd);
	assert_int_equal(error, 0);
	bytes = pawl_shared_data_bytes(region);
	assert_int_equal(((char *)pawl_shared_data(region))[bytes - 1], 0);
	assert_int_equal(pawl_shared_mutex_lock(region, 0), 0);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
	assert_int_equal(pawl_shared_detach(region), 0);
	return bytes;
}

/* Races. */

/* One creator, with a layout of its own; opens the file anew if it is to. */
static int take_part(int me, int fd, bool opens)
{
	struct pawl_shared *region;
	char path[64];
	int error;

	if (opens) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR);
	}
	atomic_fetch_add(&says->ready, 1);
	while (atomic_load(&says->ready) < CREATORS)
		sched_yield();
	error = create_sized(&region, fd, (size_t)GROWN * (size_t)(me + 1));
	says->result[me] = error;
	if (error == EEXIST)
		error = pawl_shared_attach(&region, fd);
	if (error == 0)
		says->bytes[me] = pawl_shared_data_bytes(region);
	return error;
}

static void judge_race(void)
{
	int creators = 0, i;

	for (i = 0; i < CREATORS; i++) {
		creators += says->result[i] == 0;
		assert_int_equal(says->bytes[i], says->bytes[0]);
	}
	assert_int_equal(creators, 1);
}

static void race_of_processes(bool opens)
{
	int fd = empty_file(), i, status;
	pid_t pids[CREATORS];

	memset(says, 0, sizeof(*says));
	for (i = 0; i < CREATORS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			alarm(HANG_GUARD_S);
			_exit(take_part(i, fd, opens));
		}
	}
	for (i = 0; i < CREATORS; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	judge_race();
	close(fd);
}

static void of_processes_with_one_description_one_creates(void **state)
{
	int i;

	(void)state;
	watchdog("races of forked processes");
	for (i = 0; i < RACES; i++)
		race_of_processes(false);
}

static void of_processes_that_open_the_file_one_creates(void **state)
{
	int i;

	(void)state;
	watchdog("races of processes");
	for (i = 0; i < RACES; i++)
		race_of_processes(true);
}

static void of_processes_that_cannot_reopen_it_one_creates(void **state)
{
	int i;

	(void)state;
	watchdog("races without /proc");
	trouble.refuses_reopen = true;
	for (i = 0; i < RACES; i++)
		race_of_processes(i % 2 == 0);
	reset();
}

static int contested;

static void *take_part_in_thread(void *number)
{
	return (void *)(intptr_t)take_part((int)(intptr_t)number, contested, false);
}

static void race_of_threads(void)
{
	pthread_t threads[CREATORS];
	void *error;
	intptr_t i;

	memset(says, 0, sizeof(*says));
	contested = empty_file();
	for (i = 0; i < CREATORS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, take_part_in_thread, (void *)i),
			0);
	for (i = 0; i < CREATORS; i++) {
		assert_int_equal(pthread_join(threads[i], &error), 0);
		assert_null(error);
	}
	judge_race();
	close(contested);
}

static void of_threads_one_creates(void **state)
{
	int i;

	(void)state;
	watchdog("races of threads");
	for (i = 0; i < RACES; i++) {
		trouble.refuses_reopen = i % 2 == 0;
		race_of_threads();
	}
	reset();
}

/* Deaths. */

/* Lets a traced creator make so many halves of system calls, and kills it there; false if
 * it came to its end before. */
static bool kill_at(int fd, int stops, bool refused)
{
	int status, i;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct pawl_shared *region;

		trouble.refuses_reopen = refused;
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(77);
		raise(SIGSTOP);
		_exit(create(&region, fd));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip_because("ptrace is not allowed");
	for (i = 0; i < stops && WIFSTOPPED(status); i++) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	if (!WIFSTOPPED(status)) {
		assert_int_equal(status, 0);
		return false;
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return true;
}

static void a_creator_may_be_killed_at_every_call(void **state)
{
	int refused, stops;

	(void)state;
	watchdog("creators killed");
	for (refused = 0; refused < 2; refused++) {
		bool killed = true;

		for (stops = 1; killed; stops++) {
			int fd = empty_file();

			killed = kill_at(fd, stops, refused);
			demand_region(fd);
			close(fd);
		}
		assert_true(stops > 10); /* it was stopped, and went on */
	}
}

static pid_t bystander;

static void fork_and_die(void)
{
	struct pawl_shared *region;
	int pipes[2];
	char byte = 0;

	assert_int_equal(pipe(pipes), 0);
	bystander = fork();
	if (bystander == 0) {
		reset();
		alarm(HANG_GUARD_S); /* should the test fail */
		/* It may create a region of its own. */
		byte = (char)create(&region, -1);
		assert_int_equal(write(pipes[1], &byte, 1), 1);
		for (;;)
			pause();
	}
	says->result[0] = bystander;
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	assert_int_equal(byte, 0);
	raise(SIGKILL);
}

static void a_child_of_the_creator_does_not_keep_the_lock(void **state)
{
	int fd = empty_file(), status;
	pid_t pid;

	(void)state;
	watchdog("a child of the creator");
	pid = fork();
	if (pid == 0) {
		struct pawl_shared *region;

		trouble.while_growing = fork_and_die;
		_exit(create(&region, fd));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(demand_region(fd), GROWN);
	kill(says->result[0], SIGKILL);
	close(fd);
}

/* Failures. */

static void an_interrupted_create_goes_on(void **state)
{
	struct pawl_shared *region;
	int fd = empty_file();

	(void)state;
	trouble.interruptions = 3;
	assert_int_equal(create(&region, fd), 0);
	assert_int_equal(trouble.interruptions, 0);
	reset();
	assert_int_equal(pawl_shared_detach(region), 0);
	assert_int_equal(demand_region(fd), GROWN);
	close(fd);
}

static void on_alarm(int signal)
{
	(void)signal;
}

static void a_fast_timer_does_not_keep_it_from_ending(void **state)
{
	const struct itimerspec often = {{0, 200000}, {0, 200000}};
	const struct sigaction action = {.sa_handler = on_alarm};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct pawl_shared *region;
	timer_t timer;

	(void)state;
	watchdog("a fast timer");
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
	assert_int_equal(create_sized(&region, fd, 64 * (size_t)STEP), 0);
	assert_int_equal(timer_delete(timer), 0);
	assert_int_equal(pawl_shared_detach(region), 0);
	close(fd);
}

static void a_failed_create_leaves_the_file_empty(void **state)
{
	static const int errors[] = {ENOSPC, EFBIG, EPERM};
	struct pawl_shared *region;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(errors); i++) {
		int fd = empty_file();

		trouble.grow_error = errors[i];
		assert_int_equal(create(&region, fd), errors[i]);
		assert_int_equal(size_of(fd), 0);
		reset();
		assert_int_equal(demand_region(fd), GROWN);
		close(fd);
	}
}

static void other_files_stay_as_they_are(void **state)
{
	static const char text[] = "not a region";
	size_t length;

	(void)state;
	for (length = 1; length < sizeof(text); length++) {
		struct pawl_shared *region;
		char after[sizeof(text)] = {0};
		int fd = empty_file();

		assert_int_equal(write(fd, text, length), length);
		assert_int_equal(create(&region, fd), EEXIST);
		assert_int_equal(pread(fd, after, sizeof(after), 0), length);
		assert_memory_equal(after, text, length);
		close(fd);
	}
}

static void descriptors_without_the_access_are_refused(void **state)
{
	static const struct {
		int flags;
		bool refused;
		int expected;
	} cases[] = {
		{O_RDONLY, false, EBADF},
		{O_WRONLY, false, EACCES},
		{O_RDWR | O_APPEND, true, EINVAL},
		{O_RDWR | O_APPEND, false, 0},
		{O_RDWR, true, 0},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(cases); i++) {
		struct pawl_shared *region;
		char path[64];
		int whole = empty_file(), fd;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", whole);
		fd = open(path, cases[i].flags, 0);
		assert_true(fd >= 0);
		trouble.refuses_reopen = cases[i].refused;
		assert_int_equal(create(&region, fd), cases[i].expected);
		reset();
		if (cases[i].expected != 0)
			assert_int_equal(size_of(whole), 0);
		demand_region(whole);
		close(fd);
		close(whole);
	}
}

/* Whether a process that opens the file anew can lock all of it. */
static bool is_locked(int fd)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct flock range = {.l_type = F_WRLCK};
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR);
		_exit(fcntl(fd, F_SETLK, &range) == 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

/* Programs hold a lock while they attach a region or create it. */
static void a_caller_may_have_locked_the_file(void **state)
{
	static const int commands[] = {F_SETLK, F_OFD_SETLK};
	size_t i;
	int refused;

	(void)state;
	watchdog("a file that its creator has locked");
	for (i = 0; i < COUNT_OF(commands); i++)
		for (refused = 0; refused < 2; refused++) {
			struct flock range = {.l_type = F_WRLCK};
			struct pawl_shared *region;
			int fd = empty_file();

			trouble.refuses_reopen = refused;
			assert_int_equal(fcntl(fd, commands[i], &range), 0);
			assert_int_equal(pawl_shared_attach(&region, fd), EINVAL);
			assert_true(is_locked(fd));
			assert_int_equal(create(&region, fd), 0);
			assert_true(is_locked(fd));
			reset();
			assert_int_equal(pawl_shared_detach(region), 0);
			close(fd);
		}
}

static int frees_before;

/* Stands for the allocator's: registered after the library's, so it runs after it. */
static void allocators_child_handler(void)
{
	if (frees != frees_before)
		_exit(1);
}

static void a_fork_frees_nothing_before_the_allocators_handler(void **state)
{
	struct pawl_shared *region;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(create(&region, -1), 0);
	assert_int_equal(pawl_shared_mutex_lock(region, 0), 0); /* has a seat now */
	assert_int_equal(pthread_atfork(NULL, NULL, allocators_child_handler), 0);
	frees_before = frees;
	pid = fork();
	if (pid == 0) {
		/* The child uses what it was left. */
		assert_int_equal(pawl_shared_mutex_trylock(region, 0), EBUSY);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(pawl_shared_mutex_unlock(region, 0), 0);
	assert_int_equal(pawl_shared_detach(region), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_processes_with_one_description_one_creates),
		cmocka_unit_test(of_processes_that_open_the_file_one_creates),
		cmocka_unit_test(of_processes_that_cannot_reopen_it_one_creates),
		cmocka_unit_test(of_threads_one_creates),
		cmocka_unit_test(a_creator_may_be_killed_at_every_call),
		cmocka_unit_test(a_child_of_the_creator_does_not_keep_the_lock),
		cmocka_unit_test(an_interrupted_create_goes_on),
		cmocka_unit_test(a_fast_timer_does_not_keep_it_from_ending),
		cmocka_unit_test(a_failed_create_leaves_the_file_empty),
		cmocka_unit_test(other_files_stay_as_they_are),
		cmocka_unit_test(descriptors_without_the_access_are_refused),
		cmocka_unit_test(a_caller_may_have_locked_the_file),
		cmocka_unit_test(a_fork_frees_nothing_before_the_allocators_handler),
	};

	says = mmap(NULL, sizeof(*says), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (says == MAP_FAILED)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
