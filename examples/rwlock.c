/* SPDX-License-Identifier: MIT */
/* A table that many read and few change. */
#include <pawl/rwlock.h>

#include <pthread.h>
#include <stdio.h>

enum { READERS = 3, ENTRIES = 16, LOOKUPS = 100000 };

static struct {
	struct pawl_rwlock lock; /* all zero: free */
	int prices[ENTRIES];	 /* always the same for all */
} table;

static void *look_up(void *argument)
{
	int i, wrong = 0;

	for (i = 0; i < LOOKUPS; i++) {
		pawl_rwlock_read_lock(&table.lock);
		wrong += table.prices[0] != table.prices[i % ENTRIES];
		pawl_rwlock_read_unlock(&table.lock);
	}
	*(int *)argument = wrong;
	return NULL;
}

static void raise_prices(void)
{
	int i;

	pawl_rwlock_write_lock(&table.lock);
	for (i = 0; i < ENTRIES; i++)
		table.prices[i]++;
	pawl_rwlock_write_unlock(&table.lock);
}

int main(void)
{
	pthread_t threads[READERS];
	int wrong[READERS], i, sum = 0;

	for (i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], NULL, look_up, &wrong[i]) != 0)
			return 1;
	for (i = 0; i < 100; i++)
		raise_prices();
	for (i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		sum += wrong[i];
	}
	printf("price %d, %d wrong\n", table.prices[0], sum);
	return sum != 0;
}
