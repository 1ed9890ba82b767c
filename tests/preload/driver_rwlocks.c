/* SPDX-License-Identifier: MIT */
/* Runs the programs about read-write locks, which are the same under any lock. */
#include "driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void kinds_prefer_whom_they_say(void **state)
{
	(void)state;
	behaves_alike("preload_rwlock_kinds");
	with("PAWL_STATS", "/dev/null", behaves_alike, "preload_rwlock_kinds");
}

static void rwlocks_behave_as_glibcs_do(void **state)
{
	(void)state;
	behaves_alike("preload_rwlock_semantics");
	/* Counting, they go another way. */
	with("PAWL_STATS", "/dev/null", behaves_alike, "preload_rwlock_semantics");
}

static void rwlocks_do_not_allocate(void **state)
{
	(void)state;
	run_well("preload_rwlock_allocator");
}

#define RWLOCKS(name)                                        \
	static void rwlocks_##name(void **state)             \
	{                                                    \
		(void)state;                                 \
		run_well("preload_rwlock_integrity " #name); \
	}
RWLOCKS(exclusion)
RWLOCKS(many)
RWLOCKS(churn)
RWLOCKS(fair)
RWLOCKS(timed)
RWLOCKS(forks)
RWLOCKS(signals)
RWLOCKS(stranger)
RWLOCKS(farewell)
RWLOCKS(exit)
RWLOCKS(jumps)
RWLOCKS(cancels_at_once)

static void rwlocks_work_without_membarrier(void **state)
{
	static const char *const cases[] = {"exclusion", "fair", "timed", "churn"};
	char program[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(program, sizeof(program), "preload_rwlock_integrity %s",
			 cases[i]);
		run_refused(program);
	}
}

/* Reads and writes are counted, if they are ours. */
static void rwlocks_are_counted(void **state)
{
	unsigned long long reads = 0, writes = 0, contended = 1;
	struct outcome outcome;
	const char *line;

	(void)state;
	need_no_emulator();
	outcome = run("%s run --stats -- %s/preload_rwlock_integrity many 2>&1", COMMAND,
		      PROGRAMS);
	line = strstr(outcome.text, "read-write locks: ");
	assert_int_equal(outcome.status, 0);
	assert_non_null(line);
	assert_int_equal(sscanf(line,
				"read-write locks: read %llu, written %llu, contended "
				"%llu",
				&reads, &writes, &contended),
			 3);
	/* Two rounds of reading 1,001 locks three times, and 600 times to warm up;
	 * and of writing each twice. */
	assert_int_equal(reads, 2 * 1001 * 603);
	assert_int_equal(writes, 2 * 1001 * 2);
	assert_int_equal(contended, 0);
	free(outcome.text);
	outcome = run("%s run --stats -- %s/preload_rwlock_integrity fair 2>&1", COMMAND,
		      PROGRAMS);
	assert_non_null(strstr(outcome.text, "most contended read-write locks:"));
	free(outcome.text);
}

/* They are ours, unless somebody leaves them to glibc: then nobody counts. */
static void rwlocks_are_glibcs_if_asked_for(void **state)
{
	static const struct {
		const char *variable, *option;
		bool ours;
	} ways[] = {
		{"", "", true},
		{"", "--rwlock glibc", false},
		{"", "--rwlock pawl", true},
		{"PAWL_RWLOCK=", "", true},
		{"PAWL_RWLOCK=glibc", "", false},
		{"PAWL_RWLOCK=pawl", "", true},
		{"PAWL_RWLOCK=pawl", "--rwlock glibc", false},
		{"PAWL_RWLOCK=glibc", "--rwlock pawl", true},
	};
	size_t i;

	(void)state;
	need_no_emulator();
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct outcome outcome = run(
			"%s %s run --stats %s -- %s/preload_rwlock_integrity many "
			"2>&1",
			ways[i].variable, COMMAND, ways[i].option, PROGRAMS);

		assert_int_equal(outcome.status, 0);
		assert_non_null(strstr(outcome.text, "acquisitions"));
		if ((strstr(outcome.text, "read-write locks: read") != NULL) !=
		    ways[i].ours)
			fail_msg("%s pawl run %s: %s", ways[i].variable, ways[i].option,
				 outcome.text);
		free(outcome.text);
	}
	with("PAWL_RWLOCK", OFFER_RWLOCK_GLIBC, behaves_alike,
	     "preload_rwlock_semantics");
}

static void neither_ours_nor_glibcs_is_one_line(void **state)
{
	struct outcome outcome;

	(void)state;
	need_no_emulator();
	outcome = run("PAWL_RWLOCK=nobodys " PRELOADED "%s/preload_intercepted 2>&1",
		      PROGRAMS);
	assert_int_equal(WEXITSTATUS(outcome.status), 127);
	assert_string_equal(outcome.text,
			    "pawl: PAWL_RWLOCK=nobodys is neither pawl nor glibc\n");
	free(outcome.text);
	outcome = run("%s run --rwlock nobodys -- true 2>&1", COMMAND);
	assert_int_equal(WEXITSTATUS(outcome.status), 2);
	assert_string_equal(outcome.text,
			    "pawl: --rwlock: 'nobodys' is neither pawl nor glibc\n");
	free(outcome.text);
}

int check_rwlocks(void)
{
	static const struct CMUnitTest rwlocks[] = {
		cmocka_unit_test(rwlocks_behave_as_glibcs_do),
		cmocka_unit_test(rwlocks_do_not_allocate),
		cmocka_unit_test(kinds_prefer_whom_they_say),
		cmocka_unit_test(rwlocks_exclusion),
		cmocka_unit_test(rwlocks_many),
		cmocka_unit_test(rwlocks_churn),
		cmocka_unit_test(rwlocks_fair),
		cmocka_unit_test(rwlocks_timed),
		cmocka_unit_test(rwlocks_forks),
		cmocka_unit_test(rwlocks_signals),
		cmocka_unit_test(rwlocks_stranger),
		cmocka_unit_test(rwlocks_farewell),
		cmocka_unit_test(rwlocks_exit),
		cmocka_unit_test(rwlocks_jumps),
		cmocka_unit_test(rwlocks_cancels_at_once),
		cmocka_unit_test(rwlocks_work_without_membarrier),
		cmocka_unit_test(rwlocks_are_counted),
		cmocka_unit_test(rwlocks_are_glibcs_if_asked_for),
		cmocka_unit_test(neither_ours_nor_glibcs_is_one_line),
	};

	lock = lock_type_find(OFFER_DEFAULT);
	return cmocka_run_group_tests(rwlocks, NULL, NULL);
}
