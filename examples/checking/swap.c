/* SPDX-License-Identifier: MIT */
/* As RCU does: a writer swaps a pointer, waits until nobody reads, and frees the old. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef BROKEN
#define ENTER memory_order_release
#define SWAP  memory_order_acq_rel
#define READ  memory_order_acquire
#else
#define ENTER memory_order_seq_cst
#define SWAP  memory_order_seq_cst
#define READ  memory_order_seq_cst
#endif

struct table {
	int size;
};

static _Atomic(struct table *) table;
static atomic_int reading;

static struct table *new_table(int size)
{
	struct table *t = malloc(sizeof(*t));

	t->size = size;
	return t;
}

static void *reads(void *unused)
{
	atomic_store_explicit(&reading, 1, ENTER);
	assert(atomic_load_explicit(&table, READ)->size > 0);
	atomic_store_explicit(&reading, 0, memory_order_release);
	return unused;
}

static void *swaps(void *unused)
{
	struct table *old = atomic_exchange_explicit(&table, new_table(2), SWAP);

	while (atomic_load_explicit(&reading, READ) != 0)
		;
	free(old);
	return unused;
}

void check_swap(void)
{
	pthread_t reader, writer;

	atomic_store(&table, new_table(1));
	pthread_create(&reader, NULL, reads, NULL);
	pthread_create(&writer, NULL, swaps, NULL);
	pthread_join(reader, NULL);
	pthread_join(writer, NULL);
	free(atomic_load(&table));
}

int main(void)
{
	check_swap();
	return 0;
}
