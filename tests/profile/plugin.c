/* SPDX-License-Identifier: MIT */
/* A library with a lock of its own, for cases.c to load and unload. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_mutex_t plugged = PTHREAD_MUTEX_INITIALIZER;
static atomic_int started;

static void *wait_plugged(void *argument)
{
	atomic_store(&started, 1);
	pthread_mutex_lock(&plugged);
	pthread_mutex_unlock(&plugged);
	return argument;
}

void plugin_contends(void);

void plugin_contends(void)
{
	pthread_t thread;

	pthread_mutex_lock(&plugged);
	pthread_create(&thread, NULL, wait_plugged, NULL);
	while (atomic_load(&started) == 0)
		usleep(100);
	usleep(3000);
	pthread_mutex_unlock(&plugged);
	pthread_join(thread, NULL);
}
