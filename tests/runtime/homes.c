/* SPDX-License-Identifier: MIT */
/* Which CPUs are one home, as read from a system that this test makes up. */
#include "harness/harness.h"

#include "os/os.h"
#include "sync/homes.h"

#include <pawl/thread.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int __wrap_open(const char *name, int flags);
int __real_open(const char *name, int flags);

static const char *online = "0-511\n";
static unsigned reads;

/* Two sockets of 16 clusters of 8 cores; the second threads of cores come last. */
static void describe_cluster(char *list, size_t size, unsigned cpu)
{
	unsigned first = cpu % 256 / 8 * 8;

	snprintf(list, size, "%u-%u,%u-%u\n", first, first + 7, first + 256, first + 263);
}

int __wrap_open(const char *name, int flags)
{
	char list[64];
	unsigned cpu;
	int ends[2];

	if (strcmp(name, "/sys/devices/system/cpu/online") == 0)
		snprintf(list, sizeof(list), "%s", online);
	else if (sscanf(name, "/sys/devices/system/cpu/cpu%u/cache/index3/", &cpu) != 1)
		return __real_open(name, flags);
	else if (cpu < 512)
		describe_cluster(list, sizeof(list), cpu);
	else if (cpu < 520)
		snprintf(list, sizeof(list), "512-519\n");
	else
		return errno = ENOENT, -1;
	reads++;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], list, strlen(list)), strlen(list));
	close(ends[1]);
	return ends[0];
}

static void who_shares_a_cache_has_one_home(void **state)
{
	unsigned cpu;

	(void)state;
	/* Asked for in this order, the clusters are numbered so. */
	for (cpu = 0; cpu < 512; cpu++)
		assert_int_equal(pawl_home_of(cpu), cpu % 256 / 8);
	reads = 0;
	for (cpu = 0; cpu < 512; cpu++)
		assert_int_equal(pawl_home_of(cpu), cpu % 256 / 8);
	assert_int_equal(reads, 0); /* nothing is read twice */
}

static void one_cache_for_all_is_no_home(void **state)
{
	(void)state;
	online = "512-519\n";
	assert_int_equal(pawl_home_of(512), PAWL_NO_HOME);
	assert_int_equal(pawl_home_of(519), PAWL_NO_HOME);
}

static void without_caches_nodes_are_homes(void **state)
{
	unsigned nodes = pawl_os_nodes();

	(void)state;
	errno = 0;
	assert_int_equal(pawl_home_of(600), nodes > 1 ? pawl_os_node() : PAWL_NO_HOME);
	assert_int_equal(pawl_home_of(1 << 20),
			 nodes > 1 ? pawl_os_node() : PAWL_NO_HOME);
	assert_int_equal(errno, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_shares_a_cache_has_one_home),
		cmocka_unit_test(one_cache_for_all_is_no_home),
		cmocka_unit_test(without_caches_nodes_are_homes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
