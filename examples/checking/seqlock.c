/* SPDX-License-Identifier: MIT */
/* A sequence lock: a reader that saw the same even number before and after has a copy
 * from one moment. Its fences are easily forgotten, and x86 forgives that. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static void fence(memory_order order)
{
#ifndef BROKEN
	atomic_thread_fence(order);
#else
	(void)order;
#endif
}

static atomic_uint sequence;
static atomic_int left, right; /* always equal */

static void *writes(void *unused)
{
	atomic_store_explicit(&sequence, 1, memory_order_relaxed);
	fence(memory_order_release);
	atomic_store_explicit(&left, 5, memory_order_relaxed);
	atomic_store_explicit(&right, 5, memory_order_relaxed);
	atomic_store_explicit(&sequence, 2, memory_order_release);
	return unused;
}

static void *reads(void *unused)
{
	unsigned before, after;
	int l, r;

	do {
		before = atomic_load_explicit(&sequence, memory_order_acquire);
		l = atomic_load_explicit(&left, memory_order_relaxed);
		r = atomic_load_explicit(&right, memory_order_relaxed);
		fence(memory_order_acquire);
		after = atomic_load_explicit(&sequence, memory_order_relaxed);
	} while (before != after || before % 2 != 0);
	assert(l == r);
	return unused;
}

void check_seqlock(void)
{
	pthread_t writer, reader;

	pthread_create(&writer, NULL, writes, NULL);
	pthread_create(&reader, NULL, reads, NULL);
	pthread_join(writer, NULL);
	pthread_join(reader, NULL);
}

int main(void)
{
	check_seqlock();
	return 0;
}
