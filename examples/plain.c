/* SPDX-License-Identifier: MIT */
/* The plain face: lock, trylock, unlock. All-zero memory is an unlocked lock. */
#include <pawl/ticket.h>

#include <pthread.h>
#include <stdio.h>

static struct {
	struct pawl_ticket lock;
	long balance;
} account;

static void *deposit(void *unused)
{
	for (int i = 0; i < 1000; i++) {
		pawl_ticket_lock(&account.lock);
		account.balance++;
		pawl_ticket_unlock(&account.lock);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, deposit, NULL) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);

	if (!pawl_ticket_trylock(&account.lock))
		return 1; /* cannot be: nobody else is left */
	printf("balance %ld\n", account.balance);
	pawl_ticket_unlock(&account.lock);
	return 0;
}
