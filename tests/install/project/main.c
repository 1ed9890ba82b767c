/* SPDX-License-Identifier: MIT */
/* A small program outside pawl's tree: two threads, several kinds of lock. */
#include <pawl/pawl.h>

#include <pthread.h>
#include <stdio.h>

static struct pawl_ticket ticket = PAWL_TICKET_INIT;
static struct pawl_mcs mcs = PAWL_MCS_INIT;
static struct pawl_hapax hapax = PAWL_HAPAX_INIT;
static struct pawl_reciprocating reciprocating = PAWL_RECIPROCATING_INIT;
static long counts[4];

static void *work(void *unused)
{
	int i;

	for (i = 0; i < 2000; i++) {
		pawl_ticket_lock(&ticket);
		counts[0]++;
		pawl_ticket_unlock(&ticket);
		pawl_mcs_lock(&mcs);
		counts[1]++;
		pawl_mcs_unlock(&mcs);
		pawl_hapax_lock(&hapax);
		counts[2]++;
		pawl_hapax_unlock(&hapax);
		pawl_reciprocating_lock(&reciprocating);
		counts[3]++;
		pawl_reciprocating_unlock(&reciprocating);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < 4; i++)
		if (counts[i] != 4000)
			return 1;
	puts("fine");
	return 0;
}
