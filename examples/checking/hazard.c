/* SPDX-License-Identifier: MIT */
/* A hazard pointer: a reader names what it uses, and a writer frees only what nobody
 * names. Between naming and looking again, and between replacing and looking who names
 * it, there must be a full fence. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static void fence(void)
{
#ifndef BROKEN
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

struct item {
	int value;
};

static _Atomic(struct item *) current, hazard;
static struct item *left; /* what could not be freed at once */

static struct item *new_item(int value)
{
	struct item *item = malloc(sizeof(*item));

	item->value = value;
	return item;
}

static void *reads(void *unused)
{
	struct item *item = atomic_load_explicit(&current, memory_order_acquire);

	atomic_store_explicit(&hazard, item, memory_order_release);
	fence();
	if (atomic_load_explicit(&current, memory_order_acquire) == item)
		assert(item->value > 0);
	atomic_store_explicit(&hazard, NULL, memory_order_release);
	return unused;
}

static void *replaces(void *unused)
{
	struct item *old = atomic_exchange_explicit(&current, new_item(2),
						    memory_order_release);

	fence();
	if (atomic_load_explicit(&hazard, memory_order_acquire) != old)
		free(old);
	else
		left = old;
	return unused;
}

void check_hazard(void)
{
	pthread_t reader, writer;

	atomic_store(&current, new_item(1));
	pthread_create(&reader, NULL, reads, NULL);
	pthread_create(&writer, NULL, replaces, NULL);
	pthread_join(reader, NULL);
	pthread_join(writer, NULL);
	free(left);
	free(atomic_load(&current));
}

int main(void)
{
	check_hazard();
	return 0;
}
