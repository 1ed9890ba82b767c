/* SPDX-License-Identifier: MIT */
/*
 * Runs the programs of this folder under one lock: driver LOCK full|core|light.
 * full is everything; core is what can break for one lock and not for another;
 * light is core with less work, for locks whose waiters spin. driver rwlocks runs
 * those about read-write locks, which are the same under any lock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *effort = "full";

static void every_function_is_ours(void **state)
{
	(void)state;
	run_well("preload_intercepted");
}

static void nothing_is_ours_without_us(void **state)
{
	struct outcome outcome = run(PLAINLY "%s/preload_intercepted plain", PROGRAMS);

	(void)state;
	assert_int_equal(outcome.status, 0);
	free(outcome.text);
}

static void so_is_the_cxx_library(void **state)
{
	(void)state;
	run_well("preload_intercepted_cxx");
	with("PAWL_RWLOCK", OFFER_RWLOCK_GLIBC, run_well, "preload_intercepted_cxx");
}

static void so_are_old_versions(void **state)
{
	(void)state;
#ifdef OLD_VERSIONS
	run_well("preload_old_versions");
	with("PAWL_RWLOCK", OFFER_RWLOCK_GLIBC, run_well, "preload_old_versions");
#else
	print_message("this CPU's glibc is younger than those versions\n");
	skip();
#endif
}

static void used_before_constructors_and_after_main(void **state)
{
	(void)state;
	run_well("preload_early " OTHER_LIBRARY);
}

static void keys_are_as_without_us(void **state)
{
	(void)state;
	behaves_alike("preload_keys");
}

static void early_keys_and_reads_slow_no_thread_down(void **state)
{
	(void)state;
	run_well("preload_early_keys");
}

static void nothing_allocates(void **state)
{
	(void)state;
	run_well("preload_first_use");
	with("PAWL_RWLOCK", OFFER_RWLOCK_GLIBC, run_well, "preload_first_use");
}

static void a_plug_in_shares_mutexes(void **state)
{
	(void)state;
	run_well("preload_deepbind " PLUGIN " " NEIGHBOUR);
}

static void newcomers_are_counted(void **state)
{
	(void)state;
	with("PAWL_STATS", "/dev/null", run_well, "preload_integrity newcomers");
}

static void filters_see_no_membarrier(void **state)
{
	(void)state;
	need_no_emulator();
	run_well("preload_filtered prctl");
	run_well("preload_filtered seccomp");
}

/* One instruction at a time. */
static void run_stepwise(const char *program)
{
#ifdef MIDWAY
	run_well(program);
#else
	(void)program;
	print_message("nobody taught it this CPU's traps\n");
	skip();
#endif
}

static void a_signal_finds_no_wait_that_is_refused(void **state)
{
	(void)state;
	run_stepwise("preload_midway waits");
}

static void a_jump_within_a_handler_leaves_no_wait(void **state)
{
	(void)state;
	run_stepwise("preload_midway jumps");
}

static void a_fork_may_come_at_any_step(void **state)
{
	(void)state;
	if (strcmp(lock->base, "mcs") != 0) {
		print_message("takes no nodes\n");
		skip();
	}
	run_stepwise("preload_midway forks");
}

static void behaves_as_glibc_does(void **state)
{
	(void)state;
	behaves_alike("preload_semantics");
}

#define INTEGRITY(name)                                                              \
	static void integrity_##name(void **state)                                   \
	{                                                                            \
		char command[64];                                                    \
                                                                                     \
		(void)state;                                                         \
		snprintf(command, sizeof(command), "preload_integrity %s %s", #name, \
			 effort);                                                    \
		run_well(command);                                                   \
	}
INTEGRITY(exclusion)
INTEGRITY(pingpong)
INTEGRITY(broadcast)
INTEGRITY(fair)
INTEGRITY(forks)
INTEGRITY(cancel)
INTEGRITY(many)
INTEGRITY(churn)
INTEGRITY(signals)
INTEGRITY(stranger)
INTEGRITY(timed)
INTEGRITY(farewell)
INTEGRITY(small)
INTEGRITY(spins)
INTEGRITY(exit)
INTEGRITY(depths)
INTEGRITY(mixture)
INTEGRITY(jumps)
INTEGRITY(jumps_about)
INTEGRITY(jumps_from_cond)
INTEGRITY(cancels_at_once)
INTEGRITY(forgotten)

static void works_without_membarrier(void **state)
{
	(void)state;
	run_refused("preload_integrity pingpong");
	run_refused("preload_integrity exclusion");
}

static void run_ranked(const char *argument)
{
	struct outcome outcome = run("PAWL_LOCK=%s exec " PRELOADED
				     "%s/preload_ranks %s 2>&1",
				     lock->name, PROGRAMS, argument);
	bool refused;

	refused = WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 77;
	if (refused)
		print_message("%s", outcome.text);
	else if (outcome.status != 0)
		fail_msg("preload_ranks under %s: status %#x, said: %s", lock->name,
			 (unsigned)outcome.status, outcome.text);
	free(outcome.text);
	if (refused) {
		print_message("this system refuses what the case needs\n");
		skip();
	}
}

/* A waiter that polls for ever keeps a holder of lower priority off the CPU: spin locks do. */
static void the_highest_rank_waits_for_the_lowest(void **state)
{
	(void)state;
	if (!lock->parks) {
		print_message("its waiters do not sleep\n");
		skip();
	}
	run_ranked("");
}

static void the_highest_rank_is_served_first(void **state)
{
	(void)state;
	if (strcmp(lock->base, "mutex") != 0) {
		print_message("its queue knows no priorities\n");
		skip();
	}
	run_ranked("order");
}

/* What does not depend on the lock. */

static size_t lines_of(const char *text)
{
	size_t lines = 0;

	for (; *text != '\0'; text++)
		lines += *text == '\n';
	return lines;
}

static void a_wrong_lock_is_one_line_and_127(void **state)
{
	static const char *const wrong[] = {"nonsense",		  "clh",
					    "clh+park",		  "tidex",
					    "hemlock-ah",	  "hemlock-overlap",
					    "reciprocating-fair", "hemlock+park",
					    "reciprocating"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct outcome outcome = run("PAWL_LOCK=%s " PRELOADED
					     "%s/preload_intercepted 2>&1",
					     wrong[i], PROGRAMS);

		assert_int_equal(WEXITSTATUS(outcome.status), 127);
		assert_int_equal(lines_of(outcome.text), 1);
		assert_non_null(strstr(outcome.text, wrong[i]));
		free(outcome.text);
		outcome = run("%s run --lock %s -- true 2>&1", COMMAND, wrong[i]);
		assert_int_equal(WEXITSTATUS(outcome.status), 2);
		assert_int_equal(lines_of(outcome.text), 1);
		assert_non_null(strstr(outcome.text, wrong[i]));
		free(outcome.text);
	}
}

static void says_something_only_if_asked(void **state)
{
	struct outcome outcome = run(
		"PAWL_VERBOSE=1 " PRELOADED "%s/preload_intercepted 2>&1", PROGRAMS);

	(void)state;
	assert_int_equal(outcome.status, 0);
	assert_string_equal(outcome.text, "pawl: pthread mutexes are mutex\n");
	free(outcome.text);
}

static void run_becomes_the_program(void **state)
{
	struct outcome outcome;

	(void)state;
	outcome = run("%s run --lock ticket -- sh -c 'echo $PAWL_LOCK; exit 7'", COMMAND);
	assert_string_equal(outcome.text, "ticket\n");
	assert_int_equal(WEXITSTATUS(outcome.status), 7);
	free(outcome.text);
	outcome = run("exec %s run -- sh -c 'kill -TERM $$'", COMMAND);
	assert_true(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == 15);
	free(outcome.text);
	outcome = run("%s run -- no-such-program 2>&1", COMMAND);
	assert_int_equal(WEXITSTATUS(outcome.status), 127);
	assert_int_equal(lines_of(outcome.text), 1);
	free(outcome.text);
	outcome = run("LD_PRELOAD=/nonexistent.so %s run -- sh -c 'echo $LD_PRELOAD' "
		      "2>/dev/null",
		      COMMAND);
	assert_non_null(strstr(outcome.text, "libpawl-pthread.so:/nonexistent.so"));
	free(outcome.text);
	outcome = run("%s run -- %s/preload_intercepted", COMMAND, PROGRAMS);
	assert_int_equal(outcome.status, 0);
	free(outcome.text);
	outcome = run("%s run 2>&1", COMMAND);
	assert_int_equal(WEXITSTATUS(outcome.status), 2);
	free(outcome.text);
}

/* Storage that is found by a call is allocated at the first one, or later still. */
static void finds_its_storage_by_itself(void **state)
{
	struct outcome outcome = run("nm -D --undefined-only %s", LIBRARY);

	(void)state;
	assert_int_equal(outcome.status, 0);
	assert_non_null(strstr(outcome.text, "mmap"));
	assert_null(strstr(outcome.text, "__tls_get_addr"));
	assert_null(strstr(outcome.text, "dlsym"));
	free(outcome.text);
}

static void list_names_reasons(void **state)
{
	struct outcome outcome = run("%s run --list", COMMAND);

	(void)state;
	assert_int_equal(outcome.status, 0);
	assert_non_null(strstr(outcome.text, "tidex"));
	assert_non_null(strstr(outcome.text, "no sound trylock"));
	assert_non_null(strstr(outcome.text, "only the thread that locked it"));
	free(outcome.text);
}

static void a_static_program_is_refused(void **state)
{
	static const char *const ways[] = {
		"%s run -- %s/preload_static 2>&1",
		"PATH=%2$s %1$s run -- preload_static 2>&1",
		"f=$(mktemp) && chmod +x $f && echo '#!%2$s/"
		"preload_static' >$f && %1$s run -- $f 2>&1; s=$?; "
		"rm $f; exit $s"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct outcome outcome = run(ways[i], COMMAND, PROGRAMS);

		assert_int_equal(WEXITSTATUS(outcome.status), 2);
		assert_int_equal(lines_of(outcome.text), 1);
		assert_non_null(
			strstr(outcome.text, "preload_static' is statically linked"));
		free(outcome.text);
	}
}

/* Every wake-up is somebody's: of a mutex or, as here, of a signal. */
static void waits_for_signals_are_counted(void **state)
{
	struct outcome outcome = run(
		"%s run --stats -- %s/preload_integrity pingpong 2>&1", COMMAND,
		PROGRAMS);
	const char *line = strstr(outcome.text, "waits for a signal ");
	unsigned long long waits = 0;

	(void)state;
	assert_int_equal(outcome.status, 0);
	assert_non_null(line);
	assert_int_equal(sscanf(line, "waits for a signal %llu", &waits), 1);
	assert_true(waits > 0);
	free(outcome.text);
}

static void statistics_add_up(void **state)
{
	struct outcome outcome = run("%s run --stats -- %s/preload_integrity many 2>&1",
				     COMMAND, PROGRAMS);
	unsigned long long acquisitions = 0, contended = 1;
	const char *line = strstr(outcome.text, "acquisitions");

	(void)state;
	assert_int_equal(outcome.status, 0);
	assert_non_null(line);
	assert_int_equal(sscanf(line, "acquisitions %llu, contended %llu", &acquisitions,
				&contended),
			 2);
	/* Two rounds of locking 1,025 mutexes twice. */
	assert_int_equal(acquisitions, 2 * 2 * 1025);
	assert_int_equal(contended, 0);
	assert_non_null(strstr(outcome.text,
			       "time lost: waiting for mutexes 0.000 ms, for read-write "
			       "locks 0.000 ms, for mutexes after a signal 0.000 ms\n"));
	free(outcome.text);

	outcome = run("f=$(mktemp) && PAWL_STATS=$f %s run -- %s/preload_integrity "
		      "exclusion && cat $f; rm $f",
		      COMMAND, PROGRAMS);
	assert_int_equal(outcome.status, 0);
	assert_non_null(strstr(outcome.text, "most contended mutexes:"));
	assert_non_null(strstr(outcome.text, "preload_integrity+0x"));
	free(outcome.text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest core[] = {
		cmocka_unit_test(every_function_is_ours),
		cmocka_unit_test(behaves_as_glibc_does),
		cmocka_unit_test(integrity_exclusion),
		cmocka_unit_test(integrity_pingpong),
		cmocka_unit_test(integrity_broadcast),
		cmocka_unit_test(integrity_forks),
		cmocka_unit_test(integrity_cancel),
		cmocka_unit_test(integrity_many),
		cmocka_unit_test(integrity_churn),
		cmocka_unit_test(integrity_stranger),
		cmocka_unit_test(integrity_farewell),
		cmocka_unit_test(integrity_depths),
		cmocka_unit_test(integrity_mixture),
		cmocka_unit_test(the_highest_rank_waits_for_the_lowest),
		cmocka_unit_test(the_highest_rank_is_served_first),
		cmocka_unit_test(nothing_allocates),
		cmocka_unit_test(newcomers_are_counted),
		cmocka_unit_test(a_signal_finds_no_wait_that_is_refused),
		cmocka_unit_test(a_jump_within_a_handler_leaves_no_wait),
	};
	const struct CMUnitTest rest[] = {
		cmocka_unit_test(so_is_the_cxx_library),
		cmocka_unit_test(so_are_old_versions),
		cmocka_unit_test(used_before_constructors_and_after_main),
		cmocka_unit_test(keys_are_as_without_us),
		cmocka_unit_test(early_keys_and_reads_slow_no_thread_down),
		cmocka_unit_test(integrity_fair),
		cmocka_unit_test(integrity_signals),
		cmocka_unit_test(integrity_timed),
		cmocka_unit_test(integrity_small),
		cmocka_unit_test(integrity_spins),
		cmocka_unit_test(integrity_exit),
		cmocka_unit_test(works_without_membarrier),
		cmocka_unit_test(filters_see_no_membarrier),
		cmocka_unit_test(a_plug_in_shares_mutexes),
		cmocka_unit_test(a_fork_may_come_at_any_step),
	};
	/* Queues that hand over cannot be left, and do not know who left. */
	const struct CMUnitTest default_only[] = {
		cmocka_unit_test(integrity_jumps),
		cmocka_unit_test(integrity_jumps_about),
		cmocka_unit_test(integrity_jumps_from_cond),
		cmocka_unit_test(integrity_cancels_at_once),
		cmocka_unit_test(integrity_forgotten),
	};
	const struct CMUnitTest any[] = {
		cmocka_unit_test(nothing_is_ours_without_us),
		cmocka_unit_test(a_wrong_lock_is_one_line_and_127),
		cmocka_unit_test(says_something_only_if_asked),
		cmocka_unit_test(run_becomes_the_program),
		cmocka_unit_test(finds_its_storage_by_itself),
		cmocka_unit_test(list_names_reasons),
		cmocka_unit_test(statistics_add_up),
		cmocka_unit_test(waits_for_signals_are_counted),
		cmocka_unit_test(a_static_program_is_refused),
	};
	int failures;

	unsetenv("PAWL_LOCK");
	unsetenv("PAWL_RWLOCK");
	unsetenv("PAWL_STATS");
	unsetenv("PAWL_VERBOSE");
	if (argc == 2 && strcmp(argv[1], "any") == 0)
		return cmocka_run_group_tests(any, NULL, NULL);
	if (argc == 2 && strcmp(argv[1], "rwlocks") == 0)
		return check_rwlocks();
	lock = argc == 3 ? lock_type_find(argv[1]) : NULL;
	if (lock == NULL) {
		fprintf(stderr, "usage: driver any | driver rwlocks | driver LOCK "
				"full|core|light\n");
		return 2;
	}
	if (offer_refusal(lock) != NULL) {
		printf("%s is not offered\n", lock->name);
		return 77;
	}
	effort = argv[2];
	failures = cmocka_run_group_tests_name(lock->name, core, NULL, NULL);
	if (strcmp(effort, "full") == 0)
		failures += cmocka_run_group_tests_name(lock->name, rest, NULL, NULL);
	if (strcmp(lock->name, OFFER_DEFAULT) == 0)
		failures += cmocka_run_group_tests_name(lock->name, default_only, NULL,
							NULL);
	return failures;
}
