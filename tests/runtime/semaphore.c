/* SPDX-License-Identifier: MIT */
/* The binary semaphore: one unit, posted once for each time it is taken. */
#define _GNU_SOURCE
#include "harness/harness.h"

#include <pawl/semaphore.h>

#include <stdlib.h>

static const enum pawl_wait ways[] = {PAWL_SPIN, PAWL_PARK};

static void unit_is_taken_and_posted_once(void **state)
{
	struct pawl_semaphore s = PAWL_SEMAPHORE_INIT;

	(void)state;
	assert_int_equal(sizeof(s), 24);
	assert_int_equal(pawl_semaphore_post(&s), EOVERFLOW);
	assert_true(pawl_semaphore_trywait(&s));
	assert_false(pawl_semaphore_trywait(&s));
	assert_int_equal(pawl_semaphore_post(&s), 0);
	assert_int_equal(pawl_semaphore_post(&s), EOVERFLOW);
	pawl_semaphore_wait(&s);
	assert_int_equal(pawl_semaphore_post(&s), 0);
	assert_true(pawl_semaphore_trywait(&s));
}

static void timed_wait_gives_up(void **state)
{
	struct pawl_semaphore s = PAWL_SEMAPHORE_INIT;
	size_t k;

	(void)state;
	pawl_semaphore_wait(&s);
	for (k = 0; k < COUNT_OF(ways); k++) {
		struct timespec then = in_ms(CLOCK_REALTIME, 5);

		assert_int_equal(
			pawl_semaphore_timedwait_as_(&s, ways[k], CLOCK_REALTIME, &then),
			ETIMEDOUT);
		then.tv_nsec = 1000000000;
		assert_int_equal(
			pawl_semaphore_timedwait_as_(&s, ways[k], CLOCK_REALTIME, &then),
			EINVAL);
	}
	assert_int_equal(pawl_semaphore_post(&s), 0);
	assert_int_equal(pawl_semaphore_post(&s), EOVERFLOW);
	assert_int_equal(pawl_semaphore_timedwait(&s, CLOCK_REALTIME,
						  &(struct timespec){.tv_sec = 1}),
			 0);
	assert_int_equal(pawl_semaphore_post(&s), 0);
}

/* Two threads play ping-pong: each posts what the other waits for. */
enum { ROUNDS = 500 };

struct table {
	struct pawl_semaphore ball[2];
	enum pawl_wait how;
	int ball_count; /* by whose turn it is */
	int refused;
};

static void *play(void *argument)
{
	struct table *table = argument;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		pawl_semaphore_wait_as_(&table->ball[1], table->how);
		table->ball_count++;
		table->refused += pawl_semaphore_post_as_(&table->ball[0], table->how) !=
				  0;
	}
	return NULL;
}

static void others_post_what_one_waits_for(void **state)
{
	size_t k;
	int i;

	(void)state;
	for (k = 0; k < COUNT_OF(ways); k++) {
		struct table table = {.how = ways[k]};
		struct crew crew = {.size = 0};

		assert_true(pawl_semaphore_trywait(&table.ball[1]));
		crew_start(&crew, play, &table);
		for (i = 0; i < ROUNDS; i++) {
			pawl_semaphore_wait_as_(&table.ball[0], table.how);
			assert_int_equal(table.ball_count, i);
			assert_int_equal(
				pawl_semaphore_post_as_(&table.ball[1], table.how), 0);
		}
		crew_join(&crew);
		assert_int_equal(table.ball_count, ROUNDS);
		assert_int_equal(table.refused, 0);
	}
}

/* Everybody takes the unit, by all means, and posts it. */
enum { THREADS = 8, TURNS = 1000 };

struct crowd {
	struct pawl_semaphore s;
	enum pawl_wait how;
	uint64_t inside; /* by whoever has the unit */
	pawl_atomic64 taken, posted;
};

static void *take_turns(void *argument)
{
	struct crowd *crowd = argument;
	unsigned dice = (unsigned)pawl_address(pawl_self()) >> 6;
	uint64_t taken = 0, posted = 0;
	int i;

	for (i = 0; i < TURNS; i++) {
		struct timespec then = in_ms(CLOCK_MONOTONIC, 0);

		dice = dice * 1103515245u + 12345u;
		if (dice >> 30 == 0) {
			if (!pawl_semaphore_trywait(&crowd->s))
				continue;
		} else if (dice >> 30 == 1) {
			if (pawl_semaphore_timedwait_as_(&crowd->s, crowd->how,
							 CLOCK_MONOTONIC, &then) != 0)
				continue;
		} else {
			pawl_semaphore_wait_as_(&crowd->s, crowd->how);
		}
		taken++;
		crowd->inside++;
		posted += pawl_semaphore_post_as_(&crowd->s, crowd->how) == 0;
	}
	pawl_fetch_add_relaxed(&crowd->taken, taken);
	pawl_fetch_add_relaxed(&crowd->posted, posted);
	return NULL;
}

static void one_at_a_time_has_the_unit(void **state)
{
	size_t k;
	int i;

	(void)state;
	for (k = 0; k < COUNT_OF(ways); k++) {
		struct crowd crowd = {.how = ways[k]};
		struct crew crew = {.size = 0};

		for (i = 0; i < THREADS; i++)
			crew_start(&crew, take_turns, &crowd);
		crew_join(&crew);
		assert_int_equal(crowd.inside, pawl_load_relaxed(&crowd.taken));
		assert_int_equal(crowd.inside, pawl_load_relaxed(&crowd.posted));
		assert_int_equal(pawl_semaphore_post(&crowd.s), EOVERFLOW);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(unit_is_taken_and_posted_once),
		cmocka_unit_test(timed_wait_gives_up),
		cmocka_unit_test(others_post_what_one_waits_for),
		cmocka_unit_test(one_at_a_time_has_the_unit),
	};

	return cmocka_run_group_tests_name("semaphore", cases, NULL, NULL);
}
