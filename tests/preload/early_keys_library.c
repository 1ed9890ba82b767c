/* SPDX-License-Identifier: MIT */
/* A library whose constructor takes more keys than the C library keeps in a thread, and
 * reads a lock: see early_keys.c. */
#include <pthread.h>

enum { KEYS = 40 };

static int errors;

int library_errors(void);

__attribute__((constructor)) static void begin(void)
{
	static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	pthread_key_t key;
	int i;

	for (i = 0; i < KEYS; i++)
		errors += pthread_key_create(&key, NULL) != 0;
	errors += pthread_rwlock_rdlock(&rwlock) != 0;
	errors += pthread_rwlock_unlock(&rwlock) != 0;
}

int library_errors(void)
{
	return errors;
}
