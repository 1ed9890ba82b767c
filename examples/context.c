/* SPDX-License-Identifier: MIT */
/*
 * The explicit face: what must be remembered from acquire to release is kept by
 * the caller, and the lock is 8 bytes smaller. A hapax lock may be released by
 * another thread, which is handed the context along with the work.
 */
#include <pawl/hapax.h>

#include <pthread.h>
#include <stdio.h>

struct job {
	struct pawl_hapax_core *lock;
	struct pawl_hapax_context context;
	const char *text;
};

/* Ends the job, and with it the hold that somebody else began. */
static void *finish(void *argument)
{
	struct job *job = argument;

	puts(job->text);
	pawl_hapax_release(job->lock, &job->context);
	return NULL;
}

int main(void)
{
	struct pawl_hapax_core lock = PAWL_ZERO;
	struct pawl_hapax_context context;
	struct job job = {.lock = &lock, .text = "printed by one, locked by another"};
	pthread_t thread;

	pawl_hapax_acquire(&lock, &job.context);
	if (pthread_create(&thread, NULL, finish, &job) != 0)
		return 1;
	pawl_hapax_acquire(&lock, &context); /* waits for finish */
	pawl_hapax_release(&lock, &context);
	pthread_join(thread, NULL);
	return 0;
}
