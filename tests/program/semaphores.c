/* SPDX-License-Identifier: MIT */
/* Semaphores, barriers and spin locks. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

static int guarded;

static void run(void *(*a)(void *), void *(*b)(void *))
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, a, NULL);
	pthread_create(&threads[1], NULL, b, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

/* A semaphore as a lock; with two units it is none. */
static sem_t sem;
static void *waits_and_posts(void *arg)
{
	sem_wait(&sem);
	guarded++;
	sem_post(&sem);
	return arg;
}
void check_sem(void)
{
	int value;

	sem_init(&sem, 0, 1);
	run(waits_and_posts, waits_and_posts);
	assert(guarded == 2);
	sem_getvalue(&sem, &value);
	assert(value == 1);
	sem_destroy(&sem);
}
void check_sem_two_units(void)
{
	sem_init(&sem, 0, 2);
	run(waits_and_posts, waits_and_posts);
}

/* As a signal; of two that wait for one post one waits for ever. */
static void *posts(void *arg)
{
	guarded = 1;
	sem_post(&sem);
	return arg;
}
static void *waits(void *arg)
{
	sem_wait(&sem);
	assert(guarded == 1);
	return arg;
}
void check_sem_signal(void)
{
	sem_init(&sem, 0, 0);
	run(waits, posts);
}
void check_sem_one_post(void)
{
	sem_init(&sem, 0, 1);
	guarded = 1;
	run(waits, waits);
}

/* A loop of attempts waits; errno is a thread's own. */
static void *tries(void *arg)
{
	while (sem_trywait(&sem) != 0)
		assert(errno == EAGAIN);
	assert(guarded == 1);
	return arg;
}
static void *posts_with_errno(void *arg)
{
	errno = ENOENT;
	posts(arg);
	assert(errno == ENOENT);
	return arg;
}
void check_sem_try(void)
{
	sem_init(&sem, 0, 0);
	run(tries, posts_with_errno);
}
void check_sem_try_for_ever(void)
{
	sem_init(&sem, 0, 1);
	guarded = 1;
	run(tries, tries);
}

/* A wait may time out, or not; who forgets that it may has a bug. */
static void *waits_for_a_time(void *arg)
{
	static const struct timespec soon;

	if (sem_timedwait(&sem, &soon) != 0)
		assert(errno == ETIMEDOUT);
	else
		assert(guarded == 1);
	return arg;
}
void check_sem_timed(void)
{
	sem_init(&sem, 0, 0);
	run(waits_for_a_time, posts);
}
void check_sem_timed_alone(void)
{
	sem_init(&sem, 0, 1);
	guarded = 1;
	run(waits_for_a_time, waits_for_a_time);
}
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *locks_for_a_time(void *arg)
{
	static const struct timespec soon;

	if (pthread_mutex_timedlock(&mutex, &soon) == 0)
		guarded++; /* and keeps it */
	return arg;
}
void check_mutex_timed(void)
{
	run(locks_for_a_time, locks_for_a_time);
	assert(guarded <= 1);
}
static void *trusts_its_time(void *arg)
{
	static const struct timespec soon;

	sem_timedwait(&sem, &soon);
	assert(guarded == 1);
	return arg;
}
void check_sem_timed_ignored(void)
{
	sem_init(&sem, 0, 0);
	run(trusts_its_time, posts);
}
static void *destroys(void *arg)
{
	sem_destroy(&sem);
	return arg;
}
void check_sem_destroyed(void)
{
	sem_init(&sem, 0, 0);
	run(destroys, posts);
}

/* Barriers: what came before is there after, round by round. */
static pthread_barrier_t barrier;
static int cells[2];
static atomic_int serial;
static void exchange_cells(int me)
{
	int i;

	for (i = 1; i <= 2; i++) {
		cells[me] = i;
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed);
		assert(cells[!me] == i);
		pthread_barrier_wait(&barrier);
	}
}
static void *first_cell(void *arg)
{
	exchange_cells(0);
	return arg;
}
static void *second_cell(void *arg)
{
	exchange_cells(1);
	return arg;
}
void check_barrier(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	run(first_cell, second_cell);
	assert(serial == 2);
	pthread_barrier_destroy(&barrier);
}
/* One wait in a round: who is slow may find the next round's value, and races. */
static void *reads_late(void *arg)
{
	int i;

	for (i = 1; i <= 2; i++) {
		pthread_barrier_wait(&barrier);
		assert(cells[0] >= i);
	}
	return arg;
}
static void *writes_on(void *arg)
{
	int i;

	for (i = 1; i <= 2; i++) {
		cells[0] = i;
		pthread_barrier_wait(&barrier);
	}
	return arg;
}
void check_barrier_once(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	run(reads_late, writes_on);
}
static void *meets(void *arg)
{
	pthread_barrier_wait(&barrier);
	return arg;
}
void check_barrier_of_three(void)
{
	pthread_barrier_init(&barrier, NULL, 3);
	run(meets, meets);
}
static void *sets_cell(void *arg)
{
	cells[0] = 1;
	pthread_barrier_wait(&barrier);
	return arg;
}
static void *reads_cell(void *arg)
{
	pthread_barrier_wait(&barrier);
	assert(cells[0] == 1);
	return arg;
}
void check_barrier_anew(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	run(meets, meets);
	pthread_barrier_destroy(&barrier);
	pthread_barrier_init(&barrier, NULL, 2);
	run(reads_cell, sets_cell);
}
void check_barrier_not_made(void)
{
	run(meets, meets);
}

/* Spin locks. */
static pthread_spinlock_t spin;
static void *spins(void *arg)
{
	pthread_spin_lock(&spin);
	guarded++;
	pthread_spin_unlock(&spin);
	return arg;
}
static void *tries_spin(void *arg)
{
	while (pthread_spin_trylock(&spin) == EBUSY)
		;
	guarded++;
	pthread_spin_unlock(&spin);
	return arg;
}
void check_spin(void)
{
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	run(spins, tries_spin);
	assert(guarded == 2);
	pthread_spin_destroy(&spin);
}
static void *only_unlocks(void *arg)
{
	pthread_spin_unlock(&spin);
	return arg;
}
void check_spin_not_held(void)
{
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	run(spins, only_unlocks);
}
static void *keeps_it(void *arg)
{
	pthread_spin_lock(&spin);
	return arg;
}
void check_spin_kept(void)
{
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	run(keeps_it, keeps_it);
}

/* What has a name in the system is refused by its own. */
void check_sem_named(void)
{
	sem_open("/pawl", 0);
}
