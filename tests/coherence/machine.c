/* SPDX-License-Identifier: MIT */
/* Machine files: those built in can be read, and what is wrong is named. */
#include <sim/coherence/machine.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void machines_built_in_have_their_cpus(void **state)
{
	static const struct {
		const char *name;
		unsigned cpus;
	} expected[] = {{"altra-128", 128},
			{"epyc-512", 512},
			{"intel-8375c", 128},
			{"intel-x5-2", 72}};
	char error[256];
	struct machine m;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_string_equal(machine_names[i], expected[i].name);
		assert_true(machine_load(&m, expected[i].name, error, sizeof(error)));
		assert_int_equal(machine_cpus(&m), expected[i].cpus);
		assert_true(m.hit < m.cluster && m.cluster <= m.socket &&
			    m.socket <= m.remote);
	}
	assert_null(machine_names[i]);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"", "sockets is missing"},
		{"sockets 2", "not \"key = value\""},
		{"speed = 2", "no key \"speed\""},
		{"sockets = two", "sockets = \"two\""},
		{"sockets = 0", "sockets = \"0\""},
		{"sockets = 1.5", "sockets = \"1.5\""},
		{"sockets = 99", "sockets = \"99\""},
		{"hit = -1", "hit = \"-1\""},
		{"hit = nan", "hit = \"nan\""},
		{"hit = 1e99", "hit = \"1e99\""},
		{"protocol = msi", "mesi, moesi or mesif"},
		{"home = -1", "or 0"},
		{"buffer = 65", "or 0"},
		{"poll = 0", "a time in nanoseconds"},
		{"sockets = 1\nsockets = 1", "given twice"},
	};
	char error[256];
	struct machine m;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_false(machine_parse(&m, "m", cases[i].text, error, sizeof(error)));
		if (strstr(error, cases[i].error) == NULL)
			fail_msg("'%s' gives '%s'", cases[i].text, error);
	}
	assert_false(machine_load(&m, "/nowhere", error, sizeof(error)));
	assert_non_null(strstr(error, "--list-machines"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_built_in_have_their_cpus),
		cmocka_unit_test(what_is_wrong_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
