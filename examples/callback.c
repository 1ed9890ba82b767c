/* SPDX-License-Identifier: MIT */
/*
 * A lock that is released by a completion callback: whoever submits a request
 * locks the account it is about and goes on; the disk's thread, when it is done,
 * calls back, and the callback unlocks with the context that came along with the
 * request. The mailbox between the two is made of two binary semaphores.
 */
#include <pawl/semaphore.h>

#include <pthread.h>
#include <stdio.h>

enum { ACCOUNTS = 4, REQUESTS = 1000 };

struct account {
	struct pawl_hapax_park_core lock;
	int balance; /* under the lock */
};

struct request {
	struct account *account;
	struct pawl_hapax_context context; /* of the hold that submit began */
	void (*done)(struct request *request);
};

static struct account accounts[ACCOUNTS];
static struct request requests[REQUESTS];

static struct {
	struct pawl_semaphore room, mail; /* there is room, or there is mail */
	struct request *request;
} box;

static void submit(struct request *request)
{
	pawl_hapax_park_acquire(&request->account->lock, &request->context);
	pawl_semaphore_wait(&box.room);
	box.request = request;
	pawl_semaphore_post(&box.mail);
}

/* Called by the disk's thread, which has never locked anything. */
static void unlock_account(struct request *request)
{
	pawl_hapax_park_release(&request->account->lock, &request->context);
}

static void *disk(void *unused)
{
	int i;

	for (i = 0; i < REQUESTS; i++) {
		struct request *request;

		pawl_semaphore_wait(&box.mail);
		request = box.request;
		pawl_semaphore_post(&box.room);
		request->account->balance++;
		request->done(request);
	}
	return unused;
}

int main(void)
{
	pthread_t thread;
	int i, total = 0;

	pawl_semaphore_trywait(&box.mail); /* begins without mail */
	if (pthread_create(&thread, NULL, disk, NULL) != 0)
		return 1;
	for (i = 0; i < REQUESTS; i++) {
		requests[i].account = &accounts[i % ACCOUNTS];
		requests[i].done = unlock_account;
		submit(&requests[i]);
	}
	for (i = 0; i < ACCOUNTS; i++) {
		struct pawl_hapax_context context;

		/* Comes after all requests for this account. */
		pawl_hapax_park_acquire(&accounts[i].lock, &context);
		total += accounts[i].balance;
		pawl_hapax_park_release(&accounts[i].lock, &context);
	}
	pthread_join(thread, NULL);
	printf("%d requests completed, each unlocked by its callback\n", total);
	return 0;
}
