/* SPDX-License-Identifier: MIT */
/* Shards of a process from which the system takes something away while it runs. */
#define _GNU_SOURCE
#include "harness/child.h"
#include "harness/harness.h"

#include <pawl/counter.h>
#include <pawl/idalloc.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT = 512, ADDS = 1000, PAIRS = 2 };

static struct pawl_counter counter;
static struct pawl_idalloc ids;

static void use(void)
{
	uint32_t held[16];
	size_t i;
	int round;

	for (round = 0; round < ADDS; round++) {
		pawl_counter_add(&counter, 1);
		for (i = 0; i < COUNT_OF(held); i++)
			held[i] = pawl_idalloc_get(&ids);
		for (i = 0; i < COUNT_OF(held); i++) {
			if (held[i] >= LIMIT)
				abort();
			pawl_idalloc_put(&ids, held[i]);
		}
	}
}

static void open_both(void)
{
	if (pawl_counter_create(&counter, PAWL_SHARDS_LEASED) != 0 ||
	    pawl_idalloc_create(&ids, PAWL_SHARDS_LEASED, LIMIT) != 0)
		abort();
}

/* How many of the ids can be had; each once. They are put back. */
static unsigned ids_to_be_had(void)
{
	bool seen[LIMIT] = {false};
	uint32_t held[LIMIT], id;
	unsigned n = 0, i;

	while ((id = pawl_idalloc_get(&ids)) != PAWL_IDALLOC_NONE) {
		if (id >= LIMIT || seen[id])
			abort();
		seen[id] = true;
		held[n++] = id;
	}
	for (i = 0; i < n; i++)
		pawl_idalloc_put(&ids, held[i]);
	return n;
}

/* The CPU's number, of one thread, after its first use. */

static pawl_atomic64 lost; /* by so many threads */

static void *lose_it(void *argument)
{
	(void)argument;
	use();
	if (lose_the_cpu_number())
		pawl_fetch_add_relaxed(&lost, 1);
	use();
	if (pawl_lease_id() >= pawl_lease_ids())
		abort();
	use();
	return NULL;
}

static void *keep_it(void *argument)
{
	int i;

	(void)argument;
	for (i = 0; i < 3; i++)
		use();
	return NULL;
}

static void a_thread_goes_on_without_its_cpu_number(void **state)
{
	struct crew crew = {.size = 0};
	int64_t sum;
	int i;

	(void)state;
	open_both();
	for (i = 0; i < PAIRS; i++) {
		crew_start(&crew, lose_it, NULL);
		crew_start(&crew, keep_it, NULL);
	}
	crew_join(&crew);
	assert_int_equal(pawl_counter_sum(&counter), 2 * PAIRS * 3 * ADDS);
	assert_true(pawl_counter_exact(&counter, 10000000000, &sum));
	assert_int_equal(sum, 2 * PAIRS * 3 * ADDS);
	assert_int_equal(ids_to_be_had(), LIMIT);
	pawl_idalloc_destroy(&ids);
	pawl_counter_destroy(&counter);
	if (pawl_load_relaxed(&lost) != PAIRS)
		skip_because("rseq cannot be taken away here");
}

/*
 * membarrier, of the first thread, which all need who break a lease. The others have used
 * every CPU's shards by then, and are there, but asleep: nobody comes by to help.
 */
enum { GUESTS = 4 };
static pthread_barrier_t used, over;

static void *use_and_stay(void *argument)
{
	sit_on((uintptr_t)argument);
	use();
	pthread_barrier_wait(&used);
	pthread_barrier_wait(&over);
	return NULL;
}

static bool child_has_all(void)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(ids_to_be_had() == LIMIT ? 7 : 8);
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 7;
}

/* Returns what is wrong, as this program's exit status. */
static int run_refused(void)
{
	pthread_t threads[GUESTS];
	int64_t sum;
	uintptr_t i;
	int wrong = 0;

	open_both();
	pthread_barrier_init(&used, NULL, GUESTS + 1);
	pthread_barrier_init(&over, NULL, GUESTS + 1);
	for (i = 0; i < GUESTS; i++)
		pthread_create(&threads[i], NULL, use_and_stay, (void *)i);
	pthread_barrier_wait(&used);
	if (refuse_membarrier() != 0)
		wrong = CHILD_SKIPS;
	else if (ids_to_be_had() != LIMIT)
		wrong = 1;
	else if (!pawl_counter_exact(&counter, 10000000000, &sum) || sum != GUESTS * ADDS)
		wrong = 2;
	else if (pawl_shards_reclaim(&ids.slots.shards) != 0)
		wrong = 3;
	else if (!child_has_all())
		wrong = 4;
	pthread_barrier_wait(&over);
	for (i = 0; i < GUESTS; i++)
		pthread_join(threads[i], NULL);
	pawl_idalloc_destroy(&ids);
	pawl_counter_destroy(&counter);
	return wrong;
}

static void leases_break_without_membarrier(void **state)
{
	(void)state;
	child_again("r", false);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_goes_on_without_its_cpu_number),
		cmocka_unit_test(leases_break_without_membarrier),
	};

	(void)argv;
	if (argc > 1)
		return run_refused();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
