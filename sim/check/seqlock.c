/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of pawl/seqlock.h: a record of two words that are always written
 * alike. Part of the simulated world, like scenario.c.
 */
#include "outside.h"

#include <pawl/seqlock.h>

struct pair {
	uint64_t left, right; /* number of the write: equal, and 1 or more */
};

static struct record {
	struct pawl_seqlock seq;
	pawl_atomic64 words[2];
	uint64_t told[4]; /* plain: written before write n began */
} * record;

static void set_up(void *argument)
{
	(void)argument;
	record = explore_allocate(sizeof(*record), 128);
	explore_label(record, "record");
}

static bool write_pair(uint64_t number)
{
	struct pair pair = {number, number};

	record->told[number] = 1;
	return pawl_seqlock_write_as_(&record->seq, record->words, &pair, sizeof(pair),
				      PAWL_SPIN);
}

static void examine(const struct pair *pair)
{
	if (pair->left != pair->right)
		explore_fail(VERDICT_ASSERTION, "torn read: %llu and %llu",
			     (unsigned long long)pair->left,
			     (unsigned long long)pair->right);
	/* A race, unless the write happened before the read. */
	if (pair->left != 0 && record->told[pair->left] != 1)
		explore_fail(VERDICT_ASSERTION, "a write is seen before its time");
}

static uint64_t read_pair(void)
{
	struct pair pair;

	pawl_seqlock_read_as_(&record->seq, record->words, &pair, sizeof(pair),
			      PAWL_SPIN);
	examine(&pair);
	return pair.left;
}

static void try_pair(void)
{
	struct pair pair;

	if (pawl_seqlock_try_read(&record->seq, record->words, &pair, sizeof(pair)))
		examine(&pair);
}

/* snapshot: one writes twice, others read until they have a copy. */
static void snapshot_thread(void *argument, int thread)
{
	(void)argument;
	if (thread > 0) {
		read_pair();
		return;
	}
	if (!write_pair(1) || !write_pair(2))
		explore_fail(VERDICT_ASSERTION, "a write that is alone was refused");
}

/* later: a reader never goes back to an older write. */
static void later_thread(void *argument, int thread)
{
	if (thread == 0) {
		snapshot_thread(argument, thread);
	} else {
		uint64_t before = read_pair();

		if (read_pair() < before)
			explore_fail(VERDICT_ASSERTION, "the second read is older");
	}
}

/* writers: two write at once, or one after the other; one looks once. */
static void writers_thread(void *argument, int thread)
{
	(void)argument;
	if (thread == 2)
		try_pair();
	else
		write_pair((uint64_t)thread + 1);
}

/* asleep: readers sleep while somebody writes, as the functions without `as` do. */
static void asleep_thread(void *argument, int thread)
{
	struct pair pair = {1, 1};

	(void)argument;
	if (thread > 0) {
		pawl_seqlock_read(&record->seq, record->words, &pair, sizeof(pair));
		examine(&pair);
		return;
	}
	record->told[1] = 1;
	if (!pawl_seqlock_write(&record->seq, record->words, &pair, sizeof(pair)))
		explore_fail(VERDICT_ASSERTION, "a write that is alone was refused");
}

/* Whatever happened, the record is at rest, and holds what one write left. */
static void at_rest(void *argument)
{
	uint64_t left = explore_final(&record->words[0].raw);

	(void)argument;
	if (explore_final(&record->seq.first.raw) != explore_final(&record->seq.last.raw))
		explore_fail(VERDICT_ASSERTION, "the record is not at rest at the end");
	if (left == 0 || left != explore_final(&record->words[1].raw))
		explore_fail(VERDICT_ASSERTION, "the record is a mixture at the end");
}

const struct lock_type seqlock_types[] = {
	{.name = "seqlock", .base = "seqlock", .header = "pawl/seqlock.h"},
	{.name = NULL},
};

const struct scenario seqlock_scenarios[] = {
	{"snapshot", "two writes, one after the other, and two readers", 3, 3, 1, 1,
	 always, passes, set_up, snapshot_thread, at_rest, 0, false, false},
	{"later", "two writes, and two reads by one reader", 2, 2, 1, 1, always, passes,
	 set_up, later_thread, at_rest, 0, false, false},
	{"writers", "two writers at once, and a reader", 3, 3, 1, 1, always, passes,
	 set_up, writers_thread, at_rest, 0, false, false},
	{"asleep", "one writes, and who reads meanwhile sleeps", 2, 2, 1, 1, always,
	 passes, set_up, asleep_thread, at_rest},
	{"asleep-refused", "the same where membarrier is refused", 2, 2, 1, 1, always,
	 passes, set_up, asleep_thread, at_rest, .without_membarrier = true},
	{"two-asleep", "one writes, and two sleep", 3, 3, 1, 1, always, passes, set_up,
	 asleep_thread, at_rest},
	{.name = NULL},
};
