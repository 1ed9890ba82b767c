/* SPDX-License-Identifier: MIT */
/*
 * An allocator that reads a rwlock in every call, as some programs' do, in a program that reads
 * many rwlocks at once: a lock that allocates would call itself, without end.
 */
#define _GNU_SOURCE
#include "check.h"

#include "../harness/hang.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LOCKS = 60, ROUNDS = 100, HEAP = 16 << 20 };

static pthread_rwlock_t heap_lock = PTHREAD_RWLOCK_INITIALIZER;
static _Alignas(4096) char heap[HEAP];
static size_t heap_used;

/* Nothing is given back. */
static void *allocate(size_t alignment, size_t size)
{
	size_t before, start;

	pthread_rwlock_rdlock(&heap_lock);
	before = __atomic_fetch_add(&heap_used, size + alignment, __ATOMIC_RELAXED);
	start = (before + alignment - 1) / alignment * alignment;
	pthread_rwlock_unlock(&heap_lock);
	return start + size <= HEAP ? heap + start : NULL;
}

#pragma GCC visibility push(default) /* libraries use it, too */
void *malloc(size_t size)
{
	return allocate(16, size);
}

void *calloc(size_t count, size_t size)
{
	return allocate(16, count * size); /* the heap is zero, and used once */
}

void *realloc(void *old, size_t size)
{
	char *new = allocate(16, size);

	if (new != NULL && old != NULL)
		memcpy(new, old,
		       size < (size_t)(heap + HEAP - (char *)old)
			       ? size
			       : (size_t)(heap + HEAP - (char *)old));
	return new;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return allocate(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	*memory = allocate(alignment, size);
	return *memory != NULL ? 0 : ENOMEM;
}

void free(void *memory)
{
	(void)memory;
}
#pragma GCC visibility pop

static void *read_all(void *unused)
{
	static pthread_rwlock_t locks[LOCKS];
	int i, round;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < LOCKS; i++)
			CHECK(pthread_rwlock_rdlock(&locks[i]) == 0);
		CHECK(malloc(1) != NULL);
		for (i = 0; i < LOCKS; i++)
			CHECK(pthread_rwlock_unlock(&locks[i]) == 0);
	}
	return unused;
}

int main(void)
{
	size_t before;
	pthread_t threads[3];
	int i;

	alarm(HANG_GUARD_S);
	before = __atomic_load_n(&heap_used, __ATOMIC_RELAXED);
	read_all(NULL);
	/* What the program asked for, and nothing for the locks. */
	CHECK(__atomic_load_n(&heap_used, __ATOMIC_RELAXED) - before ==
	      ROUNDS * (size_t)(1 + 16));
	for (i = 0; i < 3; i++)
		CHECK(pthread_create(&threads[i], NULL, read_all, NULL) == 0);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
