/* SPDX-License-Identifier: MIT */
/* The command as a whole: its path is argv[1]; each test runs it in a directory
 * of its own. */
#include "cli.h"

#include "registry/registry.h"
#include "subject.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Help. */

static void help_names_every_command(void **state)
{
	(void)state;
	run("--help");
	assert_succeeded();
	assert_contains(outcome.out, "list");
	assert_contains(outcome.out, "bench");
}

static void help_for_a_command_is_its_help_option(void **state)
{
	static struct outcome first;

	(void)state;
	run("help bench");
	assert_succeeded();
	first = outcome;
	run("bench --threads 1 --help");
	assert_succeeded();
	assert_string_equal(first.out, outcome.out);
	assert_contains(outcome.out, "--dry-run");
}

static void version_is_printed(void **state)
{
	(void)state;
	run("--version");
	assert_succeeded();
	assert_int_equal(strncmp(outcome.out, "pawl ", 5), 0);
}

static void standard_output_that_cannot_be_written_is_an_error(void **state)
{
	char command[512];
	int status;

	(void)state;
	snprintf(command, sizeof(command), "'%s' list >/dev/full 2>err", pawl);
	status = system(command);
	read_file("err", outcome.err, sizeof(outcome.err));
	unlink("err");
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_contains(outcome.err, "standard output");
}

static void json_file_that_cannot_be_completed_is_an_error(void **state)
{
	(void)state;
	run("bench " TINY "--json /dev/full");
	assert_int_equal(outcome.status, 1);
	assert_contains(outcome.err, "/dev/full");
	assert_directory_is_empty();
}

/* list. */

static void list_names_every_lock(void **state)
{
	const struct lock_type *type;

	(void)state;
	run("list");
	assert_succeeded();
	for (type = lock_types; type->name != NULL; type++)
		assert_contains(outcome.out, type->base);
}

/* Whatever bench can be asked for is on the list. */
static void list_names_every_subject_of_bench(void **state)
{
	const struct bench_subject *const *s;
	static struct outcome list;

	(void)state;
	run("list");
	assert_succeeded();
	list = outcome;
	for (s = bench_subjects; *s != NULL; s++) {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn((*s)->name, "+"),
			 (*s)->name);
		assert_contains(list.out, name);
	}
	assert_contains(list.out, "pthread-adaptive");
}

/* "commands" says the truth: each command is asked. */
static void list_json_says_which_command_takes_a_lock(void **state)
{
	static const struct {
		const char *command, *arguments;
	} commands[] = {
		{"bench", "bench --dry-run --locks %s"},
		{"run", "run --lock %s true"},
#ifdef PAWL_SIM
		{"sim", "sim --threads 1 --episodes 1 --runs 1 --locks %s"},
#endif
	};
	json_t *root, *lock, *name;
	size_t i, j, c;

	(void)state;
	run("list --json");
	root = json_loads(outcome.out, 0, NULL);
	assert_non_null(root);
	assert_true(json_array_size(json_object_get(root, "peers")) >= 2);
	json_array_foreach(json_object_get(root, "locks"), i, lock)
	{
		for (c = 0; c < sizeof(commands) / sizeof(commands[0]); c++) {
			char arguments[128];
			bool listed = false;

			json_array_foreach(json_object_get(lock, "commands"), j, name)
				listed |= strcmp(json_string_value(name),
						 commands[c].command) == 0;
			snprintf(arguments, sizeof(arguments), commands[c].arguments,
				 json_string_value(json_object_get(lock, "name")));
			if (strcmp(commands[c].command, "run") == 0 && listed)
				continue; /* sanitized builds have no interposer */
			run(arguments);
			assert_int_equal(outcome.status, listed ? 0 : 2);
		}
	}
	json_decref(root);
}

static void list_json_has_every_lock_as_the_registry_has_it(void **state)
{
	const struct lock_type *type;
	json_t *root, *locks;
	size_t i = 0;

	(void)state;
	run("list --json");
	assert_succeeded();
	root = json_loads(outcome.out, 0, NULL);
	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "schema")), 1);
	locks = json_object_get(root, "locks");
	for (type = lock_types; type->name != NULL; type++) {
		json_t *lock = json_array_get(locks, i++);

		assert_string_equal(json_string_value(json_object_get(lock, "name")),
				    type->name);
		assert_int_equal(json_integer_value(json_object_get(lock, "size")),
				 type->size);
		assert_int_equal(json_is_true(json_object_get(lock, "fifo")),
				 type->admission == ADMISSION_FIFO);
		assert_int_equal(json_is_true(json_object_get(lock, "trylock")),
				 type->trylock != NULL);
	}
	assert_int_equal(json_array_size(locks), i);
	json_decref(root);
}

static void list_markdown_has_a_row_for_each_lock(void **state)
{
	const struct lock_type *type;
	size_t rows = 0, locks = 0;
	const char *c;

	(void)state;
	run("list --markdown");
	assert_succeeded();
	for (c = outcome.out; *c != '\0'; c++)
		rows += *c == '\n';
	for (type = lock_types; type->name != NULL; type++)
		locks += strcmp(type->name, type->base) == 0;
	assert_int_equal(rows, locks + 2);
}

/* bench. */

static void dry_run_measures_and_writes_nothing(void **state)
{
	(void)state;
	run("bench --threads 1,3 --locks mcs,pthread --seconds 1000 --json r.json "
	    "--dry-run");
	assert_succeeded();
	assert_contains(outcome.out, "locks: mcs pthread\n");
	assert_contains(outcome.out, "threads: 1 3\n");
	assert_directory_is_empty();
}

static void dry_run_still_checks_everything(void **state)
{
	(void)state;
	assert_refused("bench --dry-run --json missing/r.json", "missing", "directory");
}

static void repeated_items_count_once(void **state)
{
	(void)state;
	run("bench --dry-run --threads 2,1,2 --locks mcs,tas,mcs");
	assert_succeeded();
	assert_contains(outcome.out, "locks: mcs tas\n");
	assert_contains(outcome.out, "threads: 2 1\n");
}

static void default_locks_are_all_and_pthread(void **state)
{
	const struct lock_type *type;

	(void)state;
	run("bench --dry-run --quick");
	assert_succeeded();
	for (type = lock_types; type->name != NULL; type++)
		assert_contains(outcome.out, type->base);
	assert_null(strstr(outcome.out, "+park"));
	assert_contains(outcome.out, " pthread\n");
}

static void ranking_ends_in_a_sentence_with_its_error(void **state)
{
	const char *last;

	(void)state;
	run("bench " TINY);
	assert_succeeded();
	assert_contains(outcome.out, "mutex, 1 thread\n");
	assert_contains(outcome.out, "mutex, 2 threads\n");
	outcome.out[strlen(outcome.out) - 1] = '\0';
	last = strrchr(outcome.out, '\n') + 1;
	assert_int_equal(
		strncmp(last, "mutex, 2 threads: ", strlen("mutex, 2 threads: ")), 0);
	assert_contains(last, "(75 % confidence)");
	assert_contains(outcome.out, "times pthread");
}

static void workload_help_names_every_workload_with_its_source(void **state)
{
	(void)state;
	run("bench --workload help");
	assert_succeeded();
	assert_contains(outcome.out, "mutex ");
	assert_contains(outcome.out, "Reciprocating paper 7.1");
	assert_contains(outcome.out, "ring ");
}

static void workload_with_variants_runs_on_these(void **state)
{
	(void)state;
	run("bench --workload ring --dry-run");
	assert_succeeded();
	assert_contains(outcome.out, "locks: load cas exchange fetch-add\n");
	assert_refused("bench --workload ring --locks ticket",
		       "'ticket' is not a subject", "--dry-run");
	assert_refused("bench --workload ring --locks fetchadd", "'fetchadd'",
		       "'fetch-add'");
}

/* Of several workloads, one that can do nothing of what was asked is left out. */
static void workload_without_lock_or_threads_is_left_out_with_a_warning(void **state)
{
	(void)state;
	run("bench --workload mutex,ring,multiwait --locks ticket --threads 1 --dry-run");
	assert_succeeded();
	assert_contains(outcome.out, "workload mutex");
	assert_null(strstr(outcome.out, "workload ring"));
	assert_contains(outcome.err, "ring: skipped");
	assert_contains(outcome.err, "multiwait: skipped");
	assert_contains(outcome.err, "--threads");
	run("bench --workload ring --threads 1 --dry-run");
	assert_int_equal(outcome.status, 2);
	assert_contains(outcome.err, "nothing left to measure");
}

static void unknown_workload_names_the_nearest(void **state)
{
	(void)state;
	assert_refused("bench --workload mutx", "'mutx'", "'mutex'");
	assert_refused("bench --workload zzzzzzzzzz", "'zzzzzzzzzz'", "--workload help");
	assert_refused("bench --workload ''", "--workload", "a,b,c");
}

static void more_threads_than_cpus_draw_a_warning(void **state)
{
	(void)state;
	run("bench --dry-run --threads 9999");
	assert_succeeded();
	assert_contains(outcome.err, "warning");
	assert_contains(outcome.err, "--threads");
}

static double number(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	assert_true(json_is_number(value));
	return json_number_value(value);
}

static const char *string(json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	assert_non_null(value);
	return value;
}

static json_t *load_result(void)
{
	json_t *root = json_load_file("r.json", 0, NULL);

	assert_non_null(root);
	unlink("r.json");
	assert_directory_is_empty();
	assert_int_equal((int)number(root, "schema"), 1);
	assert_string_equal(string(root, "tool"), "bench");
	return root;
}

static void json_has_context_and_every_sample(void **state)
{
	static const char *const texts[] = {"machine", "cpu", "kernel", "compiler",
					    "date"};
	json_t *root, *context, *results, *result, *sample;
	size_t i, j;

	(void)state;
	run("bench " TINY "--cs 2 --ncs 5 --seed 7 --json r.json");
	assert_succeeded();
	root = load_result();
	context = json_object_get(root, "context");
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		string(context, texts[i]);
	assert_true(number(context, "cpus") >= 1);
	assert_int_equal((int)number(context, "seed"), 7);
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(context, "command"), 1)),
		"bench");
	results = json_object_get(root, "results");
	assert_int_equal(json_array_size(results), 4);
	json_array_foreach(results, i, result)
	{
		json_t *samples = json_object_get(result, "samples");
		double median = number(result, "median_ops_per_s"), least = 1e300,
		       most = 0;

		assert_string_equal(string(result, "workload"), "mutex");
		assert_string_equal(string(result, "lock"),
				    i % 2 == 0 ? "ticket" : "pthread");
		assert_int_equal((int)number(result, "threads"), i < 2 ? 1 : 2);
		assert_int_equal((int)number(result, "cs"), 2);
		assert_int_equal((int)number(result, "ncs"), 5);
		/* 0: one of two threads may have got no CPU in so short a run. */
		assert_true(number(result, "fairness") >= 0 &&
			    number(result, "fairness") <= 1);
		assert_int_equal(json_array_size(samples), 3);
		json_array_foreach(samples, j, sample)
		{
			double value = json_number_value(sample);

			assert_true(value > 0);
			least = value < least ? value : least;
			most = value > most ? value : most;
		}
		/* The file keeps 12 digits. */
		assert_true(median >= least * 0.999999 && median <= most * 1.000001);
	}
	json_decref(root);
}

static void json_replaces_an_older_file(void **state)
{
	FILE *old = fopen("r.json", "w");

	(void)state;
	assert_non_null(old);
	fputs("old", old);
	fclose(old);
	run("bench " TINY "--json r.json");
	assert_succeeded();
	json_decref(load_result());
}

/* JSON and nothing else; the tables go to stderr. */
#ifdef PAWL_SIM
static void what_does_not_end_is_played_by_states(void **state)
{
	(void)state;
	run("check mutex --threads 3 --scenario sections --model sc");
	assert_succeeded();
	assert_contains(outcome.err, "checked by states, as any-three");
	assert_contains(outcome.out, "any-three");
}
#endif

static void json_to_a_dash_is_standard_output_alone(void **state)
{
	static const char *const commands[] = {
		"list --json -",
		"list --json",
		"bench " TINY "--json -",
#ifdef PAWL_SIM
		"sim --threads 1 --episodes 10 --locks ticket,tas --json -",
		"check ticket --json -",
#endif
#ifndef PAWL_SANITIZED
		"try --runs 1 --locks mutex --json - -- true",
#endif
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		json_t *root;

		run(commands[i]);
		assert_succeeded();
		root = json_loads(outcome.out, 0, NULL);
		if (root == NULL)
			fail_msg("'%s' prints no JSON: %s", commands[i], outcome.out);
		assert_int_equal(json_integer_value(json_object_get(root, "schema")), 1);
		json_decref(root);
		if (i > 1) /* list prints nothing else */
			assert_contains(outcome.err, "lock ");
		assert_directory_is_empty();
	}
}

static void list_writes_json_to_a_file(void **state)
{
	json_t *root;

	(void)state;
	run("list --json r.json");
	assert_succeeded();
	assert_string_equal(outcome.out, "");
	root = json_load_file("r.json", 0, NULL);
	unlink("r.json");
	assert_true(json_array_size(json_object_get(root, "locks")) > 0);
	json_decref(root);
}

static void options_take_their_value_after_an_equals_sign_too(void **state)
{
	(void)state;
	run("bench --locks=tas --threads=1 --dry-run");
	assert_succeeded();
	assert_contains(outcome.out, "locks: tas\n");
}

static void interrupt_reports_and_writes_what_there_is(void **state)
{
	json_t *root;

	(void)state;
	run_interrupted("bench --locks ticket --threads 1 --seconds 0.05 --runs 100000 "
			"--json r.json",
			1);
	assert_int_equal(outcome.status, 130);
	assert_contains(outcome.out, "ticket");
	assert_contains(outcome.err, "interrupted");
	root = load_result();
	assert_int_equal(json_array_size(json_object_get(root, "results")), 1);
	json_decref(root);
}

static void interrupt_before_the_first_sample_writes_nothing(void **state)
{
	(void)state;
	run_interrupted("bench --locks ticket --threads 1 --seconds 1000 --json r.json",
			1);
	assert_int_equal(outcome.status, 130);
	assert_string_equal(outcome.out, "");
	assert_directory_is_empty();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(help_names_every_command),
		cmocka_unit_test(help_for_a_command_is_its_help_option),
		cmocka_unit_test(version_is_printed),
		cmocka_unit_test(standard_output_that_cannot_be_written_is_an_error),
		cmocka_unit_test(json_file_that_cannot_be_completed_is_an_error),
		cmocka_unit_test(list_names_every_lock),
		cmocka_unit_test(list_names_every_subject_of_bench),
		cmocka_unit_test(list_json_says_which_command_takes_a_lock),
		cmocka_unit_test(list_json_has_every_lock_as_the_registry_has_it),
		cmocka_unit_test(list_markdown_has_a_row_for_each_lock),
		cmocka_unit_test(dry_run_measures_and_writes_nothing),
		cmocka_unit_test(dry_run_still_checks_everything),
#ifdef PAWL_SIM
		cmocka_unit_test(what_does_not_end_is_played_by_states),
#endif
		cmocka_unit_test(repeated_items_count_once),
		cmocka_unit_test(default_locks_are_all_and_pthread),
		cmocka_unit_test(ranking_ends_in_a_sentence_with_its_error),
		cmocka_unit_test(workload_help_names_every_workload_with_its_source),
		cmocka_unit_test(workload_with_variants_runs_on_these),
		cmocka_unit_test(
			workload_without_lock_or_threads_is_left_out_with_a_warning),
		cmocka_unit_test(unknown_workload_names_the_nearest),
		cmocka_unit_test(more_threads_than_cpus_draw_a_warning),
		cmocka_unit_test(json_has_context_and_every_sample),
		cmocka_unit_test(json_replaces_an_older_file),
		cmocka_unit_test(json_to_a_dash_is_standard_output_alone),
		cmocka_unit_test(list_writes_json_to_a_file),
		cmocka_unit_test(options_take_their_value_after_an_equals_sign_too),
		cmocka_unit_test(interrupt_reports_and_writes_what_there_is),
		cmocka_unit_test(interrupt_before_the_first_sample_writes_nothing),
	};

	if (!find_command(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
