/* SPDX-License-Identifier: MIT */
/*
 * Long-run shares of the reciprocating locks. When every thread that leaves is
 * back before the next one leaves, the plain lock settles into a schedule that
 * runs up and down the threads, and those at its ends get half of what the
 * others get (Reciprocating paper, section 9). The fair lock does not. Coins
 * are seeded alike in every run, so the result is always the same.
 */
#include "cases.h"

enum { THREADS = 5, PERIOD = 2 * (THREADS - 1) };

static size_t entries_of(const struct circulation *c, int *who, size_t room)
{
	size_t n = 0, i;

	for (i = 0; i < c->count && n < room; i++)
		if (c->events[i].what == ENTERS)
			who[n++] = c->events[i].who;
	return n;
}

static void schedule_is_palindromic(void **state)
{
	struct circulation c;
	int who[256], turn = -1;
	size_t n, i;

	(void)state;
	circulate(&c, THREADS, 10 * PERIOD);
	n = entries_of(&c, who, 10 * PERIOD);
	for (i = PERIOD; i + PERIOD < n; i++)
		assert_int_equal(who[i], who[i + PERIOD]);
	/* From an end the schedule reads the same in both directions. */
	for (i = PERIOD; i < 2 * PERIOD && turn < 0; i++)
		if (who[i - 1] == who[i + 1])
			turn = (int)i;
	assert_true(turn >= 0);
	for (i = 1; i < THREADS; i++)
		assert_int_equal(who[(size_t)turn - i], who[(size_t)turn + i]);
	circulation_free(&c);
}

/* Smallest and largest number of entries of a thread. */
static void extremes(const struct circulation *c, unsigned *least, unsigned *most)
{
	int i;

	*least = *most = c->entries[0];
	for (i = 1; i < c->threads; i++) {
		if (c->entries[i] < *least)
			*least = c->entries[i];
		if (c->entries[i] > *most)
			*most = c->entries[i];
	}
}

static void shares_differ_two_to_one(void **state)
{
	struct circulation c;
	unsigned least, most;

	(void)state;
	circulate(&c, THREADS, 40 * PERIOD);
	extremes(&c, &least, &most);
	assert_in_range(least, 39, 42);
	assert_in_range(most, 78, 82);
	circulation_free(&c);
}

static void shares_are_even(void **state)
{
	struct circulation c;
	unsigned least, most;

	(void)state;
	circulate(&c, THREADS, 1000);
	extremes(&c, &least, &most);
	print_message("shares of 1000 entries: least %u, most %u\n", least, most);
	assert_true(most * 4 <= least * 5);
	circulation_free(&c);
}

/* Stepping aside reorders a segment; it does not let anybody in twice. */
static void bypass_stays_bounded(void **state)
{
	struct circulation c;

	(void)state;
	circulate(&c, 8, 400);
	assert_in_range(worst_bypass(&c), 0, 1);
	circulation_free(&c);
}

const struct CMUnitTest palindrome_cases[] = {
	cmocka_unit_test(schedule_is_palindromic),
	cmocka_unit_test(shares_differ_two_to_one),
};
const size_t palindrome_case_count = COUNT_OF(palindrome_cases);

const struct CMUnitTest even_shares_cases[] = {
	cmocka_unit_test(shares_are_even),
	cmocka_unit_test(bypass_stays_bounded),
};
const size_t even_shares_case_count = COUNT_OF(even_shares_cases);
