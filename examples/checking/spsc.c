/* SPDX-License-Identifier: MIT */
/* A queue between one producer and one consumer: a ring of two slots. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#ifdef BROKEN
#define PUBLISH memory_order_relaxed /* the item may come after the news of it */
#else
#define PUBLISH memory_order_release
#endif

enum { SLOTS = 2 };
static int slots[SLOTS];
static atomic_uint head, tail; /* items taken, items put */

static bool put(int item)
{
	unsigned at = atomic_load_explicit(&tail, memory_order_relaxed);

	if (at - atomic_load_explicit(&head, memory_order_acquire) == SLOTS)
		return false;
	slots[at % SLOTS] = item;
	atomic_store_explicit(&tail, at + 1, PUBLISH);
	return true;
}

static bool take(int *item)
{
	unsigned at = atomic_load_explicit(&head, memory_order_relaxed);

	if (at == atomic_load_explicit(&tail, memory_order_acquire))
		return false;
	*item = slots[at % SLOTS];
	atomic_store_explicit(&head, at + 1, memory_order_release);
	return true;
}

static void *produces(void *unused)
{
	int i;

	for (i = 1; i <= 3; i++)
		while (!put(i))
			;
	return unused;
}

void check_spsc(void)
{
	pthread_t producer;
	int i, item;

	pthread_create(&producer, NULL, produces, NULL);
	for (i = 1; i <= 3; i++) {
		while (!take(&item))
			;
		assert(item == i);
	}
	pthread_join(producer, NULL);
}

int main(void)
{
	check_spsc();
	return 0;
}
