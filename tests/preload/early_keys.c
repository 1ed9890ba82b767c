/* SPDX-License-Identifier: MIT */
/*
 * A library that is initialised before the interposer (early_keys_library.c) has taken
 * many keys, and used locks. The threads of the program are none the worse for it: a
 * read of a lock that is often read is in the thread's own record, not in the lock.
 */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { READS = 20000, COUNTED = 32 /* PAWL_RWLOCK_READER */ };

int library_errors(void);

static void *read_often(void *unused)
{
	static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	uint64_t word;
	int i;

	for (i = 0; i < READS; i++) {
		CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
		memcpy(&word, &rwlock, sizeof(word));
		CHECK(word < COUNTED);
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	}
	return unused;
}

int main(void)
{
	pthread_t thread;

	CHECK(library_errors() == 0);
	(void)read_often(NULL);
	CHECK(pthread_create(&thread, NULL, read_often, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	return 0;
}
