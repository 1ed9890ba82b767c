/* SPDX-License-Identifier: MIT */
/* Locks of ours in a program that is checked. */
#include <pawl/pawl.h>

#include <assert.h>
#include <pthread.h>

static int guarded;

static void run(void *(*a)(void *), void *(*b)(void *))
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, a, NULL);
	pthread_create(&threads[1], NULL, b, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

/* Two sections; out of line, so that a loop that waits has no register of another's. */
#define CHECK(name)                                                   \
	static struct pawl_##name name;                               \
	static __attribute__((noinline)) void section_of_##name(void) \
	{                                                             \
		pawl_##name##_lock(&name);                            \
		guarded++;                                            \
		pawl_##name##_unlock(&name);                          \
	}                                                             \
	static void *use_##name(void *arg)                            \
	{                                                             \
		section_of_##name();                                  \
		section_of_##name();                                  \
		return arg;                                           \
	}                                                             \
	void check_##name(void)                                       \
	{                                                             \
		run(use_##name, use_##name);                          \
		assert(guarded == 4);                                 \
	}

CHECK(tas)
CHECK(ttas)
CHECK(ttas_park)
CHECK(ticket)
CHECK(ticket_park)
CHECK(tidex)
CHECK(mcs)
CHECK(mcs_park)
CHECK(clh)
CHECK(clh_park)
CHECK(hemlock)
CHECK(hemlock_ctr)
CHECK(hemlock_overlap)
CHECK(hemlock_ah)
CHECK(hemlock_oh1)
CHECK(hemlock_oh2)
CHECK(hemlock_chain)
CHECK(reciprocating)
CHECK(mutex)

/* One that is not always taken. */
static void *tries_mutex(void *arg)
{
	if (pawl_mutex_trylock(&mutex)) {
		guarded++;
		pawl_mutex_unlock(&mutex);
	}
	return arg;
}
static void *forgets_mutex(void *arg)
{
	guarded++;
	return arg;
}
static void *keeps_mutex(void *arg)
{
	pawl_mutex_lock(&mutex);
	return arg;
}
static void *waits_a_while(void *arg)
{
	static const struct timespec soon;

	if (pawl_mutex_timedlock(&mutex, CLOCK_MONOTONIC, &soon) == 0) {
		guarded++;
		pawl_mutex_unlock(&mutex);
	}
	return arg;
}
void check_mutex_try(void)
{
	run(tries_mutex, tries_mutex);
}
void check_mutex_forgotten(void)
{
	run(forgets_mutex, use_mutex);
}
void check_mutex_kept(void)
{
	run(keeps_mutex, keeps_mutex);
}
void check_mutex_timed(void)
{
	run(keeps_mutex, waits_a_while);
}

/* Conditions: with a loop; without one; and where nobody signals. */
static struct pawl_cond cond;
static void *waits(void *arg)
{
	pawl_mutex_lock(&mutex);
	while (guarded == 0)
		pawl_cond_wait(&cond, &mutex);
	pawl_mutex_unlock(&mutex);
	return arg;
}
static void *waits_once(void *arg)
{
	pawl_mutex_lock(&mutex);
	if (guarded == 0)
		pawl_cond_wait(&cond, &mutex);
	assert(guarded == 1);
	pawl_mutex_unlock(&mutex);
	return arg;
}
static void *signals(void *arg)
{
	pawl_mutex_lock(&mutex);
	guarded = 1;
	pawl_cond_signal(&cond);
	pawl_mutex_unlock(&mutex);
	return arg;
}
static void *only_sets(void *arg)
{
	pawl_mutex_lock(&mutex);
	guarded = 1;
	pawl_mutex_unlock(&mutex);
	return arg;
}
static void *signals_first(void *arg)
{
	pawl_cond_signal(&cond); /* and then changes what is waited for */
	return only_sets(arg);
}
void check_cond(void)
{
	run(waits, signals);
}
void check_cond_no_loop(void)
{
	run(waits_once, signals);
}
void check_cond_no_signal(void)
{
	run(waits, only_sets);
}
void check_cond_signals_first(void)
{
	run(waits, signals_first);
}

/* What lives in the library cannot be seen. */
static struct pawl_rwlock rwlock;
void check_rwlock(void)
{
	pawl_rwlock_read_lock(&rwlock);
}

/* Of what lives in the library: values that never recur, and waiting arrays. */
CHECK(twa)
CHECK(hapax)
CHECK(hapax_vw)

/* It has one unit at first. */
static struct pawl_semaphore semaphore = PAWL_SEMAPHORE_INIT;
static void *posts(void *arg)
{
	guarded = 1;
	pawl_semaphore_post(&semaphore);
	return arg;
}
static void *takes(void *arg)
{
	pawl_semaphore_wait(&semaphore);
	assert(guarded == 1);
	return arg;
}
void check_semaphore(void)
{
	pawl_semaphore_wait(&semaphore);
	run(takes, posts);
}
void check_semaphore_no_post(void)
{
	pawl_semaphore_wait(&semaphore);
	run(takes, forgets_mutex);
}
void check_semaphore_too_soon(void)
{
	run(takes, posts);
}

static struct pawl_seqlock seqlock;
static pawl_atomic64 words[2];
static void *writes(void *arg)
{
	const uint64_t record[2] = {1, 1};

	assert(pawl_seqlock_write(&seqlock, words, record, sizeof(record)));
	return arg;
}
static void *reads(void *arg)
{
	uint64_t record[2];

	pawl_seqlock_read(&seqlock, words, record, sizeof(record));
	assert(record[0] == record[1]);
	return arg;
}
static void *reads_at_once(void *arg)
{
	uint64_t record[2];

	pawl_seqlock_load_(record, words, sizeof(record));
	assert(record[0] == record[1]);
	return arg;
}
void check_seqlock(void)
{
	run(reads, writes);
}
void check_seqlock_torn(void)
{
	run(reads_at_once, writes);
}
