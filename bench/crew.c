/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pthread_timedjoin_np, sched_setaffinity */
#include "crew.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* Set by the thread that receives the signal. Relaxed: only ends a run. */
static pawl_atomic64 own_interrupt;
static pawl_atomic64 *interrupted = &own_interrupt;

void crew_interrupt(void)
{
	pawl_store_relaxed(interrupted, 1);
}

bool crew_interrupted(void)
{
	return pawl_load_relaxed(interrupted) != 0;
}

void crew_share_interrupt(void)
{
	void *word;

	if (interrupted != &own_interrupt)
		return;
	word = mmap(NULL, sizeof(*interrupted), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (word != MAP_FAILED)
		interrupted = word;
}

double crew_patience = 60;
bool crew_pins;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* In short sleeps: a signal may be delivered to another thread and does not interrupt
 * ours. */
static void sleep_until(double end)
{
	const double nap = 0.1;
	double left;

	while (!crew_interrupted() && (left = end - now()) > 0) {
		double length = left < nap ? left : nap;
		struct timespec t = {0, (long)(length * 1e9)};

		nanosleep(&t, NULL);
	}
}

struct seat {
	pthread_t thread;
	pthread_barrier_t *barrier;
	crew_work *work;
	void *member;
	int number;
	double started;
};

/* With more CPUs than cpu_set_t has bits, threads are not pinned. */
static void pin(int number)
{
	cpu_set_t usable, one;
	size_t cpu;

	if (sched_getaffinity(0, sizeof(usable), &usable) != 0)
		return;
	number %= CPU_COUNT(&usable);
	for (cpu = 0; !CPU_ISSET(cpu, &usable) || number-- > 0; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *sit(void *argument)
{
	struct seat *seat = argument;

	if (crew_pins)
		pin(seat->number);
	pthread_barrier_wait(seat->barrier);
	seat->started = now();
	seat->work(seat->member);
	return NULL;
}

static int start(struct seat *seats, int threads)
{
	int i, error = 0;

	for (i = 0; i < threads && error == 0; i++)
		error = pthread_create(&seats[i].thread, NULL, sit, &seats[i]);
	return error;
}

/* Returns 0, or ETIMEDOUT if the thread hangs. */
static int join(pthread_t thread)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end); /* pthread_timedjoin_np uses this clock */
	end.tv_sec += (time_t)crew_patience;
	return pthread_timedjoin_np(thread, NULL, &end);
}

double crew_run(int threads, crew_work *work, void *members, size_t size,
		pawl_atomic64 *stop, double warm_up, double seconds)
{
	struct seat *seats = calloc((size_t)threads, sizeof(*seats));
	pthread_barrier_t barrier;
	double started, stopped, warm = 0;
	int i;

	if (seats == NULL)
		return -1;
	pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
	for (i = 0; i < threads; i++) {
		seats[i].barrier = &barrier;
		seats[i].work = work;
		seats[i].number = i;
		seats[i].member = (char *)members + (size_t)i * size;
	}
	errno = start(seats, threads);
	if (errno != 0)
		return -1; /* threads still use seats and barrier */

	pthread_barrier_wait(&barrier);
	/* Relaxed, both: requests to stop; the joins order what the threads did. */
	if (warm_up > 0) {
		sleep_until(now() + warm_up);
		pawl_store_relaxed(stop, CREW_WARM); /* Relaxed. */
		warm = now();
	}
	sleep_until(now() + seconds);
	pawl_store_relaxed(stop, CREW_END); /* Relaxed. */
	stopped = now();

	started = stopped;
	for (i = 0; i < threads; i++) {
		errno = join(seats[i].thread);
		if (errno != 0)
			return -1;
		if (seats[i].started < started)
			started = seats[i].started;
	}
	pthread_barrier_destroy(&barrier);
	free(seats);
	return stopped - (warm_up > 0 ? warm : started);
}
