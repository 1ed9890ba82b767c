/* SPDX-License-Identifier: MIT */
/* Many threads, and every way to lock and to wait. */
#define _GNU_SOURCE
#include "integrity.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Exclusion: all ways to lock at once, on plain variables, by more threads than there
 * are CPUs. */
void exclusion(void)
{
	static const pthread_mutex_t kinds[] = {PTHREAD_MUTEX_INITIALIZER,
						PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
						PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
						PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};
	struct shared s;
	size_t i;

	for (i = 0; i < 4; i++) {
		s = (struct shared){.m = kinds[i], .c = PTHREAD_COND_INITIALIZER};
		run_for(run_ms, thread_count, hammer, &s);
		CHECK(s.sum == s.counted);
		CHECK(s.sum > 0);
	}
}

/* Ping-pong: hangs if one signal gets lost. */
struct table {
	pthread_mutex_t m;
	pthread_cond_t c[2];
	int turn, rounds;
	bool signal_outside, timed;
};

struct player {
	struct table *table;
	int side;
};

static void *play(void *argument)
{
	struct player *p = argument;
	struct table *t = p->table;
	struct timespec late = in_ms(CLOCK_REALTIME, 50000);
	int i;

	for (i = 0; i < t->rounds; i++) {
		CHECK(pthread_mutex_lock(&t->m) == 0);
		while (t->turn != p->side)
			if (t->timed)
				CHECK(pthread_cond_timedwait(&t->c[p->side], &t->m,
							     &late) == 0);
			else
				CHECK(pthread_cond_wait(&t->c[p->side], &t->m) == 0);
		t->turn = 1 - p->side;
		if (!t->signal_outside)
			pthread_cond_signal(&t->c[1 - p->side]);
		pthread_mutex_unlock(&t->m);
		if (t->signal_outside)
			pthread_cond_signal(&t->c[1 - p->side]);
	}
	return NULL;
}

void pingpong(void)
{
	int variant;

	for (variant = 0; variant < 4; variant++) {
		struct table t = {
			.m = PTHREAD_MUTEX_INITIALIZER,
			.c = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER},
			.rounds = 250 * effort,
			.signal_outside = (variant & 1) != 0,
			.timed = (variant & 2) != 0};
		struct player players[2] = {{&t, 0}, {&t, 1}};
		pthread_t threads[2];

		start_all(&threads[0], 1, play, &players[0]);
		start_all(&threads[1], 1, play, &players[1]);
		join_all(threads, 2);
	}
}

/* A barrier made of a broadcast: hangs if one waiter is overlooked. */
struct barrier {
	pthread_mutex_t m;
	pthread_cond_t c;
	int arrived, generation, rounds;
};

static void *meet(void *argument)
{
	struct barrier *b = argument;
	int i, generation;

	for (i = 0; i < b->rounds; i++) {
		pthread_mutex_lock(&b->m);
		generation = b->generation;
		if (++b->arrived == thread_count) {
			b->arrived = 0;
			b->generation++;
			pthread_cond_broadcast(&b->c);
		}
		while (generation == b->generation)
			pthread_cond_wait(&b->c, &b->m);
		pthread_mutex_unlock(&b->m);
	}
	return NULL;
}

void broadcast(void)
{
	struct barrier b = {.m = PTHREAD_MUTEX_INITIALIZER,
			    .c = PTHREAD_COND_INITIALIZER,
			    .rounds = 25 * effort};
	pthread_t threads[MOST_THREADS];

	start_all(threads, thread_count, meet, &b);
	join_all(threads, thread_count);
}

/* Nobody starves: every waiter of a queue gets its share. */
static long served[MOST_THREADS];
static struct barrier queue = {.m = PTHREAD_MUTEX_INITIALIZER,
			       .c = PTHREAD_COND_INITIALIZER};

static void *serve(void *argument)
{
	long *mine = argument;

	pthread_mutex_lock(&queue.m);
	while (!stop) {
		pthread_cond_wait(&queue.c, &queue.m);
		(*mine)++;
	}
	pthread_mutex_unlock(&queue.m);
	return NULL;
}

void fair(void)
{
	pthread_t threads[MOST_THREADS];
	int i;

	stop = false;
	for (i = 0; i < thread_count; i++)
		start_all(&threads[i], 1, serve, &served[i]);
	for (i = 0; i < 150 * effort; i++) {
		pthread_mutex_lock(&queue.m);
		pthread_cond_signal(&queue.c);
		pthread_mutex_unlock(&queue.m);
		if (i % 8 == 0)
			usleep(10);
	}
	stop = true;
	for (i = 0; i < 200; i++) {
		pthread_cond_broadcast(&queue.c);
		usleep(1000);
	}
	join_all(threads, thread_count);
	for (i = 0; i < thread_count; i++)
		CHECK(served[i] > 0);
}

/* 1,025 mutexes held by one thread, released in another order, twice. */
void many(void)
{
	enum { MANY = 1025 };
	static pthread_mutex_t m[MANY];
	int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < MANY; i++)
			CHECK(pthread_mutex_lock(&m[i]) == 0);
		for (i = 0; i < MANY; i++)
			CHECK(pthread_mutex_trylock(&m[i]) == EBUSY);
		for (i = 0; i < MANY; i++)
			CHECK(pthread_mutex_unlock(&m[i * 7 % MANY]) == 0);
		for (i = 0; i < MANY; i++)
			CHECK(pthread_mutex_trylock(&m[i]) == 0);
		for (i = MANY - 1; i >= 0; i--)
			CHECK(pthread_mutex_unlock(&m[i]) == 0);
	}
}

/* Prompt destruction: whoever unlocks last frees the memory. */
struct counted {
	pthread_mutex_t m;
	pthread_cond_t c;
	int references;
};

static void *drop(void *argument)
{
	struct counted *o = argument;
	int left;

	pthread_mutex_lock(&o->m);
	left = --o->references;
	pthread_cond_signal(&o->c);
	pthread_mutex_unlock(&o->m);
	if (left == 0) {
		pthread_cond_destroy(&o->c);
		CHECK(pthread_mutex_destroy(&o->m) == 0);
		memset(o, 0xA5, sizeof(*o));
		free(o);
	}
	return NULL;
}

/* Threads come and go all the time: nothing may pile up. */
void churn(void)
{
	int i, n;

	for (i = 0; i < 20 * effort; i++) {
		struct counted *o = malloc(sizeof(*o));
		pthread_t threads[4];

		pthread_mutex_init(&o->m, NULL);
		pthread_cond_init(&o->c, NULL);
		o->references = 4;
		start_all(threads, 4, drop, o);
		for (n = 0; n < 4; n++)
			pthread_join(threads[n], NULL);
	}
}

/* Another thread unlocks; only for locks that allow it. */
static pthread_mutex_t lent = PTHREAD_MUTEX_INITIALIZER;

static void *unlock_lent(void *argument)
{
	CHECK(pthread_mutex_unlock(&lent) == 0);
	return argument;
}

void stranger(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 10 * effort; i++) {
		CHECK(pthread_mutex_lock(&lent) == 0);
		start_all(&thread, 1, unlock_lent, NULL);
		CHECK(pthread_mutex_lock(&lent) == 0);
		CHECK(pthread_mutex_unlock(&lent) == 0);
		join_all(&thread, 1);
	}
}

/* A timed lock gets its turn although the mutex is never left alone. */
static struct shared busy = {.m = PTHREAD_MUTEX_INITIALIZER};

static void *keep_busy(void *argument)
{
	while (!stop) {
		pthread_mutex_lock(&busy.m);
		busy.sum++;
		pthread_mutex_unlock(&busy.m);
	}
	return argument;
}

void timed(void)
{
	pthread_t threads[3];
	struct timespec late;
	int i;

	stop = false;
	start_all(threads, 3, keep_busy, NULL);
	for (i = 0; i < effort; i++) {
		late = in_ms(CLOCK_MONOTONIC, 10000);
		CHECK(pthread_mutex_clocklock(&busy.m, CLOCK_MONOTONIC, &late) == 0);
		busy.sum++;
		CHECK(pthread_mutex_unlock(&busy.m) == 0);
	}
	stop = true;
	join_all(threads, 3);
}

/* The spin lock under load. */
static pthread_spinlock_t spin;
static long spun, spun_by_all;

static void *spin_hammer(void *argument)
{
	long mine = 0;

	while (!stop) {
		if (mine % 3 == 0) {
			if (pthread_spin_trylock(&spin) != 0)
				pthread_spin_lock(&spin);
		} else {
			pthread_spin_lock(&spin);
		}
		spun++;
		mine++;
		pthread_spin_unlock(&spin);
	}
	__atomic_fetch_add(&spun_by_all, mine, __ATOMIC_RELAXED);
	return argument;
}

void spins(void)
{
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	run_for(run_ms, thread_count, spin_hammer, NULL);
	CHECK(spun == spun_by_all);
}

/* Newcomers, all at once: under PAWL_STATS each needs a record of its own. */
static pthread_barrier_t gate;

static void *come_in(void *argument)
{
	struct shared *s = argument;

	pthread_barrier_wait(&gate);
	pthread_mutex_lock(&s->m);
	s->sum++;
	pthread_mutex_unlock(&s->m);
	return NULL;
}

void newcomers(void)
{
	struct shared s = {.m = PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[32];
	int i;

	CHECK(pthread_barrier_init(&gate, NULL, 32) == 0);
	for (i = 0; i < 10 * effort; i++) {
		start_all(threads, 32, come_in, &s);
		join_all(threads, 32);
	}
	CHECK(s.sum == 32L * 10 * effort);
}

static void *wait_at_depth(void *argument)
{
	struct party *p = argument;
	int i;

	for (i = 0; i < p->depth; i++)
		CHECK(pthread_mutex_lock(p->m) == 0);
	p->about_to_wait = gettid();
	CHECK(pthread_cond_wait(p->c, p->m) == 0);
	for (i = 0; i < p->depth; i++)
		CHECK(pthread_mutex_unlock(p->m) == 0);
	return NULL;
}

/* Starts it and returns once it waits: it sleeps nowhere else from there on. */
static void start_waiting(pthread_t *thread, struct party *p)
{
	start_all(thread, 1, wait_at_depth, p);
	while (p->about_to_wait == 0 || !is_asleep(p->about_to_wait))
		sched_yield();
}

/* One broadcast wakes them all: with a mutex that is let go of, and with one that is
 * not, because it was locked twice. */
void depths(void)
{
	static const int orders[][3] = {{1, 1, 2}, {1, 2, 0}};
	size_t order;
	int i, n;

	for (order = 0; order < 2; order++) {
		pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
		pthread_cond_t c = PTHREAD_COND_INITIALIZER;
		struct party parties[3];
		pthread_t threads[3];

		for (n = 0; n < 3 && orders[order][n] != 0; n++) {
			parties[n] = (struct party){&m, &c, orders[order][n], 0};
			start_waiting(&threads[n], &parties[n]);
		}
		CHECK(pthread_cond_broadcast(&c) == 0);
		for (i = 0; i < n; i++)
			join_all(&threads[i], 1);
	}
}

/* The same with one condition variable and several mutexes, of several sorts. */
void mixture(void)
{
	pthread_mutex_t m[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
				PTHREAD_MUTEX_INITIALIZER};
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_mutexattr_t attr;
	struct party parties[8];
	pthread_t threads[8];
	int i;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	CHECK(pthread_mutex_init(&m[3], &attr) == 0);
	for (i = 0; i < 8; i++) {
		parties[i] = (struct party){&m[i % 4], &c, 1, 0};
		start_waiting(&threads[i], &parties[i]);
	}
	CHECK(pthread_cond_broadcast(&c) == 0);
	join_all(threads, 8);
}
