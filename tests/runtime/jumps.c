/* SPDX-License-Identifier: MIT */
/*
 * Waits that a signal handler jumps out of: of a mutex and of a read-write lock, while the
 * waiter polls and while it sleeps. The thread leaves the queue, and lets go of what it has.
 * Here the handler comes at a look of the poll, or as the sleep begins.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include "os/os.h"
#include "rwlock_forms.h"
#include "sync/queues.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct pawl_mutex mutex;
static struct pawl_rwlock rwlock;
static pawl_atomic64 jumped;
static bool left;   /* by then */
static bool fenced; /* the rwlock, then */

/* Where the thread must be for the handler to come, and whether it still is. */
static __thread bool (*polls_there)(void), (*sleeps_there)(void);
static __thread jmp_buf way_out;

static bool is_queued(void)
{
	struct pawl_bucket *bucket = pawl_bucket_lock(&mutex);
	bool found = pawl_bucket_find(bucket, &mutex) != NULL;

	pawl_bucket_unlock(bucket);
	return found;
}

static bool has_the_gate(void)
{
	return pawl_load_relaxed(&rwlock.gate.word) == pawl_mutex_me_();
}

static bool is_in_line(void)
{
	return (word_of(&rwlock) & PAWL_RWLOCK_WAITING) != 0;
}

static bool every_frame(const void *frame, const void *unused)
{
	(void)frame;
	(void)unused;
	return true;
}

static bool no_frame(const void *frame, const void *unused)
{
	return !every_frame(frame, unused);
}

static void come_by(bool (**is_there)(void))
{
	bool (*there)(void) = *is_there;

	if (there == NULL || !there())
		return;
	*is_there = NULL;
	pawl_jump_leaves(no_frame, NULL); /* a jump within the handler */
	assert_true(there());
	pawl_jump_leaves(every_frame, NULL);
	left = !there();
	fenced = (word_of(&rwlock) & PAWL_RWLOCK_FENCED) != 0;
	pawl_store_release(&jumped, 1);
	longjmp(way_out, 1);
}

/* Stand between the library and its polls, and its sleeps. */
uint64_t __real_pawl_spin_look(struct pawl_spin *spin, const pawl_atomic64 *w);
uint64_t __wrap_pawl_spin_look(struct pawl_spin *spin, const pawl_atomic64 *w);
uint64_t __wrap_pawl_spin_look(struct pawl_spin *spin, const pawl_atomic64 *w)
{
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

static void *lock_mutex(void *poll)
{
	if (setjmp(way_out) == 0) {
		*(poll != NULL ? &polls_there : &sleeps_there) = is_queued;
		pawl_mutex_lock(&mutex);
	}
	return NULL;
}

static void *write_rwlock(void *poll)
{
	if (setjmp(way_out) == 0) {
		*(poll != NULL ? &polls_there : &sleeps_there) = has_the_gate;
		pawl_rwlock_write_lock(&rwlock);
	}
	return NULL;
}

static void *read_rwlock(void *unused)
{
	if (setjmp(way_out) == 0) {
		sleeps_there = is_in_line;
		pawl_rwlock_read_lock(&rwlock);
	}
	return unused;
}

static void run_and_await_jump(void *(*run)(void *), bool poll)
{
	struct crew crew = {.size = 0};

	watchdog("jump");
	pawl_store_release(&jumped, 0);
	crew_start(&crew, run, poll ? &jumped : NULL);
	while (pawl_load_acquire(&jumped) == 0)
		breathe();
	crew_join(&crew);
	watchdog(NULL);
}

static void leave_queue(bool poll)
{
	pawl_mutex_lock(&mutex);
	run_and_await_jump(lock_mutex, poll);
	assert_true(left);
	assert_false(pawl_mutex_has_queue(&mutex));
	pawl_mutex_unlock(&mutex);
	assert_true(pawl_mutex_trylock(&mutex));
	pawl_mutex_unlock(&mutex);
}

static void a_thread_that_polls_in_a_queue_leaves_it(void **state)
{
	(void)state;
	leave_queue(true);
}

static void a_thread_that_sleeps_in_a_queue_leaves_it(void **state)
{
	(void)state;
	leave_queue(false);
}

static void leave_the_gate(enum form form, bool worth_keeping, bool poll)
{
	shape(&rwlock, form);
	if (!worth_keeping)
		pawl_store_relaxed(&rwlock.barred, 0);
	pawl_rwlock_read_lock(&rwlock);
	run_and_await_jump(write_rwlock, poll);
	assert_true(left);
	assert_true(fenced); /* else the next writer would overlook the reader */
	pawl_rwlock_read_unlock(&rwlock);
	assert_free(&rwlock);
}

static void a_writer_that_waits_for_readers_leaves_the_gate(void **state)
{
	(void)state;
	leave_the_gate(FENCED, true, false);
	leave_the_gate(FENCED, true, true);
}

static void a_writer_that_withdrew_the_form_puts_it_back(void **state)
{
	(void)state;
	leave_the_gate(FENCED, false, false);
	leave_the_gate(FENCED, false, true);
}

static void a_writer_that_withdrew_the_bias_leaves_the_lock_fenced(void **state)
{
	(void)state;
	leave_the_gate(BIASED, false, false);
	leave_the_gate(BIASED, false, true);
}

static void a_reader_in_line_leaves_it(void **state)
{
	(void)state;
	shape(&rwlock, FENCED);
	pawl_rwlock_write_lock(&rwlock);
	run_and_await_jump(read_rwlock, false);
	assert_true(left);
	pawl_rwlock_write_unlock(&rwlock);
	assert_free(&rwlock);
}

/* A jump that stays within a handler harms no section; one that leaves it would. */
static void a_jump_out_of_a_critical_section_ends_the_process(void **state)
{
	int status;
	struct pawl_bucket *bucket;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		pawl_bucket_lock(&mutex);
		pawl_jump_leaves(no_frame, NULL);
		pawl_jump_leaves(every_frame, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	bucket = pawl_bucket_lock(&mutex);
	assert_true(pawl_jump_matters());
	pawl_bucket_unlock(bucket);
	assert_false(pawl_jump_matters());
}

int main(void)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_thread_that_polls_in_a_queue_leaves_it),
		cmocka_unit_test(a_thread_that_sleeps_in_a_queue_leaves_it),
		cmocka_unit_test(a_writer_that_waits_for_readers_leaves_the_gate),
		cmocka_unit_test(a_writer_that_withdrew_the_form_puts_it_back),
		cmocka_unit_test(a_writer_that_withdrew_the_bias_leaves_the_lock_fenced),
		cmocka_unit_test(a_reader_in_line_leaves_it),
		cmocka_unit_test(a_jump_out_of_a_critical_section_ends_the_process),
	};

	return cmocka_run_group_tests_name("jumps", cases, NULL, NULL);
}
