/* SPDX-License-Identifier: MIT */
/* Vyukov's bounded queue for many producers and consumers. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#ifdef BROKEN
#define FILLED memory_order_relaxed /* the cell is said to be filled too early */
#else
#define FILLED memory_order_release
#endif

enum { CELLS = 2 };

static struct {
	atomic_uint sequence;
	int item;
} cells[CELLS];
static atomic_uint put_at, take_at;

static bool put(int item)
{
	unsigned at = atomic_load_explicit(&put_at, memory_order_relaxed);

	for (;;) {
		unsigned sequence = atomic_load_explicit(&cells[at % CELLS].sequence,
							 memory_order_acquire);

		if ((int)(sequence - at) < 0)
			return false; /* full */
		if (sequence == at && atomic_compare_exchange_strong_explicit(
					      &put_at, &at, at + 1, memory_order_relaxed,
					      memory_order_relaxed))
			break;
		if (sequence != at)
			at = atomic_load_explicit(&put_at, memory_order_relaxed);
	}
	cells[at % CELLS].item = item;
	atomic_store_explicit(&cells[at % CELLS].sequence, at + 1, FILLED);
	return true;
}

static bool take(int *item)
{
	unsigned at = atomic_load_explicit(&take_at, memory_order_relaxed);

	for (;;) {
		unsigned sequence = atomic_load_explicit(&cells[at % CELLS].sequence,
							 memory_order_acquire);

		if ((int)(sequence - (at + 1)) < 0)
			return false; /* empty */
		if (sequence == at + 1 &&
		    atomic_compare_exchange_strong_explicit(&take_at, &at, at + 1,
							    memory_order_relaxed,
							    memory_order_relaxed))
			break;
		if (sequence != at + 1)
			at = atomic_load_explicit(&take_at, memory_order_relaxed);
	}
	*item = cells[at % CELLS].item;
	atomic_store_explicit(&cells[at % CELLS].sequence, at + CELLS,
			      memory_order_release);
	return true;
}

static void *puts_one(void *item)
{
	assert(put((int)(long)item));
	return NULL;
}

static void check(int producers)
{
	pthread_t threads[2];
	int seen[3] = {0}, item;
	long i;

	for (i = 0; i < CELLS; i++)
		atomic_store(&cells[i].sequence, (unsigned)i);
	for (i = 0; i < producers; i++)
		pthread_create(&threads[i], NULL, puts_one, (void *)(i + 1));
	for (i = 0; i < producers; i++)
		if (take(&item))
			assert(++seen[item] == 1);
	for (i = 0; i < producers; i++)
		pthread_join(threads[i], NULL);
}

void check_mpmc_2(void)
{
	check(1);
}

void check_mpmc_3(void)
{
	check(2);
}

int main(void)
{
	check_mpmc_2();
	return 0;
}
