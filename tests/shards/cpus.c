/* SPDX-License-Identifier: MIT */
/*
 * Shards where the system does not say, or says wrongly, how many CPUs there are: a
 * container may mask sysfs. Threads on every CPU count, and take and return ids; no count
 * may be lost, and no id given out twice.
 */
#define _GNU_SOURCE
#include "harness/child.h"
#include "harness/harness.h"

#include <pawl/counter.h>
#include <pawl/idalloc.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__ /* makes every access slow */
enum { ROUNDS = 10000 };
#else
enum { ROUNDS = 200000 };
#endif
enum { THREADS = 4, IDS = 1 << 12 };

/* What sysfs says of the CPUs, NULL: nothing; and whether the kernel says its limit. */
static const struct machine {
	const char *possible;
	bool limit_is_known;
} machines[] = {
	{"0\n", true},
	{NULL, true},
	{"0\n", false}, /* as above 4,096 CPUs, or where the system call is refused */
};
static const struct machine *machine = machines;

int open(const char *path, int flags, ...)
{
	va_list list;
	mode_t mode;
	int fd;

	va_start(list, flags);
	mode = va_arg(list, mode_t);
	va_end(list);
	if (strcmp(path, "/sys/devices/system/cpu/possible") != 0)
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	if (machine->possible == NULL) {
		errno = ENOENT;
		return -1;
	}
	fd = memfd_create("possible", 0);
	assert_int_equal(write(fd, machine->possible, strlen(machine->possible)),
			 strlen(machine->possible));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

unsigned __real_pawl_os_cpu_limit(void);
unsigned __wrap_pawl_os_cpu_limit(void);

unsigned __wrap_pawl_os_cpu_limit(void)
{
	return machine->limit_is_known ? __real_pawl_os_cpu_limit() : UINT_MAX;
}

static struct pawl_counter counter;
static struct pawl_idalloc ids;
static unsigned char held[IDS];
static unsigned twice;

static void *work(void *number)
{
	cpu_set_t all, one;
	size_t cpu = 0;
	int i, skip;

	/* One of the CPUs that we may use. */
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	for (skip = (int)(intptr_t)number % CPU_COUNT(&all); skip >= 0; cpu++)
		skip -= CPU_ISSET(cpu, &all) != 0;
	CPU_ZERO(&one);
	CPU_SET(cpu - 1, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (i = 0; i < ROUNDS; i++) {
		uint32_t id = pawl_idalloc_get(&ids);

		pawl_counter_add(&counter, 1);
		if (id == PAWL_IDALLOC_NONE)
			continue;
		if (__atomic_exchange_n(&held[id], 1, __ATOMIC_ACQ_REL) != 0)
			__atomic_fetch_add(&twice, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&held[id], 0, __ATOMIC_RELEASE);
		pawl_idalloc_put(&ids, id);
	}
	return NULL;
}

/* Whether all is well, in a process of its own: the mode is chosen once. */
static bool use(enum pawl_shards_kind kind)
{
	pthread_t threads[THREADS];
	intptr_t i;

	assert_int_equal(pawl_counter_create(&counter, kind), 0);
	assert_int_equal(pawl_idalloc_create(&ids, kind, IDS), 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	if (!machine->limit_is_known && pawl_lease_mode() != PAWL_LEASE_THREAD &&
	    pawl_lease_mode() != PAWL_LEASE_FENCED)
		return false;
	return pawl_counter_sum(&counter) == (uint64_t)THREADS * ROUNDS && twice == 0;
}

static char argument[32];

static void use_again(void)
{
	child_exec(argument, false);
}

static void use_in_all_modes(int number)
{
	static const char *const modes[] = {"", "cid", "thread", "fenced"};
	struct child child;
	int kind;
	size_t i;

	for (i = 0; i < COUNT_OF(modes); i++)
		for (kind = PAWL_SHARDS_LEASED; kind <= PAWL_SHARDS_ATOMIC; kind++) {
			setenv("PAWL_LEASE_MODE", modes[i], 1);
			snprintf(argument, sizeof(argument), "%d %d", number, kind);
			child = child_run(use_again);
			assert_int_equal(child.signal, 0);
			assert_int_equal(child.status, 0);
		}
}

static void sysfs_shows_one_cpu(void **state)
{
	(void)state;
	use_in_all_modes(0);
}

static void there_is_no_sysfs(void **state)
{
	(void)state;
	use_in_all_modes(1);
}

static void the_limit_is_not_known(void **state)
{
	(void)state;
	use_in_all_modes(2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sysfs_shows_one_cpu),
		cmocka_unit_test(there_is_no_sysfs),
		cmocka_unit_test(the_limit_is_not_known),
	};
	int number, kind;

	if (argc == 2 && sscanf(argv[1], "%d %d", &number, &kind) == 2) {
		machine = &machines[number];
		return use((enum pawl_shards_kind)kind) ? 0 : 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
