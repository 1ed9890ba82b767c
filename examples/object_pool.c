/* SPDX-License-Identifier: MIT */
/*
 * A cache of objects in a thread pool: workers take requests off a queue, need a
 * buffer for each, and give it back. The buffers come from a pawl_pool, so that no
 * worker waits for another one's, and there are about as many as requests are in
 * flight, not as many as each worker ever needed.
 */
#include <pawl/counter.h>
#include <pawl/mutex.h>
#include <pawl/pool.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { WORKERS = 4, REQUESTS = 20000 };

struct buffer {
	char text[1000];
};

static struct pawl_pool buffers;
static struct pawl_counter answered;
static struct pawl_mutex lock; /* of the queue */
static int next_request;

static int take_request(void)
{
	int request;

	pawl_mutex_lock(&lock);
	request = next_request < REQUESTS ? next_request++ : -1;
	pawl_mutex_unlock(&lock);
	return request;
}

static void *work(void *argument)
{
	int request;

	(void)argument;
	while ((request = take_request()) >= 0) {
		struct buffer *buffer = pawl_pool_get(&buffers);

		if (buffer == NULL)
			continue; /* more than the limit: a server would say so */
		snprintf(buffer->text, sizeof(buffer->text), "answer %d", request);
		pawl_counter_add(&answered, strlen(buffer->text) > 7);
		pawl_pool_put(&buffers, buffer);
	}
	return NULL;
}

int main(void)
{
	const struct pawl_pool_plan plan = {.kind = PAWL_SHARDS_LEASED,
					    .size = sizeof(struct buffer),
					    .limit = 10000};
	pthread_t workers[WORKERS];
	int i;

	if (pawl_pool_create(&buffers, &plan) != 0 ||
	    pawl_counter_create(&answered, PAWL_SHARDS_LEASED) != 0)
		return 1;
	for (i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, work, NULL) != 0)
			return 1;
	for (i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	printf("%lld answers from %s buffers\n", (long long)pawl_counter_sum(&answered),
	       pawl_slots_peak(&buffers.slots) < 1000 ? "few" : "many");
	pawl_pool_destroy(&buffers);
	pawl_counter_destroy(&answered);
	return 0;
}
