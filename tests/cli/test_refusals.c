/* SPDX-License-Identifier: MIT */
/* Bad input: every command, one line that names the remedy, exit 2. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void no_command_is_refused(void **state)
{
	(void)state;
	assert_refused("", "no command", "pawl --help");
}

static void unknown_command_names_the_nearest(void **state)
{
	(void)state;
	assert_refused("bensh", "'bensh'", "'bench'");
}

static void unknown_option_is_refused(void **state)
{
	(void)state;
	assert_refused("bench --lokcs ticket", "'--lokcs'; did you mean '--locks'?",
		       "pawl bench --help");
	assert_refused("bench --thread=3", "'--thread'; did you mean '--threads'?",
		       "pawl bench --help");
	assert_refused("run --lokc mutex true", "did you mean '--lock'?",
		       "pawl run --help");
	assert_refused("list -json", "did you mean '--json'?", "pawl list --help");
	assert_refused("list -x", "-x", "pawl list --help");
}

static void stray_argument_is_refused(void **state)
{
	(void)state;
	assert_refused("bench ticket", "'ticket'", "pawl bench --help");
}

static void unknown_lock_names_the_nearest(void **state)
{
	(void)state;
	assert_refused("bench --locks tikcet", "'tikcet'", "'ticket'");
	assert_refused("bench --locks ticket,hapx", "'hapx'", "'hapax'");
	assert_refused("bench --locks zzzzzzzzzz", "'zzzzzzzzzz'", "pawl list");
}

static void lock_of_another_command_is_refused_by_what_takes_it(void **state)
{
	(void)state;
	assert_refused("run --lock pthread true", "'pthread'", "for 'pawl bench' only");
#ifdef PAWL_SIM
	assert_refused("bench --locks cond", "'cond' is not a lock",
		       "for 'pawl check' only");
#endif
}

static void empty_lock_name_is_refused(void **state)
{
	(void)state;
	assert_refused("bench --locks ticket,,mcs", "--locks", "a,b,c");
	assert_refused("bench --locks ''", "--locks", "a,b,c");
}

static void zero_threads_are_refused(void **state)
{
	(void)state;
	assert_refused("bench --threads 0", "--threads: '0'", "from 1");
	assert_refused("bench --threads 1,0", "--threads: '0'", "from 1");
}

static void negative_counts_are_refused(void **state)
{
	(void)state;
	assert_refused("bench --threads -1", "--threads: '-1'", "from 1");
	assert_refused("bench --runs -3", "--runs: '-3'", "from 1");
	assert_refused("bench --cs -1", "--cs: '-1'", "from 1");
	assert_refused("bench --ncs -1", "--ncs: '-1'", "from 0");
	assert_refused("bench --seed -1", "--seed: '-1'", "from 0");
}

static void garbage_numbers_are_refused(void **state)
{
	(void)state;
	assert_refused("bench --threads two", "--threads: 'two'", "whole number");
	assert_refused("bench --threads 1x", "--threads: '1x'", "whole number");
	assert_refused("bench --runs 1.5", "--runs: '1.5'", "whole number");
	assert_refused("bench --runs ''", "--runs: ''", "whole number");
	assert_refused("bench --cs 99999999999999999999", "--cs", "whole number");
}

static void impossible_seconds_are_refused(void **state)
{
	(void)state;
	assert_refused("bench --seconds 0", "--seconds: '0'", "above 0");
	assert_refused("bench --seconds -1", "--seconds: '-1'", "above 0");
	assert_refused("bench --seconds nan", "--seconds: 'nan'", "above 0");
	assert_refused("bench --seconds inf", "--seconds: 'inf'", "above 0");
	assert_refused("bench --seconds 1s", "--seconds: '1s'", "above 0");
}

static void too_many_threads_are_refused(void **state)
{
	(void)state;
	assert_refused("bench --threads 1000000", "--threads", "fewer");
}

static void missing_value_is_refused(void **state)
{
	(void)state;
	assert_refused("bench --threads", "--threads needs a value", "--threads N,M");
	assert_refused("bench --json --quick", "--json needs a value", "--json FILE");
}

static void value_for_a_flag_is_refused(void **state)
{
	(void)state;
	assert_refused("bench --quick=yes", "--quick", "no value");
}

static void unwritable_json_file_is_refused_before_measuring(void **state)
{
	(void)state;
	assert_refused("bench --json missing/result.json", "missing/result.json",
		       "directory");
	assert_refused("bench --json .", "'.'", "directory");
}

static void json_and_markdown_exclude_each_other(void **state)
{
	(void)state;
	assert_refused("list --json --markdown", "--json", "choose one");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_command_is_refused),
		cmocka_unit_test(unknown_command_names_the_nearest),
		cmocka_unit_test(unknown_option_is_refused),
		cmocka_unit_test(stray_argument_is_refused),
		cmocka_unit_test(unknown_lock_names_the_nearest),
		cmocka_unit_test(lock_of_another_command_is_refused_by_what_takes_it),
		cmocka_unit_test(empty_lock_name_is_refused),
		cmocka_unit_test(zero_threads_are_refused),
		cmocka_unit_test(negative_counts_are_refused),
		cmocka_unit_test(garbage_numbers_are_refused),
		cmocka_unit_test(impossible_seconds_are_refused),
		cmocka_unit_test(too_many_threads_are_refused),
		cmocka_unit_test(missing_value_is_refused),
		cmocka_unit_test(value_for_a_flag_is_refused),
		cmocka_unit_test(unwritable_json_file_is_refused_before_measuring),
		cmocka_unit_test(json_and_markdown_exclude_each_other),
	};

	if (!find_command(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
