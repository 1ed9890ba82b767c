/* SPDX-License-Identifier: MIT */
/* The records of what threads read: as many as there are threads. */
#include "harness/harness.h"
#include "rwlock_forms.h"
#include "sync/reads.h"

/* The records that a writer looks at. */
static int live_records(void)
{
	struct pawl_reads_scan scan = {.left = 0};
	int count = 0;

	while (pawl_reads_next(&scan) != NULL)
		count++;
	return count;
}

/* Threads that are there at once, and each read more locks than a record has slots. */
enum { MANY = 300, LOCKS = 20 };
static struct pawl_rwlock many_locks[LOCKS];
static pthread_barrier_t many_read;

static void *read_many(void *unused)
{
	int i;

	for (i = 0; i < LOCKS; i++)
		pawl_rwlock_read_lock(&many_locks[i]);
	pthread_barrier_wait(&many_read);
	for (i = 0; i < LOCKS; i++)
		pawl_rwlock_read_unlock(&many_locks[i]);
	return unused;
}

static void a_writer_looks_at_the_threads_that_live(void **state)
{
	int before, round, i;
	pthread_t threads[MANY];

	(void)state;
	watchdog("many threads");
	(void)pawl_reads_mine(); /* this thread has one */
	before = live_records();
	for (round = 0; round < 3; round++) {
		pthread_barrier_init(&many_read, NULL, MANY + 1);
		for (i = 0; i < MANY; i++)
			assert_int_equal(
				pthread_create(&threads[i], NULL, read_many, NULL), 0);
		while (live_records() < before + MANY)
			breathe();
		/* One of each, and no further ones. */
		assert_int_equal(live_records(), before + MANY);
		pthread_barrier_wait(&many_read);
		for (i = 0; i < MANY; i++)
			pthread_join(threads[i], NULL);
		assert_int_equal(live_records(), before);
		pthread_barrier_destroy(&many_read);
	}
	for (i = 0; i < LOCKS; i++)
		assert_free(&many_locks[i]);
	watchdog(NULL);
}

int main(void)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_writer_looks_at_the_threads_that_live),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
