/* SPDX-License-Identifier: MIT */
/* Usage: debug MISUSE. Breaks a rule of use in the line that is marked so, with a
 * lock that was locked, if it was, in another marked line; prints its address. */
#include <pawl/pawl.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct pawl_mutex mutex;
static struct pawl_cond cond;
static struct pawl_reciprocating owned;

static void *unlock_as_a_stranger(void *unused)
{
	pawl_reciprocating_unlock(&owned); /* stranger */
	return unused;
}

static void *unlock_for_another(void *unused)
{
	pawl_mutex_unlock(&mutex);
	return unused;
}

static void elsewhere(void *(*run)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *misuse = argc > 1 ? argv[1] : "none";

	if (strcmp(misuse, "stranger") == 0 || strcmp(misuse, "again") == 0)
		printf("%p\n", (void *)&owned);
	else
		printf("%p\n", (void *)&mutex);
	fflush(stdout);

	if (strcmp(misuse, "none") == 0) {
		pawl_mutex_lock(&mutex);
		elsewhere(unlock_for_another);
	} else if (strcmp(misuse, "free") == 0) {
		pawl_mutex_unlock(&mutex); /* free */
	} else if (strcmp(misuse, "wait") == 0) {
		pawl_cond_wait(&cond, &mutex); /* wait */
	} else if (strcmp(misuse, "stranger") == 0) {
		pawl_reciprocating_lock(&owned); /* stranger locked */
		elsewhere(unlock_as_a_stranger);
	} else if (strcmp(misuse, "again") == 0) {
		pawl_reciprocating_lock(&owned); /* again locked */
		pawl_reciprocating_lock(&owned); /* again */
	} else if (strcmp(misuse, "destroy") == 0) {
		pawl_mutex_lock(&mutex);    /* destroy locked */
		pawl_mutex_destroy(&mutex); /* destroy */
	}
	return 0;
}
