/* SPDX-License-Identifier: MIT */
/*
 * Locks that know NUMA nodes. In these tests there are two: a crew's threads with an
 * even number are on one, those with an odd number on the other.
 */
#include "cases.h"

#include <pawl/thread.h>

unsigned __wrap_pawl_numa_node_native_(void);

unsigned __wrap_pawl_numa_node_native_(void)
{
	return (unsigned)crew_number % 2;
}

enum { THREADS = 8, TURNS = 6, TURN = PAWL_NUMA_STREAK + 1 };

/*
 * With waiters on both nodes at all times, each has the lock for as long as it may, and
 * no longer: its waiters that came before those of the other node do not count. It may
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
	/* A lock that knows no nodes changes hands hundreds of times. */
	assert_in_range(turns, TURNS - 1, 8 * TURNS);
	circulation_free(&c);
}

/* Of one node's threads none is left behind. */
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

const struct CMUnitTest node_cases[] = {
	cmocka_unit_test(nodes_take_turns),
	cmocka_unit_test(neighbours_share_alike),
};
const size_t node_case_count = COUNT_OF(node_cases);
