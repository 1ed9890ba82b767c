/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "ranks.h"
#include "hang.h"

#include "busy.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 3, ROUNDS = 1000, PAIRS = 2 * RANKS, CROWD = 32 };

static const struct ranks_monitor *monitor;
static int rounds;
static long count; /* of sections: not atomic, the mutex must do */
static sem_t start, turn[RANKS], done;

static void linger(int turns)
{
	volatile int i;

	for (i = 0; i < turns; i++)
		;
}

static void section(int turns)
{
	long before = count;

	linger(turns);
	count = before + 1;
}

static bool sit_on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

/* Starts a thread of the given rank, 0 being the lowest: of none, with no policy. */
static int start_one(pthread_t *thread, int policy, int rank, void *(*run)(void *))
{
	struct sched_param parameters = {.sched_priority = rank + 1};
	pthread_attr_t attributes;
	int error;

	pthread_attr_init(&attributes);
	if (policy != SCHED_OTHER) {
		pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attributes, policy);
		pthread_attr_setschedparam(&attributes, &parameters);
	}
	error = pthread_create(thread, &attributes, run, (void *)(intptr_t)rank);
	pthread_attr_destroy(&attributes);
	return error;
}

/* Runs so many threads, of all ranks in turn, which wait for `start` first. Expects
 * that they had so many sections together. */
static enum ranks_verdict run_all(const struct ranks_monitor *m, int policy, int threads,
				  void *(*run)(void *), long sections)
{
	pthread_t ids[CROWD];
	int i;

	if (!sit_on_one_cpu())
		return RANKS_REFUSED;
	monitor = m;
	count = 0;
	sem_init(&start, 0, 0);
	sem_init(&done, 0, 0);
	for (i = 0; i < RANKS; i++)
		sem_init(&turn[i], 0, 0);
	alarm(HANG_GUARD_S);
	for (i = 0; i < threads; i++)
		if (start_one(&ids[i], policy, i % RANKS, run) != 0)
			return RANKS_REFUSED; /* the first one, or there is no memory */
	for (i = 0; i < threads; i++)
		sem_post(&start);
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	alarm(0);
	return count == sections ? RANKS_RIGHT : RANKS_WRONG;
}

static void *arrive(void *argument)
{
	int rank = (int)(intptr_t)argument, i, other;

	sem_wait(&start);
	for (i = 0; i < rounds; i++) {
		if (rank != 0)
			sem_wait(&turn[rank]);
		monitor->lock();
		section(0);
		if (rank == 0)
			/* Each of these runs at once, up to where it waits. */
			for (other = 1; other < RANKS; other++) {
				sem_post(&turn[other]);
				linger(i % 20 * 1000);
			}
		monitor->unlock();
		if (rank != 0)
			sem_post(&done);
		else
			for (other = 1; other < RANKS; other++)
				sem_wait(&done);
	}
	return NULL;
}

enum ranks_verdict ranks_arrive(const struct ranks_monitor *m, int policy)
{
	rounds = ROUNDS;
	return run_all(m, policy, RANKS, arrive, (long)RANKS * rounds);
}

/* Who is not the lowest comes whenever its time is up, and now and then keeps the
 * mutex for so long that all wait: those below are woken, and passed over. */
static void *compete(void *argument)
{
	int rank = (int)(intptr_t)argument, i;

	sem_wait(&start);
	for (i = 0; i < rounds; i++) {
		const struct timespec nap = {0, 10000 + i * 7919L % 50000};

		if (rank != 0 && i % 8 == 0)
			nanosleep(&nap, NULL);
		monitor->lock();
		section(500);
		if (rank != 0 && i % 8 > 4)
			nanosleep(&nap, NULL);
		monitor->unlock();
		if (rank == 0 && i % 4 == 0)
			linger(2000);
	}
	return NULL;
}

enum ranks_verdict ranks_compete(const struct ranks_monitor *m, int policy)
{
	rounds = 2 * ROUNDS;
	return run_all(m, policy, PAIRS, compete, (long)PAIRS * rounds);
}

static bool full;
static int from; /* the rank that fills the place */
static int left; /* to be taken out */

static void *carry(void *argument)
{
	enum { FULL, EMPTY };
	bool fills = (int)(intptr_t)argument == from, more = true;
	int i;

	sem_wait(&start);
	for (i = 0; more; i++) {
		monitor->lock();
		while (full == fills && left > 0)
			monitor->wait(fills ? EMPTY : FULL);
		if (left > 0) {
			full = fills;
			left -= !fills;
			section(i % 20 * 100);
		}
		more = left > 0;
		monitor->signal(fills ? FULL : EMPTY);
		if (!more) { /* one for each of those that still wait */
			monitor->signal(FULL);
			monitor->signal(EMPTY);
		}
		monitor->unlock();
	}
	return NULL;
}

enum ranks_verdict ranks_queue(const struct ranks_monitor *m, int policy)
{
	enum ranks_verdict verdict = RANKS_RIGHT;

	rounds = 2 * ROUNDS;
	for (from = 0; from < RANKS && verdict == RANKS_RIGHT; from += RANKS - 1) {
		left = rounds;
		full = false;
		verdict = run_all(m, policy, RANKS, carry, 2L * rounds);
	}
	return verdict;
}

static int served[RANKS], tokens;

static void *lock_once(void *argument)
{
	monitor->lock();
	served[count++] = (int)(intptr_t)argument;
	monitor->unlock();
	return NULL;
}

static void *wait_once(void *argument)
{
	monitor->lock();
	while (tokens == 0)
		monitor->wait(0);
	tokens--;
	served[count++] = (int)(intptr_t)argument;
	monitor->unlock();
	return NULL;
}

static void hand_out_tokens(void)
{
	int i;

	for (i = 0; i < RANKS; i++) {
		monitor->lock();
		tokens++;
		monitor->signal(0);
		monitor->unlock();
	}
}

/* On one CPU, so each runs until it sleeps before the next one is started: this thread has
 * no rank. `serve` is called with the mutex held if `holds`. */
static enum ranks_verdict sleep_and_serve(const struct ranks_monitor *m, int policy,
					  void *(*run)(void *), bool holds,
					  void (*serve)(void))
{
	pthread_t ids[RANKS];
	int i;

	if (!sit_on_one_cpu())
		return RANKS_REFUSED;
	monitor = m;
	count = 0;
	alarm(HANG_GUARD_S);
	if (holds)
		monitor->lock();
	for (i = 0; i < RANKS; i++)
		if (start_one(&ids[i], policy, i, run) != 0) {
			if (holds)
				monitor->unlock();
			return RANKS_REFUSED;
		}
	serve();
	for (i = 0; i < RANKS; i++)
		pthread_join(ids[i], NULL);
	alarm(0);
	for (i = 0; i < RANKS; i++)
		if (served[i] != RANKS - 1 - i)
			return RANKS_WRONG;
	return RANKS_RIGHT;
}

enum ranks_verdict ranks_lock_in_order(const struct ranks_monitor *m, int policy)
{
	return sleep_and_serve(m, policy, lock_once, true, m->unlock);
}

enum ranks_verdict ranks_wait_in_order(const struct ranks_monitor *m, int policy)
{
	return sleep_and_serve(m, policy, wait_once, false, hand_out_tokens);
}

static void *throng(void *argument)
{
	int i;

	sem_wait(&start);
	for (i = 0; i < rounds; i++) {
		monitor->lock();
		section(20);
		monitor->unlock();
		linger(50);
	}
	return argument;
}

enum ranks_verdict ranks_crowd(const struct ranks_monitor *m, int sections)
{
	enum ranks_verdict verdict;

	rounds = sections;
	if (!sit_on_one_cpu() || !busy_begin())
		return RANKS_REFUSED;
	verdict = run_all(m, SCHED_OTHER, CROWD, throng, (long)CROWD * sections);
	busy_end();
	return verdict;
}
