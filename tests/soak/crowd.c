/* SPDX-License-Identifier: MIT */
/*
 * Ten thousand threads contend for one pawl_mutex, 100 episodes each.
 *
 * Usage: crowd [THREADS]
 */
#include <pawl/mutex.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { EPISODES = 100 };

static struct pawl_mutex m;
static long total;

static void *work(void *argument)
{
	int i;

	for (i = 0; i < EPISODES; i++) {
		pawl_mutex_lock(&m);
		total++;
		pawl_mutex_unlock(&m);
	}
	return argument;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 10000, i;
	pthread_t *crowd = calloc((size_t)threads, sizeof(*crowd));
	pthread_attr_t small;

	if (crowd == NULL || threads <= 0)
		return 2;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	pawl_mutex_lock(&m); /* let them gather */
	for (i = 0; i < threads; i++)
		if (pthread_create(&crowd[i], &small, work, NULL) != 0) {
			fprintf(stderr, "crowd: only %d threads to be had here\n", i);
			threads = i;
		}
	pawl_mutex_unlock(&m);
	for (i = 0; i < threads; i++)
		pthread_join(crowd[i], NULL);
	free(crowd);
	printf("crowd: %d threads, %ld episodes\n", threads, total);
	return total == (long)threads * EPISODES ? 0 : 1;
}
