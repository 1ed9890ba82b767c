/* SPDX-License-Identifier: MIT */
/* pawl_cond: who is woken, when, and that nobody is forgotten. */
#include "harness/harness.h"
#include "sleep/parking.h"

#include <pawl/cond.h>

#include <errno.h>
#include <unistd.h>

struct room {
	struct pawl_mutex m;
	struct pawl_cond c[2];
	int turn, waiting, let_in, open;
	long produced, consumed;
	int rounds;
	bool done;
};

/* How many threads this one has woken: the linker gives us the library's calls. */
static __thread int wakes;

void __real_pawl_os_wake(const pawl_atomic64 *word);
void __wrap_pawl_os_wake(const pawl_atomic64 *word);

void __wrap_pawl_os_wake(const pawl_atomic64 *word)
{
	wakes++;
	__real_pawl_os_wake(word);
}

static struct timespec soon(clockid_t clock, long us)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_nsec += us * 1000;
	while (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return time;
}

/* Waits for a ticket to be let in. */
static void *enter(void *argument)
{
	struct room *room = argument;

	pawl_mutex_lock(&room->m);
	room->waiting++;
	while (room->open == 0)
		pawl_cond_wait(&room->c[0], &room->m);
	room->open--;
	room->waiting--;
	room->let_in++;
	pawl_mutex_unlock(&room->m);
	return NULL;
}

static void await_waiting(struct room *room, int n)
{
	for (;;) {
		bool there;

		pawl_mutex_lock(&room->m);
		there = room->waiting == n;
		pawl_mutex_unlock(&room->m);
		if (there)
			return;
		usleep(200);
	}
}

static void a_signal_lets_one_in_and_a_broadcast_the_rest(void **state)
{
	static struct room room;
	pthread_t threads[6];
	size_t i;

	(void)state;
	watchdog("signal and broadcast");
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_create(&threads[i], NULL, enter, &room);
	await_waiting(&room, COUNT_OF(threads));

	pawl_mutex_lock(&room.m);
	room.open = 1;
	assert_int_equal(pawl_load_relaxed(&room.c[0].waiters), COUNT_OF(threads));
	wakes = 0;
	pawl_cond_signal(&room.c[0]);
	/* The others, if they were woken, would see nothing and wait again. */
	assert_int_equal(pawl_load_relaxed(&room.c[0].waiters), COUNT_OF(threads) - 1);
	assert_true(wakes <= 1);
	pawl_mutex_unlock(&room.m);
	await_waiting(&room, COUNT_OF(threads) - 1);

	pawl_mutex_lock(&room.m);
	room.open = COUNT_OF(threads) - 1;
	pawl_mutex_unlock(&room.m);
	pawl_cond_broadcast(&room.c[0]); /* without the mutex, too */
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	watchdog(NULL);
	assert_int_equal(room.let_in, COUNT_OF(threads));
	assert_int_equal(pawl_load_relaxed(&room.c[0].waiters), 0);
	/* The lower half: nobody is queued. */
	assert_int_equal((uint32_t)pawl_load_relaxed(&room.m.due), 0);
}

/* A broadcast under the mutex wakes the first at most; the others are moved. */
static void a_broadcast_does_not_stampede(void **state)
{
	static struct room room;
	pthread_t threads[6];
	size_t i;

	(void)state;
	watchdog("stampede");
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_create(&threads[i], NULL, enter, &room);
	await_waiting(&room, COUNT_OF(threads));
	pawl_mutex_lock(&room.m);
	room.open = COUNT_OF(threads);
	wakes = 0;
	pawl_cond_broadcast(&room.c[0]);
	assert_true(wakes <= 1);
	/* All have left the condition variable, for the mutex's queue. */
	assert_int_equal(pawl_load_relaxed(&room.c[0].waiters), 0);
	assert_true(pawl_may_be_parked(&room.m));
	assert_int_equal(room.let_in, 0);
	pawl_mutex_unlock(&room.m);
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	watchdog(NULL);
	assert_int_equal(room.let_in, COUNT_OF(threads));
	assert_false(pawl_may_be_parked(&room.m));
}

static void a_signal_for_nobody_is_forgotten(void **state)
{
	struct room room = {.open = 0};
	struct timespec then = soon(CLOCK_MONOTONIC, 20000);

	(void)state;
	pawl_cond_signal(&room.c[0]);
	pawl_cond_broadcast(&room.c[0]);
	pawl_mutex_lock(&room.m);
	assert_int_equal(pawl_cond_timedwait(&room.c[0], &room.m, CLOCK_MONOTONIC, &then),
			 ETIMEDOUT);
	pawl_mutex_unlock(&room.m);
}

static void a_timed_wait_ends_on_either_clock_with_the_mutex(void **state)
{
	static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
	struct room room = {.open = 0};
	size_t i;

	(void)state;
	pawl_mutex_lock(&room.m);
	for (i = 0; i < COUNT_OF(clocks); i++) {
		struct timespec then = soon(clocks[i], 10000), now;

		assert_int_equal(
			pawl_cond_timedwait(&room.c[0], &room.m, clocks[i], &then),
			ETIMEDOUT);
		clock_gettime(clocks[i], &now);
		assert_true(now.tv_sec > then.tv_sec ||
			    (now.tv_sec == then.tv_sec && now.tv_nsec >= then.tv_nsec));
		assert_false(pawl_mutex_trylock(&room.m));
	}
	assert_int_equal(pawl_load_relaxed(&room.c[0].waiters), 0);
	pawl_mutex_unlock(&room.m);
}

static void a_bad_time_is_refused_without_letting_go(void **state)
{
	struct room room = {.open = 0};
	struct timespec bad = {.tv_nsec = 1000000000}, then = soon(CLOCK_MONOTONIC, 100);

	(void)state;
	pawl_mutex_lock(&room.m);
	assert_int_equal(pawl_cond_timedwait(&room.c[0], &room.m, CLOCK_MONOTONIC, &bad),
			 EINVAL);
	assert_int_equal(
		pawl_cond_timedwait(&room.c[0], &room.m, CLOCK_THREAD_CPUTIME_ID, &then),
		EINVAL);
	assert_false(pawl_mutex_trylock(&room.m));
	pawl_mutex_unlock(&room.m);
}

/* A single lost signal and the two wait for each other for ever. */
static void *play(void *argument)
{
	static pawl_atomic64 players;
	struct room *room = argument;
	int me = (int)(pawl_fetch_add_relaxed(&players, 1) % 2); /* Relaxed: a number */
	int i;

	for (i = 0; i < room->rounds; i++) {
		pawl_mutex_lock(&room->m);
		while (room->turn != me)
			pawl_cond_wait(&room->c[me], &room->m);
		room->turn = !me;
		pawl_cond_signal(&room->c[!me]);
		pawl_mutex_unlock(&room->m);
	}
	return NULL;
}

static void no_signal_is_lost_in_a_ping_pong(void **state)
{
	static struct room room = {.rounds = 20000};
	pthread_t players[2];

	(void)state;
	watchdog("ping-pong");
	pthread_create(&players[0], NULL, play, &room);
	pthread_create(&players[1], NULL, play, &room);
	pthread_join(players[0], NULL);
	pthread_join(players[1], NULL);
	watchdog(NULL);
}

/* Signals, broadcasts and deadlines at once: all that was produced is consumed. */
static void *consume(void *argument)
{
	struct room *room = argument;
	unsigned random = (unsigned)(uintptr_t)&random;

	pawl_mutex_lock(&room->m);
	for (;;) {
		while (room->produced == room->consumed && !room->done) {
			struct timespec then;

			random = random * 1103515245u + 12345;
			then = soon(CLOCK_MONOTONIC, (long)(random >> 16) % 200);
			if (random & 0x4000)
				pawl_cond_wait(&room->c[0], &room->m);
			else
				pawl_cond_timedwait(&room->c[0], &room->m,
						    CLOCK_MONOTONIC, &then);
		}
		if (room->produced == room->consumed)
			break;
		room->consumed++;
	}
	pawl_mutex_unlock(&room->m);
	return NULL;
}

static void everything_produced_is_consumed(void **state)
{
	static struct room room;
	pthread_t threads[5];
	size_t i;
	int item;

	(void)state;
	watchdog("producer");
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_create(&threads[i], NULL, consume, &room);
	for (item = 0; item < 50000; item++) {
		pawl_mutex_lock(&room.m);
		room.produced++;
		if (item % 7 == 0)
			pawl_cond_broadcast(&room.c[0]);
		else
			pawl_cond_signal(&room.c[0]);
		pawl_mutex_unlock(&room.m);
	}
	pawl_mutex_lock(&room.m);
	room.done = true;
	pawl_cond_broadcast(&room.c[0]);
	pawl_mutex_unlock(&room.m);
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	watchdog(NULL);
	assert_int_equal(room.consumed, 50000);
	assert_int_equal(pawl_load_relaxed(&room.c[0].waiters), 0);
	/* The lower half: nobody is queued. */
	assert_int_equal((uint32_t)pawl_load_relaxed(&room.m.due), 0);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_signal_lets_one_in_and_a_broadcast_the_rest),
		cmocka_unit_test(a_broadcast_does_not_stampede),
		cmocka_unit_test(a_signal_for_nobody_is_forgotten),
		cmocka_unit_test(a_timed_wait_ends_on_either_clock_with_the_mutex),
		cmocka_unit_test(a_bad_time_is_refused_without_letting_go),
		cmocka_unit_test(no_signal_is_lost_in_a_ping_pong),
		cmocka_unit_test(everything_produced_is_consumed),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
