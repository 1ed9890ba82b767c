/* SPDX-License-Identifier: MIT */
/* Dekker's idea: say that you come, look whether the other does. One at most enters. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#ifdef BROKEN
#define SAY  memory_order_release
#define LOOK memory_order_acquire
#else
#define SAY  memory_order_seq_cst
#define LOOK memory_order_seq_cst
#endif

static atomic_bool comes[2];
static int inside; /* plain: two who enter race */

static void *enters(void *number)
{
	int me = (int)(long)number;

	atomic_store_explicit(&comes[me], true, SAY);
	if (!atomic_load_explicit(&comes[!me], LOOK))
		inside++;
	return NULL;
}

void check_dekker(void)
{
	pthread_t threads[2];
	long i;

	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, enters, (void *)i);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	check_dekker();
	return 0;
}
