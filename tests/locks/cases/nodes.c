/* SPDX-License-Identifier: MIT */
/*
 * Locks that know homes. In these tests there are two of them, or more: a crew's threads
 * are at each in turn.
 */
#include "cases.h"

#include <pawl/thread.h>

#include <string.h>

static unsigned homes = 2;

unsigned __wrap_pawl_numa_node_native_(void);

unsigned __wrap_pawl_numa_node_native_(void)
{
	return (unsigned)crew_number % homes;
}

enum { THREADS = 8, TURNS = 6, TURN = PAWL_NUMA_STREAK + 1, MANY = 4 };

/*
 * With waiters at both homes at all times, each has the lock for as long as it may, and
 * no longer: its waiters that came before those of the other one do not count. It may
 * be over sooner: who has come but is not yet linked cannot be found.
 */
static void nodes_take_turns(void **state)
{
	struct circulation c;
	size_t i, turns = 0, length = 0, longest = 0;
	int node = -1;

	(void)state;
	circulate(&c, THREADS, TURNS * TURN);
	for (i = 0; i < c.count; i++) {
		if (c.events[i].what != ENTERS)
			continue;
		if (c.events[i].who % 2 != node) {
			turns++;
			node = c.events[i].who % 2;
			length = 0;
		}
		if (++length > longest)
			longest = length;
	}
	print_message("%zu turns, of %zu entries at most\n", turns, longest);
	assert_in_range(longest, TURN, TURN + THREADS / 2);
	/* A lock that knows no homes changes hands hundreds of times. */
	assert_in_range(turns, TURNS - 1, 8 * TURNS);
	circulation_free(&c);
}

/* Of one home's threads none is left behind. */
static void neighbours_share_alike(void **state)
{
	struct circulation c;
	int i;

	(void)state;
	circulate(&c, 6, TURNS * TURN);
	for (i = 2; i < 6; i++)
		/* Added on the left: below 0, the range would wrap. */
		assert_in_range(c.entries[i] + TURNS, c.entries[i % 2],
				c.entries[i % 2] + 2 * TURNS);
	circulation_free(&c);
}

/*
 * Between two turns of a home each of the others has one. That follows from who has come,
 * however slow threads are, only if all come to the same queue: not in cohort, where the
 * first of a home comes to the lock above when it gets round to it.
 */
static void many_homes_take_turns(void **state)
{
	size_t i, turns = 0, length = 0, longest = 0, last[MANY] = {0};
	struct circulation c;
	int home = -1, other;

	(void)state;
	if (strcmp(under_test->base, "cna") != 0)
		skip_because("homes come to a lock of their own");
	homes = MANY;
	circulate(&c, 3 * MANY, TURNS * TURN);
	homes = 2;
	for (i = 0; i < c.count; i++) {
		if (c.events[i].what != ENTERS)
			continue;
		if (c.events[i].who % MANY != home) {
			home = c.events[i].who % MANY;
			turns++;
			for (other = 0; other < MANY && last[home] != 0; other++)
				assert_true(other == home || last[other] > last[home]);
			last[home] = turns;
			length = 0;
		}
		if (++length > longest)
			longest = length;
	}
	print_message("%zu turns, of %zu entries at most\n", turns, longest);
	assert_in_range(longest, 1, TURN + 3);
	circulation_free(&c);
}

const struct CMUnitTest node_cases[] = {
	cmocka_unit_test(nodes_take_turns),
	cmocka_unit_test(neighbours_share_alike),
	cmocka_unit_test(many_homes_take_turns),
};
const size_t node_case_count = COUNT_OF(node_cases);
