/* SPDX-License-Identifier: MIT */
/* Programs in which no pthread lock is waited for, though threads sleep. */
#include <pawl/mutex.h>

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { HELD_MS = 600 };

static void pass_time(void)
{
	const struct timespec time = {.tv_nsec = HELD_MS * 1000000L};

	nanosleep(&time, NULL);
}

static struct pawl_mutex own = PAWL_MUTEX_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *wait_for_own(void *unused)
{
	pawl_mutex_lock(&own);
	pawl_mutex_unlock(&own);
	return unused;
}

static void *wait_for_change(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (!ready)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *lock_and_pass_time(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	pass_time();
	return unused;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "join";
	pthread_t thread;

	pthread_mutex_lock(&mutex); /* so that it has a profile */
	pthread_mutex_unlock(&mutex);
	if (strcmp(what, "pawl") == 0) {
		pawl_mutex_lock(&own);
		pthread_create(&thread, NULL, wait_for_own, NULL);
		pass_time();
		pawl_mutex_unlock(&own);
	} else if (strcmp(what, "cond") == 0) {
		pthread_create(&thread, NULL, wait_for_change, NULL);
		pass_time();
		pthread_mutex_lock(&mutex);
		ready = 1;
		pthread_mutex_unlock(&mutex);
		pthread_cond_signal(&changed);
	} else {
		pthread_create(&thread, NULL, lock_and_pass_time, NULL);
	}
	pthread_join(thread, NULL);
	return 0;
}
