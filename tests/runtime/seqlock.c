/* SPDX-License-Identifier: MIT */
/* pawl/seqlock.h by one thread: sizes, refusals, versions. The rest of it is
 * shown by tests/soak/snapshots.c and pawl check. */
#include "harness/harness.h"

#include <pawl/seqlock.h>

enum { LONGEST = 40 };

struct record {
	struct pawl_seqlock seq;
	pawl_atomic64 words[PAWL_SEQLOCK_WORDS(LONGEST) + 1];
};

static void a_zero_record_is_at_rest_and_zero(void **state)
{
	struct record r = {PAWL_SEQLOCK_INIT, PAWL_ZERO};
	unsigned char got[LONGEST], zero[LONGEST] = {0};

	(void)state;
	memset(got, 1, sizeof(got));
	assert_true(pawl_seqlock_try_read(&r.seq, r.words, got, sizeof(got)));
	assert_memory_equal(got, zero, sizeof(got));
}

static void every_size_comes_back_and_nothing_beside_it_changes(void **state)
{
	unsigned char put[LONGEST], got[LONGEST + 1];
	size_t size, i;

	(void)state;
	for (size = 0; size <= LONGEST; size++) {
		struct record r = {PAWL_SEQLOCK_INIT, PAWL_ZERO};
		size_t words = PAWL_SEQLOCK_WORDS(size);

		for (i = 0; i < size; i++)
			put[i] = (unsigned char)(i * 7 + size);
		memset(got, 0xAA, sizeof(got));
		pawl_store_relaxed(&r.words[words], 99);
		assert_true(pawl_seqlock_write(&r.seq, r.words, put, size));
		pawl_seqlock_read(&r.seq, r.words, got, size);
		assert_memory_equal(got, put, size);
		assert_int_equal(got[size], 0xAA);
		assert_int_equal(pawl_load_relaxed(&r.words[words]), 99);
	}
}

static void a_write_in_progress_refuses_others_and_fails_readers(void **state)
{
	struct record r = {PAWL_SEQLOCK_INIT, PAWL_ZERO};
	uint64_t one = 1, two = 2, got = 0;

	(void)state;
	assert_true(pawl_seqlock_write(&r.seq, r.words, &one, sizeof(one)));
	/* Somebody has begun, and got stuck. */
	pawl_store_relaxed(&r.seq.first, UINT64_MAX);
	assert_false(pawl_seqlock_write(&r.seq, r.words, &two, sizeof(two)));
	assert_false(pawl_seqlock_try_read(&r.seq, r.words, &got, sizeof(got)));
	assert_int_equal(pawl_load_relaxed(&r.words[0]), 1);
	/* And goes on. */
	pawl_store_relaxed(&r.seq.last, UINT64_MAX);
	assert_true(pawl_seqlock_try_read(&r.seq, r.words, &got, sizeof(got)));
	assert_int_equal(got, 1);
	assert_true(pawl_seqlock_write(&r.seq, r.words, &two, sizeof(two)));
}

static void versions_tell_writes_apart_even_of_equal_content(void **state)
{
	struct record r = {PAWL_SEQLOCK_INIT, PAWL_ZERO};
	uint64_t one = 1, got, version[3];

	(void)state;
	assert_true(pawl_seqlock_write(&r.seq, r.words, &one, sizeof(one)));
	assert_true(pawl_seqlock_look(&r.seq, r.words, &got, sizeof(got), &version[0]));
	assert_true(pawl_seqlock_look(&r.seq, r.words, &got, sizeof(got), &version[1]));
	assert_true(pawl_seqlock_write(&r.seq, r.words, &one, sizeof(one)));
	assert_true(pawl_seqlock_look(&r.seq, r.words, &got, sizeof(got), &version[2]));
	assert_true(version[0] == version[1]);
	assert_true(version[1] != version[2]);
}

/* The one write that a sleeping reader waits for. */
static void *end_the_write(void *argument)
{
	struct record *r = argument;
	uint64_t mine = pawl_load_relaxed(&r->seq.first);

	pawl_store_relaxed(&r->words[0], 5);
	pawl_store_release(&r->seq.last, mine);
	pawl_notify(&r->seq.last, mine, PAWL_PARK);
	return NULL;
}

static void a_reader_sleeps_until_the_write_ends(void **state)
{
	static struct record r;
	uint64_t got = 0;
	pthread_t writer;

	(void)state;
	watchdog("a sleeping reader");
	pawl_store_relaxed(&r.seq.first, pawl_hapax_draw());
	assert_int_equal(pthread_create(&writer, NULL, end_the_write, &r), 0);
	pawl_seqlock_read(&r.seq, r.words, &got, sizeof(got));
	assert_int_equal(got, 5);
	pthread_join(writer, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_zero_record_is_at_rest_and_zero),
		cmocka_unit_test(every_size_comes_back_and_nothing_beside_it_changes),
		cmocka_unit_test(a_write_in_progress_refuses_others_and_fails_readers),
		cmocka_unit_test(versions_tell_writes_apart_even_of_equal_content),
		cmocka_unit_test(a_reader_sleeps_until_the_write_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
