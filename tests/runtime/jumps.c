/* SPDX-License-Identifier: MIT */
/*
 * Waits that a signal's handler jumps out of: of a mutex while they poll, between two sleeps,
 * of a read-write lock in their sleep, for while they poll signals are barred. The thread
 * leaves the queue, and lets go of what it has. Here the handler comes at a look of the poll,
 * or as the sleep begins, and stays: so the wait starts over.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include "os/os.h"
#include "rwlock_forms.h"
#include "sync/queues.h"

#include <signal.h>

static struct pawl_mutex mutex;
static struct pawl_rwlock rwlock;
static pawl_atomic64 jumped;
static bool left;   /* by then */
static bool fenced; /* the rwlock, then */
static bool barred; /* signals, when the rwlock was polled */

/* Where the thread must be for the handler to come, and whether it still is. */
static __thread bool (*polls_there)(void), (*sleeps_there)(void);

static bool is_queued(void)
{
	struct pawl_bucket *bucket = pawl_bucket_of_(&mutex);
	bool found;

	pawl_bucket_lock(bucket);
	found = pawl_bucket_find(bucket->first, &mutex) != NULL;
	pawl_bucket_unlock(bucket);
	return found;
}

static bool has_the_gate(void)
{
	return pawl_load_relaxed(&rwlock.gate.word) == pawl_mutex_me_();
}

static void come_by(bool (**is_there)(void))
{
	bool (*there)(void) = *is_there;

	if (there == NULL || !there())
		return;
	*is_there = NULL;
	pawl_mutex_abandon();
	left = !there();
	fenced = (word_of(&rwlock) & PAWL_RWLOCK_FENCED) != 0;
	pawl_store_release(&jumped, 1);
}

/* Stand between the library and its polls, and its sleeps. */
uint64_t __real_pawl_spin_look(struct pawl_spin *spin, const pawl_atomic64 *w);
uint64_t __wrap_pawl_spin_look(struct pawl_spin *spin, const pawl_atomic64 *w);
uint64_t __wrap_pawl_spin_look(struct pawl_spin *spin, const pawl_atomic64 *w)
{
	sigset_t blocked;

	if (sleeps_there != NULL && sleeps_there()) {
		pthread_sigmask(SIG_SETMASK, NULL, &blocked);
		barred = sigismember(&blocked, SIGALRM) == 1;
	}
	come_by(&polls_there);
	return __real_pawl_spin_look(spin, w);
}

bool __real_pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
			  const struct pawl_deadline *deadline);
bool __wrap_pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
			  const struct pawl_deadline *deadline);
bool __wrap_pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
			  const struct pawl_deadline *deadline)
{
	come_by(&sleeps_there);
	return __real_pawl_os_sleep(word, expected, deadline);
}

static void *lock_mutex(void *unused)
{
	(void)unused;
	polls_there = is_queued;
	pawl_mutex_lock(&mutex);
	pawl_mutex_unlock(&mutex);
	return NULL;
}

static void *write_rwlock(void *unused)
{
	(void)unused;
	pawl_jumps_prepare(); /* as who has called setjmp */
	sleeps_there = has_the_gate;
	pawl_rwlock_write_lock(&rwlock);
	pawl_rwlock_write_unlock(&rwlock);
	return NULL;
}

static void run_and_await_jump(struct crew *crew, void *(*run)(void *))
{
	watchdog("jump");
	pawl_store_release(&jumped, 0);
	crew_start(crew, run, NULL);
	while (pawl_load_acquire(&jumped) == 0)
		breathe();
}

static void who_polls_in_a_queue_leaves_it(void **state)
{
	struct crew crew = {.size = 0};

	(void)state;
	pawl_mutex_lock(&mutex);
	run_and_await_jump(&crew, lock_mutex);
	assert_true(left);
	pawl_mutex_unlock(&mutex);
	crew_join(&crew);
	assert_false(is_queued());
	watchdog(NULL);
}

static void leave_the_gate(enum form form, bool worth_keeping)
{
	struct crew crew = {.size = 0};

	shape(&rwlock, form);
	if (!worth_keeping)
		pawl_store_relaxed(&rwlock.barred, 0);
	pawl_rwlock_read_lock(&rwlock);
	run_and_await_jump(&crew, write_rwlock);
	assert_true(left);
	assert_true(barred);
	assert_true(fenced); /* else the next writer would overlook the reader */
	pawl_rwlock_read_unlock(&rwlock);
	crew_join(&crew);
	assert_free(&rwlock);
	watchdog(NULL);
}

static void who_waits_for_readers_leaves_the_gate(void **state)
{
	(void)state;
	leave_the_gate(FENCED, true);
}

static void who_took_the_form_for_good_puts_it_back(void **state)
{
	(void)state;
	leave_the_gate(FENCED, false);
}

static void who_took_the_bias_leaves_the_lock_fenced(void **state)
{
	(void)state;
	leave_the_gate(BIASED, false);
}

int main(void)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test(who_polls_in_a_queue_leaves_it),
		cmocka_unit_test(who_waits_for_readers_leaves_the_gate),
		cmocka_unit_test(who_took_the_form_for_good_puts_it_back),
		cmocka_unit_test(who_took_the_bias_leaves_the_lock_fenced),
	};

	pawl_jumps_expect();
	return cmocka_run_group_tests_name("jumps", cases, NULL, NULL);
}
