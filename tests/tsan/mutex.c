/* SPDX-License-Identifier: MIT */
/* pawl_mutex with more than one thread in its queue, and pawl_cond. */
#include "cases.h"

#include <pawl/cond.h>

#include <pthread.h>

enum { CROWD = 4, ROUNDS = 200 };

static struct pawl_mutex m;
static struct pawl_cond c;
static long waiting, turn;

/* A crowd, so that some are granted the lock, and some follow in the queue. */
static void *queue_up(void *unused)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		pawl_mutex_lock(&m);
		guarded++;
		pawl_mutex_unlock(&m);
	}
	return unused;
}

static void crowd(void)
{
	pthread_t threads[CROWD];
	int i;

	pawl_mutex_lock(&m);
	for (i = 0; i < CROWD; i++)
		pthread_create(&threads[i], NULL, queue_up, NULL);
	await_parked();
	guarded++;
	pawl_mutex_unlock(&m);
	for (i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
}

static bool wait_timed;

/* Waits for its turn; on time, if it is to. */
static void *wait_for_turn(void *unused)
{
	struct timespec later;

	clock_gettime(CLOCK_REALTIME, &later);
	later.tv_sec += 600;
	pawl_mutex_lock(&m);
	waiting++;
	while (turn == 0)
		if (wait_timed)
			pawl_cond_timedwait(&c, &m, CLOCK_REALTIME, &later);
		else
			pawl_cond_wait(&c, &m);
	turn--;
	guarded++;
	pawl_mutex_unlock(&m);
	return unused;
}

/* Signals under the mutex, so that the waiters are moved to its queue. */
static void give_turns(bool all)
{
	pthread_t threads[CROWD];
	int i;

	waiting = turn = 0;
	for (i = 0; i < CROWD; i++)
		pthread_create(&threads[i], NULL, wait_for_turn, NULL);
	for (i = 0; i < CROWD;) {
		pawl_mutex_lock(&m);
		if (waiting == CROWD) {
			turn += all ? CROWD : 1;
			i += all ? CROWD : 1;
			guarded++;
			if (all)
				pawl_cond_broadcast(&c);
			else
				pawl_cond_signal(&c);
		}
		pawl_mutex_unlock(&m);
	}
	for (i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
}

static void signal_each(void)
{
	wait_timed = false;
	give_turns(false);
}

static void broadcast(void)
{
	wait_timed = false;
	give_turns(true);
}

static void broadcast_to_timed(void)
{
	wait_timed = true;
	give_turns(true);
}

static void time_out(void)
{
	static const struct timespec past = {.tv_sec = 1};

	pawl_mutex_lock(&m);
	guarded++;
	demand(pawl_cond_timedwait(&c, &m, CLOCK_MONOTONIC, &past) == ETIMEDOUT,
	       "nobody signals");
	guarded++;
	pawl_mutex_unlock(&m);
}

static void time_out_twice(void)
{
	together(time_out, time_out);
}

/* The race: the signal comes under the mutex, what it tells of does not. */
static void wait_and_look(void)
{
	pawl_mutex_lock(&m);
	reach(1);
	while (turn == 0)
		pawl_cond_wait(&c, &m);
	exposed++;
	pawl_mutex_unlock(&m);
}

static void signal_and_touch(void)
{
	await_step(1);
	pawl_mutex_lock(&m);
	turn = 1;
	pawl_cond_signal(&c);
	pawl_mutex_unlock(&m);
	exposed++;
}

static void touch_after_signal(void)
{
	turn = 0;
	together(wait_and_look, signal_and_touch);
}

void test_mutex(void)
{
	clean("mutex", "crowd", crowd);
	clean("cond", "signal", signal_each);
	clean("cond", "broadcast", broadcast);
	clean("cond", "broadcast to timed waiters", broadcast_to_timed);
	clean("cond", "time-out", time_out_twice);
	racy("cond", "touched after the signal", touch_after_signal);
}
