/* SPDX-License-Identifier: MIT */
/*
 * Planted contention: three locks, each with a holder and waiters of its own, that
 * wait for as long as the holder likes. Prints what every wait really took, by its own
 * clock: LOCK WAITS NANOSECONDS LONGEST. Knows nothing of pawl.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 20 };

static pthread_mutex_t alpha = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t beta;
static pthread_mutex_t *gamma_lock; /* on the heap */

struct contest {
	pthread_mutex_t *lock;
	void (*hold)(pthread_mutex_t *, useconds_t);
	void (*wait)(pthread_mutex_t *);
	useconds_t held_us;
	atomic_int held, coming; /* the round in which it is held, or wanted */
	pthread_barrier_t barrier;
	uint64_t waits, ns, longest;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct contest *current;
static int current_round;

/* Until the waiter is about to wait, and then for as long as is planted. */
static void linger(useconds_t us)
{
	atomic_store(&current->held, current_round);
	while (atomic_load(&current->coming) < current_round)
		usleep(50);
	usleep(us);
}

#define PART(name)                                                               \
	__attribute__((noinline)) static void hold_##name(pthread_mutex_t *lock, \
							  useconds_t us)         \
	{                                                                        \
		pthread_mutex_lock(lock);                                        \
		linger(us);                                                      \
		pthread_mutex_unlock(lock);                                      \
	}                                                                        \
	__attribute__((noinline)) static void wait_##name(pthread_mutex_t *lock) \
	{                                                                        \
		pthread_mutex_lock(lock);                                        \
		pthread_mutex_unlock(lock);                                      \
	}
PART(alpha)
PART(beta)
PART(gamma)

__attribute__((noinline)) static void holder_side(struct contest *c)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		current_round = i + 1;
		c->hold(c->lock, c->held_us);
		pthread_barrier_wait(&c->barrier);
	}
}

__attribute__((noinline)) static void waiter_side(struct contest *c)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		uint64_t began, took;

		while (atomic_load(&c->held) <= i)
			usleep(50);
		began = now();
		atomic_store(&c->coming, i + 1);
		c->wait(c->lock);
		took = now() - began;
		c->waits++;
		c->ns += took;
		if (took > c->longest)
			c->longest = took;
		pthread_barrier_wait(&c->barrier);
	}
}

static void *holder(void *argument)
{
	holder_side(argument);
	return NULL;
}

static void *waiter(void *argument)
{
	waiter_side(argument);
	return NULL;
}

__attribute__((noinline)) static pthread_mutex_t *make_gamma(void)
{
	pthread_mutex_t *lock = malloc(sizeof(*lock));

	pthread_mutex_init(lock, NULL);
	return lock;
}

static void contend(const char *name, struct contest *c)
{
	pthread_t threads[2];

	current = c;
	pthread_barrier_init(&c->barrier, NULL, 2);
	pthread_create(&threads[0], NULL, holder, c);
	pthread_create(&threads[1], NULL, waiter, c);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%s %ju %ju %ju\n", name, (uintmax_t)c->waits, (uintmax_t)c->ns,
	       (uintmax_t)c->longest);
}

int main(void)
{
	struct contest contests[] = {
		{.lock = &alpha,
		 .hold = hold_alpha,
		 .wait = wait_alpha,
		 .held_us = 20000},
		{.lock = &beta, .hold = hold_beta, .wait = wait_beta, .held_us = 10000},
		{.hold = hold_gamma, .wait = wait_gamma, .held_us = 5000},
	};

	gamma_lock = contests[2].lock = make_gamma();
	contend("alpha", &contests[0]);
	contend("beta", &contests[1]);
	contend("gamma", &contests[2]);
	return 0;
}
