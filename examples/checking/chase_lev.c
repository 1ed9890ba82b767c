/* SPDX-License-Identifier: MIT */
/* The deque of Chase and Lev with the orders of Le et al. (PPoPP 2013): its owner pushes
 * and takes at the bottom, thieves steal at the top. No item comes out twice. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifdef BROKEN
#define TAKE_FENCE memory_order_acq_rel /* owner and thief may miss each other */
#else
#define TAKE_FENCE memory_order_seq_cst
#endif

enum { SIZE = 4, EMPTY = -1, LOST = -2, ITEMS = 2 };

static atomic_long top, bottom;
static atomic_int buffer[SIZE];
static atomic_int out[ITEMS];

static void push(int item)
{
	long b = atomic_load_explicit(&bottom, memory_order_relaxed);

	atomic_store_explicit(&buffer[b % SIZE], item, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
}

static int take(void)
{
	long b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1, t;
	int item = EMPTY;

	atomic_store_explicit(&bottom, b, memory_order_relaxed);
	atomic_thread_fence(TAKE_FENCE);
	t = atomic_load_explicit(&top, memory_order_relaxed);
	if (t <= b) {
		item = atomic_load_explicit(&buffer[b % SIZE], memory_order_relaxed);
		if (t != b)
			return item;
		/* The last one: race for it. */
		if (!atomic_compare_exchange_strong_explicit(
			    &top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
			item = EMPTY;
	}
	atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
	return item;
}

static int steal(void)
{
	long t = atomic_load_explicit(&top, memory_order_acquire), b;
	int item;

	atomic_thread_fence(memory_order_seq_cst);
	b = atomic_load_explicit(&bottom, memory_order_acquire);
	if (t >= b)
		return EMPTY;
	item = atomic_load_explicit(&buffer[t % SIZE], memory_order_relaxed);
	if (!atomic_compare_exchange_strong_explicit(
		    &top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
		return LOST;
	return item;
}

static void comes_out(int item)
{
	if (item >= 0)
		assert(atomic_fetch_add_explicit(&out[item], 1, memory_order_relaxed) ==
		       0);
}

static void *steals(void *times)
{
	long i;

	for (i = 0; i < (long)times; i++)
		comes_out(steal());
	return NULL;
}

static void check(int thieves, long times)
{
	pthread_t thief[2];
	int i;

	for (i = 0; i < thieves; i++)
		pthread_create(&thief[i], NULL, steals, (void *)times);
	for (i = 0; i < ITEMS; i++)
		push(i);
	for (i = 0; i < ITEMS; i++)
		comes_out(take());
	for (i = 0; i < thieves; i++)
		pthread_join(thief[i], NULL);
}

void check_chase_lev_2(void)
{
	check(1, 2);
}

void check_chase_lev_3(void)
{
	check(2, 1);
}

int main(void)
{
	check_chase_lev_2();
	return 0;
}
