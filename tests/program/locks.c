/* SPDX-License-Identifier: MIT */
/* Locks as they stand in textbooks, two threads and two sections each; then with one
 * order too weak. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#ifndef THREADS
#define THREADS 2
#endif
#ifndef SECTIONS
#define SECTIONS 2
#endif

static int guarded; /* plain: a lock that does not exclude is a race */

struct lock {
	void (*lock)(int me);
	void (*unlock)(int me);
};
static const struct lock *used;

static void *sections(void *number)
{
	int i, me = (int)(long)number;

	for (i = 0; i < SECTIONS; i++) {
		used->lock(me);
		guarded++;
		used->unlock(me);
	}
	return NULL;
}

static void check(const struct lock *lock)
{
	pthread_t threads[THREADS];
	long i;

	used = lock;
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, sections, (void *)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert(guarded == THREADS * SECTIONS);
}

#define LOCK(name)                                                            \
	void check_##name(void)                                               \
	{                                                                     \
		static const struct lock lock = {name##_lock, name##_unlock}; \
		check(&lock);                                                 \
	}

/* Ticket. */
static atomic_uint next, serving;
static void ticket_lock(int me)
{
	unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);

	(void)me;
	while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
		;
}
static void ticket_unlock(int me)
{
	unsigned now = atomic_load_explicit(&serving, memory_order_relaxed);

	(void)me;
	atomic_store_explicit(&serving, now + 1, memory_order_release);
}
LOCK(ticket)

static void ticket_relaxed_lock(int me)
{
	unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);

	(void)me;
	while (atomic_load_explicit(&serving, memory_order_relaxed) != mine)
		;
}
#define ticket_relaxed_unlock ticket_unlock
LOCK(ticket_relaxed)

/* Test and set. */
static atomic_flag flag = ATOMIC_FLAG_INIT;
static void tas_lock(int me)
{
	(void)me;
	while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire))
		;
}
static void tas_unlock(int me)
{
	(void)me;
	atomic_flag_clear_explicit(&flag, memory_order_release);
}
LOCK(tas)

static void tas_relaxed_unlock(int me)
{
	(void)me;
	atomic_flag_clear_explicit(&flag, memory_order_relaxed);
}
#define tas_relaxed_lock tas_lock
LOCK(tas_relaxed)

/* Test, then test and set. */
static atomic_int word;
static void ttas_lock(int me)
{
	(void)me;
	for (;;) {
		while (atomic_load_explicit(&word, memory_order_relaxed) != 0)
			sched_yield();
		if (atomic_exchange_explicit(&word, 1, memory_order_acquire) == 0)
			return;
	}
}
static void ttas_unlock(int me)
{
	(void)me;
	atomic_store_explicit(&word, 0, memory_order_release);
}
LOCK(ttas)

/* Compare and swap. */
static void cas_lock(int me)
{
	int free = 0;

	(void)me;
	while (!atomic_compare_exchange_weak_explicit(
		&word, &free, 1, memory_order_acquire, memory_order_relaxed))
		free = 0;
}
#define cas_unlock ttas_unlock
LOCK(cas)

/* Peterson: needs sequential consistency. */
static atomic_int wants[2], turn;
static void peterson_lock(int me)
{
	atomic_store(&wants[me], 1);
	atomic_store(&turn, !me);
	while (atomic_load(&wants[!me]) && atomic_load(&turn) == !me)
		;
}
static void peterson_unlock(int me)
{
	atomic_store(&wants[me], 0);
}
LOCK(peterson)

static void peterson_acq_rel_lock(int me)
{
	atomic_store_explicit(&wants[me], 1, memory_order_release);
	atomic_store_explicit(&turn, !me, memory_order_release);
	while (atomic_load_explicit(&wants[!me], memory_order_acquire) &&
	       atomic_load_explicit(&turn, memory_order_acquire) == !me)
		;
}
#define peterson_acq_rel_unlock peterson_unlock
LOCK(peterson_acq_rel)

/* MCS, with nodes that are threads' own. */
struct node {
	_Atomic(struct node *) next;
	atomic_bool wait;
};
static _Atomic(struct node *) tail;
static _Thread_local struct node node;
static void mcs_lock(int me)
{
	struct node *before;

	(void)me;
	atomic_store_explicit(&node.next, NULL, memory_order_relaxed);
	before = atomic_exchange_explicit(&tail, &node, memory_order_acq_rel);
	if (before == NULL)
		return;
	atomic_store_explicit(&node.wait, true, memory_order_relaxed);
	atomic_store_explicit(&before->next, &node, memory_order_release);
	while (atomic_load_explicit(&node.wait, memory_order_acquire))
		;
}
static void mcs_unlock(int me)
{
	struct node *after = atomic_load_explicit(&node.next, memory_order_acquire);
	struct node *last = &node;

	(void)me;
	if (after == NULL) {
		if (atomic_compare_exchange_strong_explicit(&tail, &last, NULL,
							    memory_order_release,
							    memory_order_relaxed))
			return;
		while ((after = atomic_load_explicit(&node.next, memory_order_acquire)) ==
		       NULL)
			;
	}
	atomic_store_explicit(&after->wait, false, memory_order_release);
}
LOCK(mcs)

/* The C library's. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void mutex_lock(int me)
{
	(void)me;
	pthread_mutex_lock(&mutex);
}
static void mutex_unlock(int me)
{
	(void)me;
	pthread_mutex_unlock(&mutex);
}
LOCK(mutex)

/* Locks twice in the wrong order: two threads, two mutexes. */
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static void crossed_lock(int me)
{
	pthread_mutex_lock(me ? &mutex : &other);
	pthread_mutex_lock(me ? &other : &mutex);
}
static void crossed_unlock(int me)
{
	(void)me;
	pthread_mutex_unlock(&mutex);
	pthread_mutex_unlock(&other);
}
LOCK(crossed)
