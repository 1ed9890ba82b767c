/* SPDX-License-Identifier: MIT */
/* Loops that wait: which rounds are left out, and which must not be. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int word, other;
static int guarded;

static void run(void *(*a)(void *), void *(*b)(void *))
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, a, NULL);
	pthread_create(&threads[1], NULL, b, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

static void unlock(void)
{
	atomic_store_explicit(&word, 0, memory_order_release);
}

#define LOCK(name)                               \
	static void *name##_twice(void *arg)     \
	{                                        \
		int i;                           \
		for (i = 0; i < 2; i++) {        \
			name##_lock();           \
			guarded++;               \
			unlock();                \
		}                                \
		return arg;                      \
	}                                        \
	void check_##name(void)                  \
	{                                        \
		run(name##_twice, name##_twice); \
		assert(guarded == 4);            \
	}

static bool try_lock(void)
{
	int free = 0;

	return atomic_compare_exchange_strong_explicit(
		&word, &free, 1, memory_order_acquire, memory_order_relaxed);
}

/* pawl/ttas.h, word by word. Rounds that are counted are kept: as many executions as
 * pawl check ttas finds, which knows no loops. */
static void ttas_counted_lock(void)
{
	volatile int rounds = 0;

	while (!try_lock()) {
		rounds++;
		while (atomic_load_explicit(&word, memory_order_relaxed) != 0)
			;
	}
}
LOCK(ttas_counted)

/* One whose failed rounds write back what was there. */
static void exchange_counted_lock(void)
{
	volatile int rounds = 0;

	for (;; rounds++) {
		while (atomic_load_explicit(&word, memory_order_relaxed) != 0)
			;
		if (atomic_exchange_explicit(&word, 1, memory_order_acquire) == 0)
			return;
	}
}
LOCK(exchange_counted)

/* Wrong, and only since a round that fails writes something else: it unlocks. */
static void flip_lock(void)
{
	while (atomic_fetch_xor_explicit(&word, 1, memory_order_acq_rel) != 0)
		;
}
LOCK(flip)

/* A failed round that writes elsewhere: it is kept, and has no end. */
static int tries;

static void *wait_adding(void *arg)
{
	while (atomic_load(&word) == 0)
		atomic_fetch_add(&other, 1);
	assert(atomic_load(&other) < 2);
	return arg;
}
static void *wait_storing(void *arg)
{
	while (atomic_load(&word) == 0)
		atomic_store(&other, 1);
	assert(atomic_load(&other) == 0);
	return arg;
}
static void *wait_plainly(void *arg)
{
	while (atomic_load(&word) == 0)
		tries++;
	assert(tries < 2);
	return arg;
}
static void *set(void *arg)
{
	atomic_store(&word, 1);
	return arg;
}
void check_adding(void)
{
	run(wait_adding, set);
}
void check_storing(void)
{
	run(wait_storing, set);
}
void check_plainly(void)
{
	run(wait_plainly, set);
}
/* An update that changes nothing is one all the same: whoever comes second sees what
 * the first did before. With loads instead both may find 0. */
static atomic_int entered;
static void *left(void *arg)
{
	atomic_exchange_explicit(&word, 1, memory_order_acq_rel);
	if (atomic_fetch_or_explicit(&other, 0, memory_order_acq_rel) == 0)
		atomic_fetch_add(&entered, 1);
	return arg;
}
static void *right(void *arg)
{
	atomic_exchange_explicit(&other, 1, memory_order_acq_rel);
	if (atomic_fetch_or_explicit(&word, 0, memory_order_acq_rel) == 0)
		atomic_fetch_add(&entered, 1);
	return arg;
}
void check_unchanging(void)
{
	run(left, right);
	assert(atomic_load(&entered) < 2);
}

/* Waits for one of two: what it reads, or a mutex. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *take_mutex(void *arg)
{
	pthread_mutex_lock(&mutex);
	guarded++;
	pthread_mutex_unlock(&mutex);
	atomic_store_explicit(&other, 1, memory_order_relaxed);
	return arg;
}
static void *try_mutex(void *arg)
{
	(void)atomic_load_explicit(&other, memory_order_relaxed);
	while (atomic_load(&word) == 0) {
		if (pthread_mutex_trylock(&mutex) == 0) {
			guarded++;
			pthread_mutex_unlock(&mutex);
			break;
		}
	}
	return arg;
}
void check_trylock(void)
{
	run(try_mutex, take_mutex);
	assert(guarded == 2);
}

/* Likewise two words. What it reads first makes it come to the loop anew. */
static atomic_int third;
static void *wait_for_either(void *arg)
{
	(void)atomic_load_explicit(&other, memory_order_relaxed);
	while (atomic_load(&word) == 0 && atomic_load(&third) == 0)
		;
	return arg;
}
static void *set_third(void *arg)
{
	atomic_store(&third, 1);
	atomic_store_explicit(&other, 1, memory_order_relaxed);
	return arg;
}
void check_either(void)
{
	run(wait_for_either, set_third);
}

/* Waits unless what is its own, and differs between executions, says no: a variable,
 * or a key. So 0 may end a wait that it did not end before. */
static void *set_both(void *arg)
{
	atomic_store_explicit(&other, 1, memory_order_relaxed);
	atomic_store_explicit(&word, 1, memory_order_relaxed);
	return arg;
}
static _Thread_local volatile int mine;
static void *ask_variable(void *arg)
{
	int seen;

	mine = atomic_load_explicit(&other, memory_order_relaxed);
	do
		seen = atomic_load_explicit(&word, memory_order_relaxed);
	while (seen == 0 && mine == 0);
	assert(seen == 1);
	return arg;
}
void check_variable(void)
{
	run(ask_variable, set_both);
}
static pthread_key_t key;
static void *ask_key(void *arg)
{
	pthread_key_t own = key;
	int seen;

	if (atomic_load_explicit(&other, memory_order_relaxed) != 0)
		pthread_setspecific(own, &guarded);
	do
		seen = atomic_load_explicit(&word, memory_order_relaxed);
	while (seen == 0 && pthread_getspecific(own) == NULL);
	assert(seen == 1);
	return arg;
}
void check_key(void)
{
	pthread_key_create(&key, NULL);
	run(ask_key, set_both);
}

/* One that polls for ever, which is a bound, does not hide what the other does. */
static void *poll_and_count(void *arg)
{
	while (atomic_load_explicit(&word, memory_order_relaxed) == 0)
		mine++;
	return arg;
}
static void *set_and_fail(void *arg)
{
	atomic_store_explicit(&other, 1, memory_order_relaxed);
	assert(arg != NULL);
	return arg;
}
void check_behind_a_bound(void)
{
	run(poll_and_count, set_and_fail);
}
