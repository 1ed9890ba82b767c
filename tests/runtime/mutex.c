/* SPDX-License-Identifier: MIT */
/* pawl_mutex beyond what every lock is tested for: deadlines, queue, fork. */
#define _GNU_SOURCE
#include "harness/child.h"
#include "harness/harness.h"
#include "sleep/parking.h"

#include <pawl/cond.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(sizeof(struct pawl_mutex) == 16, "a million mutexes are 16 MB");

/*
 * Nothing of a mutex is left in the table, and its words are those of a new one;
 * or soon will be: an unlock that was under way when the last waiter gave up may
 * have overwritten its due = 0, and later ones count that down.
 */
static void assert_clean(struct pawl_mutex *m)
{
	int i;

	assert_int_equal(pawl_load_acquire(&m->word), 0);
	assert_int_equal(pawl_load_acquire(&pawl_filter_of_(m)->wanted), 0);
	assert_false(pawl_may_be_parked(m));
	for (i = 0; i < PAWL_MUTEX_BYPASS && pawl_load_acquire(&m->due) != 0; i++) {
		assert_true(pawl_mutex_trylock(m));
		pawl_mutex_unlock(m);
	}
	assert_int_equal(pawl_load_acquire(&m->due), 0);
}

/* What such an unlock leaves: a turn that is due, and nobody whose it is. */
static void a_turn_that_is_nobodys_is_forgotten(void **state)
{
	static const uint64_t left[] = {1, 2, PAWL_MUTEX_BYPASS - 1};
	size_t i;

	(void)state;
	watchdog("nobody's turn");
	for (i = 0; i < COUNT_OF(left); i++) {
		struct pawl_mutex m = PAWL_MUTEX_INIT;

		pawl_store_relaxed(&m.due, left[i]); /* Relaxed: nobody else is here */
		assert_clean(&m);
		pawl_mutex_lock(&m);
		pawl_mutex_unlock(&m);
		assert_clean(&m);
	}
	watchdog(NULL);
}

static void timedlock_gives_up_at_its_deadline_on_either_clock(void **state)
{
	static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
	struct pawl_mutex m = PAWL_MUTEX_INIT;
	size_t i;

	(void)state;
	pawl_mutex_lock(&m);
	for (i = 0; i < COUNT_OF(clocks); i++) {
		struct timespec then = in_ms(clocks[i], 30), now;

		errno = 42;
		assert_int_equal(pawl_mutex_timedlock(&m, clocks[i], &then), ETIMEDOUT);
		assert_int_equal(errno, 42);
		clock_gettime(clocks[i], &now);
		assert_true(now.tv_sec > then.tv_sec ||
			    (now.tv_sec == then.tv_sec && now.tv_nsec >= then.tv_nsec));
	}
	pawl_mutex_unlock(&m);
	assert_clean(&m);
}

static void timedlock_takes_a_free_mutex_whatever_the_time(void **state)
{
	struct pawl_mutex m = PAWL_MUTEX_INIT;
	struct timespec past = {.tv_sec = 1}, bad = {.tv_nsec = -1};

	(void)state;
	assert_int_equal(pawl_mutex_timedlock(&m, CLOCK_MONOTONIC, &past), 0);
	assert_int_equal(pawl_mutex_timedlock(&m, CLOCK_MONOTONIC, &past), ETIMEDOUT);
	pawl_mutex_unlock(&m);
	assert_int_equal(pawl_mutex_timedlock(&m, CLOCK_REALTIME, &bad), 0);
	pawl_mutex_unlock(&m);
}

static void timedlock_refuses_bad_times_and_clocks(void **state)
{
	struct pawl_mutex m = PAWL_MUTEX_INIT;
	struct timespec negative = {.tv_nsec = -1}, large = {.tv_nsec = 1000000000};
	struct timespec before = {.tv_sec = -1}, soon = in_ms(CLOCK_MONOTONIC, 5);

	(void)state;
	pawl_mutex_lock(&m);
	assert_int_equal(pawl_mutex_timedlock(&m, CLOCK_MONOTONIC, &negative), EINVAL);
	assert_int_equal(pawl_mutex_timedlock(&m, CLOCK_MONOTONIC, &large), EINVAL);
	assert_int_equal(pawl_mutex_timedlock(&m, CLOCK_PROCESS_CPUTIME_ID, &soon),
			 EINVAL);
	assert_int_equal(pawl_mutex_timedlock(&m, CLOCK_REALTIME, &before), ETIMEDOUT);
	pawl_mutex_unlock(&m);
	assert_clean(&m);
}

struct contest {
	struct pawl_mutex m;
	struct pawl_cond c;
	pawl_atomic64 stop, served, late;
	long inside, total;
	int rounds;
};

/* The section: one at a time, or the sum comes out wrong. */
static void serve(struct contest *contest)
{
	contest->inside++;
	assert_int_equal(contest->inside, 1);
	contest->total++;
	contest->inside--;
}

static void *lock_for_long(void *argument)
{
	struct contest *contest = argument;
	int i;

	for (i = 0; i < contest->rounds; i++) {
		pawl_mutex_lock(&contest->m);
		serve(contest);
		pawl_mutex_unlock(&contest->m);
	}
	return NULL;
}

/* Deadlines so close that giving up and being let in happen at once. */
static void *lock_in_a_hurry(void *argument)
{
	struct contest *contest = argument;
	unsigned random = (unsigned)(uintptr_t)&random;
	int i;

	for (i = 0; i < contest->rounds; i++) {
		struct timespec then = in_ms(CLOCK_MONOTONIC, 0);

		random = random * 1103515245u + 12345;
		then.tv_nsec += (long)(random >> 16) % 40000;
		if (then.tv_nsec >= 1000000000) {
			then.tv_sec++;
			then.tv_nsec -= 1000000000;
		}
		if (pawl_mutex_timedlock(&contest->m, CLOCK_MONOTONIC, &then) != 0) {
			pawl_fetch_add_relaxed(&contest->late, 1); /* Relaxed: a count */
			continue;
		}
		serve(contest);
		pawl_mutex_unlock(&contest->m);
	}
	return NULL;
}

static void timed_waiters_leave_nothing_behind(void **state)
{
	struct contest contest = {.rounds = 20000};
	pthread_t threads[6];
	size_t i;

	(void)state;
	watchdog("timed waiters");
	for (i = 0; i < COUNT_OF(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						i % 2 ? lock_in_a_hurry : lock_for_long,
						&contest),
				 0);
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	watchdog(NULL);
	assert_int_equal(contest.total + (long)pawl_load_relaxed(&contest.late),
			 (long)COUNT_OF(threads) * contest.rounds);
	assert_clean(&contest.m);
}

/* Several times as many threads as CPUs: the bounded form of 10,000. */
static void a_crowd_gets_through(void **state)
{
	struct contest contest = {.rounds = 100};
	pthread_attr_t small;
	enum { CROWD = 400 };
	pthread_t threads[CROWD];
	int i;

	(void)state;
	watchdog("crowd");
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 * 1024);
	pawl_mutex_lock(&contest.m);
	for (i = 0; i < CROWD; i++)
		assert_int_equal(
			pthread_create(&threads[i], &small, lock_for_long, &contest), 0);
	pawl_mutex_unlock(&contest.m);
	for (i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	watchdog(NULL);
	assert_int_equal(contest.total, (long)CROWD * contest.rounds);
	assert_clean(&contest.m);
}

/* Waiters that queued in a known order are let in, in that order, by holders
 * that do not come back. */
static struct pawl_mutex queue_mutex;
static int admitted[8], admitted_count;

static void *queue_once(void *argument)
{
	pawl_mutex_lock(&queue_mutex);
	admitted[admitted_count++] = (int)(intptr_t)argument;
	/* Long enough for the head to be woken and take its turn. */
	usleep(1000);
	pawl_mutex_unlock(&queue_mutex);
	return NULL;
}

static int queued(const void *address)
{
	/* Relaxed: a look from outside, by and by. */
	return pawl_load_relaxed(&pawl_filter_of_(address)->wanted) > 0;
}

static void the_head_sleeps_and_is_counted(void **state)
{
	pthread_t thread;

	(void)state;
	watchdog("head");
	admitted_count = 0;
	pawl_mutex_lock(&queue_mutex);
	pthread_create(&thread, NULL, queue_once, (void *)0);
	while (!queued(&queue_mutex))
		usleep(1000);
	assert_true(pawl_load_relaxed(&queue_mutex.due) > 1);
	pawl_mutex_unlock(&queue_mutex);
	pthread_join(thread, NULL);
	watchdog(NULL);
	assert_int_equal(admitted_count, 1);
	assert_clean(&queue_mutex);
}

/* due = 1: the next unlock hands over, and the mutex is never free between. */
static void an_insistent_head_is_handed_the_lock(void **state)
{
	pthread_t thread;

	(void)state;
	watchdog("hand-over");
	admitted_count = 0;
	pawl_mutex_lock(&queue_mutex);
	pthread_create(&thread, NULL, queue_once, (void *)0);
	while (!queued(&queue_mutex))
		usleep(1000);
	pawl_store_relaxed(&queue_mutex.due, 1); /* Relaxed: we hold it */
	pawl_mutex_unlock(&queue_mutex);
	/* The waiter owns it, awake or not; it cannot be had meanwhile. */
	if (pawl_mutex_trylock(&queue_mutex)) {
		assert_int_equal(admitted_count, 1);
		pawl_mutex_unlock(&queue_mutex);
	}
	pthread_join(thread, NULL);
	watchdog(NULL);
	assert_int_equal(admitted_count, 1);
	assert_clean(&queue_mutex);
}

static void another_thread_may_unlock(void **state)
{
	struct contest contest = {.rounds = 1};
	pthread_t thread;

	(void)state;
	pawl_mutex_lock(&contest.m);
	pthread_create(&thread, NULL,
		       (void *(*)(void *))(void (*)(void))pawl_mutex_unlock, &contest.m);
	pthread_join(thread, NULL);
	assert_true(pawl_mutex_trylock(&contest.m));
	pawl_mutex_unlock(&contest.m);
}

static void *keep_locking(void *argument)
{
	struct contest *contest = argument;

	while (pawl_load_relaxed(&contest->stop) == 0) { /* Relaxed: by and by */
		pawl_mutex_lock(&contest->m);
		serve(contest);
		pawl_mutex_unlock(&contest->m);
	}
	return NULL;
}

/* The child has the mutex its only thread holds, and an empty table. */
static void a_forked_child_can_lock_and_wait(void **state)
{
	static struct contest contest;
	pthread_t threads[4];
	size_t i;
	int round;

	(void)state;
	watchdog("fork");
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_create(&threads[i], NULL, keep_locking, &contest);
	for (round = 0; round < 20; round++) {
		pid_t child;
		int status;

		pawl_mutex_lock(&contest.m);
		child = fork();
		if (child == 0) {
			struct timespec soon = in_ms(CLOCK_MONOTONIC, 1);

			pawl_mutex_unlock(&contest.m);
			pawl_mutex_lock(&contest.m);
			_exit(pawl_mutex_timedlock(&contest.m, CLOCK_MONOTONIC, &soon) ==
					      ETIMEDOUT
				      ? 7
				      : 8);
		}
		pawl_mutex_unlock(&contest.m);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 7);
	}
	pawl_store_relaxed(&contest.stop, 1); /* Relaxed: by and by */
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	watchdog(NULL);
	assert_clean(&contest.m);
}

/* Exit status of a program that contends: 0 if all came out right. */
static int contend(void)
{
	struct contest contest = {.rounds = 20000};
	pthread_t threads[4];
	size_t i;

	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_create(&threads[i], NULL, i % 2 ? lock_in_a_hurry : lock_for_long,
			       &contest);
	for (i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	/* Nobody is counted any more, but for the one that makes wakers look. */
	if (pawl_load_relaxed(&pawl_filter_of_(&contest.m)->wanted) > 1)
		return 2;
	return contest.total + (long)pawl_load_relaxed(&contest.late) !=
	       (long)COUNT_OF(threads) * contest.rounds;
}

/* Refused before the library is loaded, or while it is in use: this program
 * again, for a child of threads must not make threads under TSan. */
static void works_where_the_kernel_refuses_membarrier(void **state)
{
	(void)state;
	child_again("contend", true);
}

static void works_where_the_kernel_comes_to_refuse_membarrier(void **state)
{
	(void)state;
	child_again("refuse-and-contend", false);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(timedlock_gives_up_at_its_deadline_on_either_clock),
		cmocka_unit_test(timedlock_takes_a_free_mutex_whatever_the_time),
		cmocka_unit_test(timedlock_refuses_bad_times_and_clocks),
		cmocka_unit_test(a_turn_that_is_nobodys_is_forgotten),
		cmocka_unit_test(timed_waiters_leave_nothing_behind),
		cmocka_unit_test(a_crowd_gets_through),
		cmocka_unit_test(the_head_sleeps_and_is_counted),
		cmocka_unit_test(an_insistent_head_is_handed_the_lock),
		cmocka_unit_test(another_thread_may_unlock),
		cmocka_unit_test(a_forked_child_can_lock_and_wait),
		cmocka_unit_test(works_where_the_kernel_refuses_membarrier),
		cmocka_unit_test(works_where_the_kernel_comes_to_refuse_membarrier),
	};

	if (argc == 2 && strcmp(argv[1], "refuse-and-contend") == 0 &&
	    refuse_membarrier() != 0)
		return CHILD_SKIPS;
	if (argc == 2)
		return contend();
	return cmocka_run_group_tests(cases, NULL, NULL);
}
