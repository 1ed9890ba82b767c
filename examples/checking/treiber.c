/* SPDX-License-Identifier: MIT */
/* Treiber's stack over nodes that come back: a head that looks as before may have been
 * away (ABA). A count beside it tells. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef BROKEN
#define COUNT 0
#else
#define COUNT 1
#endif

enum { NODES = 2, NONE = 0xff };

struct head {
	uint32_t first, count;
};

static _Atomic(struct head) head;
static atomic_uint next_of[NODES];
static atomic_bool taken[NODES];

static unsigned pop(void)
{
	struct head before = atomic_load(&head), after;

	do {
		if (before.first == NONE)
			return NONE;
		after.first = atomic_load(&next_of[before.first]);
		after.count = before.count + COUNT;
	} while (!atomic_compare_exchange_weak(&head, &before, after));
	assert(!atomic_exchange(&taken[before.first], true)); /* nobody else has it */
	return before.first;
}

static void push(unsigned node)
{
	struct head before = atomic_load(&head), after;

	atomic_store(&taken[node], false);
	do {
		atomic_store(&next_of[node], before.first);
		after.first = node;
		after.count = before.count + COUNT;
	} while (!atomic_compare_exchange_weak(&head, &before, after));
}

static void *pops(void *unused)
{
	pop();
	return unused;
}

void check_treiber(void)
{
	pthread_t other;
	unsigned first, second;

	atomic_store(&next_of[0], 1);
	atomic_store(&next_of[1], NONE);
	pthread_create(&other, NULL, pops, NULL);
	first = pop();
	second = pop();
	if (first != NONE)
		push(first);
	if (second != NONE && first != NONE)
		pop();
	pthread_join(other, NULL);
}

int main(void)
{
	check_treiber();
	return 0;
}
