/* SPDX-License-Identifier: MIT */
/* pawl_rwlock under stress, and where threads, processes and systems come to an end:
 * exit, fork, signals, a membarrier that is refused. */
#define _GNU_SOURCE
#include "harness/child.h"
#include "harness/hang.h"
#include "harness/harness.h"
#include "rwlock_forms.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Stress: what is written are plain words, which a race would tear, or TSan see. */
enum { WORDS = 4 };
struct shared {
	struct pawl_rwlock l;
	uint64_t words[WORDS];
	int writes_in, rounds;
	pawl_atomic64 next;
};

static void check_words(const struct shared *s)
{
	int i;

	for (i = 1; i < WORDS; i++)
		if (s->words[i] != s->words[0])
			fail_msg("torn: word %d is %llu, word 0 is %llu", i,
				 (unsigned long long)s->words[i],
				 (unsigned long long)s->words[0]);
}

static void write_words(struct shared *s)
{
	int i;

	check_words(s);
	for (i = 0; i < WORDS; i++)
		s->words[i]++;
}

static void *stress_run(void *argument)
{
	struct shared *s = argument;
	unsigned x = (unsigned)pawl_fetch_add_relaxed(&s->next, 1) * 2654435761u + 1;
	int i;

	for (i = 0; i < s->rounds; i++) {
		struct timespec then = {0, 0};

		x = x * 1664525 + 1013904223;
		if ((int)(x >> 8) % 100 >= s->writes_in) {
			switch (x >> 28) {
			case 0:
				if (!pawl_rwlock_read_trylock(&s->l))
					continue;
				break;
			case 1:
				then = in_ms(CLOCK_MONOTONIC, 0);
				if (pawl_rwlock_read_timedlock(&s->l, CLOCK_MONOTONIC,
							       &then) != 0)
					continue;
				break;
			case 2:
				pawl_rwlock_read_lock(&s->l);
				pawl_rwlock_read_lock(&s->l);
				check_words(s);
				pawl_rwlock_read_unlock(&s->l);
				break;
			default:
				pawl_rwlock_read_lock(&s->l);
			}
			check_words(s);
			pawl_rwlock_read_unlock(&s->l);
			continue;
		}
		switch (x >> 28) {
		case 0:
			if (!pawl_rwlock_write_trylock(&s->l))
				continue;
			break;
		case 1:
			then = in_ms(CLOCK_MONOTONIC, 0);
			if (pawl_rwlock_write_timedlock(&s->l, CLOCK_MONOTONIC, &then) !=
			    0)
				continue;
			break;
		default:
			pawl_rwlock_write_lock(&s->l);
		}
		write_words(s);
		if (x >> 28 == 3) {
			pawl_rwlock_downgrade(&s->l);
			check_words(s);
			pawl_rwlock_read_unlock(&s->l);
		} else {
			pawl_rwlock_write_unlock(&s->l);
		}
	}
	return NULL;
}

static void sections_are_whole(void **state)
{
	static const int sizes[] = {2, 4, 16}, shares[] = {0, 1, 10, 50, 100};
	static struct shared s;
	struct crew crew;
	size_t i, k;

	(void)state;
	for (i = 0; i < COUNT_OF(sizes); i++)
		for (k = 0; k < COUNT_OF(shares); k++) {
			watchdog("stress");
			memset(&s, 0, sizeof(s));
			s.writes_in = shares[k];
			s.rounds = 20000 / sizes[i];
			crew.size = 0;
			while (crew.size < sizes[i])
				crew_start(&crew, stress_run, &s);
			crew_join(&crew);
			assert_free(&s.l);
		}
	watchdog(NULL);
}

static void *brief_run(void *argument)
{
	struct shared *s = argument;

	pawl_rwlock_read_lock(&s->l);
	check_words(s);
	pawl_rwlock_read_unlock(&s->l);
	return NULL;
}

static void threads_come_and_go(void **state)
{
	static struct shared s;
	pthread_t threads[4];
	int i, k;

	(void)state;
	memset(&s, 0, sizeof(s));
	for (i = 0; i < 200; i++) {
		for (k = 0; k < 4; k++)
			assert_int_equal(pthread_create(&threads[k], NULL, brief_run, &s),
					 0);
		pawl_rwlock_write_lock(&s.l);
		write_words(&s);
		pawl_rwlock_write_unlock(&s.l);
		for (k = 0; k < 4; k++)
			pthread_join(threads[k], NULL);
	}
	assert_free(&s.l);
}

/* The library's destructor comes after those of a program's keys, in the first round: what
 * is set again then comes after it, in the second. Reads come in both rounds. */
static struct pawl_rwlock at_exit;
static pthread_key_t exit_keys[2];
static __thread bool second_round;

static void read_at_exit(void *argument)
{
	if (!second_round)
		pthread_setspecific(exit_keys[0], argument);
	pawl_rwlock_read_lock(&at_exit);
	pawl_rwlock_read_lock(&at_exit);
	pawl_rwlock_read_unlock(&at_exit);
	pawl_rwlock_read_unlock(&at_exit);
}

static void unlock_at_exit(void *argument)
{
	if (!second_round) {
		pthread_setspecific(exit_keys[1], argument);
		second_round = true;
		return;
	}
	pawl_rwlock_read_unlock(&at_exit);
}

static void *exit_run(void *argument)
{
	pthread_setspecific(exit_keys[0], argument);
	pthread_setspecific(exit_keys[1], argument);
	pawl_rwlock_read_lock(&at_exit);
	return NULL;
}

static void a_thread_reads_while_it_exits(void **state)
{
	enum form form;
	pthread_t thread;
	int i;

	(void)state;
	assert_int_equal(pthread_key_create(&exit_keys[0], read_at_exit), 0);
	assert_int_equal(pthread_key_create(&exit_keys[1], unlock_at_exit), 0);
	for (form = GATED; form < FORMS; form++)
		for (i = 0; i < 20; i++) {
			shape(&at_exit, form);
			assert_int_equal(
				pthread_create(&thread, NULL, exit_run, &at_exit), 0);
			pthread_join(thread, NULL);
			assert_free(&at_exit);
		}
	pthread_key_delete(exit_keys[0]);
	pthread_key_delete(exit_keys[1]);
}

/* Fork. */
static struct pawl_rwlock mine, theirs;
static pawl_atomic64 both_read, child_is_done;

static void *other_reader(void *argument)
{
	(void)argument;
	pawl_rwlock_read_lock(&theirs);
	pawl_rwlock_read_lock(&mine);
	pawl_store_release(&both_read, 1);
	while (pawl_load_acquire(&child_is_done) == 0)
		breathe();
	pawl_rwlock_read_unlock(&mine);
	pawl_rwlock_read_unlock(&theirs);
	return NULL;
}

static int in_the_child(void)
{
	alarm(HANG_GUARD_S);
	/* What another thread read, by its record, nobody reads here. */
	if (!pawl_rwlock_write_trylock(&theirs))
		return 1;
	pawl_rwlock_write_unlock(&theirs);
	/* What this thread reads, it reads. */
	if (pawl_rwlock_write_trylock(&mine))
		return 2;
	pawl_rwlock_read_lock(&mine);
	pawl_rwlock_read_unlock(&mine);
	pawl_rwlock_read_unlock(&mine);
	pawl_rwlock_write_lock(&mine);
	pawl_rwlock_write_unlock(&mine);
	return 0;
}

static void a_child_has_what_its_thread_had(void **state)
{
	pthread_t thread;
	enum form form;
	int status;

	(void)state;
	for (form = FENCED; form < FORMS; form++) {
		pid_t child;

		shape(&mine, form);
		shape(&theirs, form);
		pawl_store_release(&both_read, 0);
		pawl_store_release(&child_is_done, 0);
		pawl_rwlock_read_lock(&mine);
		assert_int_equal(pthread_create(&thread, NULL, other_reader, NULL), 0);
		while (pawl_load_acquire(&both_read) == 0)
			breathe();
		child = fork();
		assert_true(child >= 0);
		if (child == 0)
			_exit(in_the_child());
		assert_int_equal(waitpid(child, &status, 0), child);
		pawl_store_release(&child_is_done, 1);
		pthread_join(thread, NULL);
		pawl_rwlock_read_unlock(&mine);
		assert_int_equal(status, 0);
		assert_free(&mine);
		assert_free(&theirs);
	}
}

/*
 * A fork comes when another thread has counted itself, to find out next that the lock is
 * being written: as if it had stopped there. The child of who writes has a lock without
 * readers.
 */
static struct pawl_reads *others;

static void *record_run(void *argument)
{
	pawl_rwlock_read_lock(&mine);
	pawl_rwlock_read_unlock(&mine);
	others = pawl_self()->reads;
	pawl_store_release(argument, 1);
	while (pawl_load_acquire(&child_is_done) == 0)
		breathe();
	return NULL;
}

static int after_a_fork_while_writing(void)
{
	alarm(HANG_GUARD_S);
	pawl_rwlock_write_unlock(&mine);
	if (!pawl_rwlock_write_trylock(&mine))
		return 1;
	pawl_rwlock_write_unlock(&mine);
	return 0;
}

static void a_child_of_a_writer_has_no_reader_that_was_just_trying(void **state)
{
	pthread_t thread;
	pid_t child;
	int status;

	(void)state;
	mine = (struct pawl_rwlock)PAWL_RWLOCK_INIT;
	pawl_store_release(&both_read, 0);
	pawl_store_release(&child_is_done, 0);
	assert_int_equal(pthread_create(&thread, NULL, record_run, &both_read), 0);
	while (pawl_load_acquire(&both_read) == 0)
		breathe();
	pawl_rwlock_write_lock(&mine);
	pawl_store_release(&others->counting, pawl_address(&mine));
	pawl_fetch_add_release(&mine.word, PAWL_RWLOCK_READER);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(after_a_fork_while_writing());
	assert_int_equal(waitpid(child, &status, 0), child);
	pawl_fetch_add_release(&mine.word, -(uint64_t)PAWL_RWLOCK_READER);
	pawl_store_release(&others->counting, 0);
	pawl_rwlock_write_unlock(&mine);
	pawl_store_release(&child_is_done, 1);
	pthread_join(thread, NULL);
	assert_int_equal(status, 0);
	assert_free(&mine);
}

/* Signals: a handler reads, wherever the program itself is interrupted: while it reads
 * the same lock, or before its thread has ever read one. */
static struct pawl_rwlock in_handler;
static pawl_atomic64 wanted, handled, done; /* signals: so far, and in all */

static void handler(int number)
{
	(void)number;
	pawl_rwlock_read_lock(&in_handler);
	pawl_rwlock_read_unlock(&in_handler);
	pawl_fetch_add_release(&handled, 1);
}

static void await_signals(uint64_t times)
{
	uint64_t all = pawl_load_acquire(&handled) + times;

	pawl_store_release(&wanted, all);
	while (pawl_load_acquire(&handled) < all)
		breathe();
}

static void *interrupted_run(void *argument)
{
	(void)argument;
	breathe(); /* TSan may lose a signal that comes in a thread's first such call */
	await_signals(1);
	pawl_rwlock_read_lock(&in_handler);
	await_signals(3);
	pawl_rwlock_read_lock(&in_handler);
	await_signals(3);
	pawl_rwlock_read_unlock(&in_handler);
	await_signals(3);
	pawl_rwlock_read_unlock(&in_handler);
	pawl_store_release(&done, 1);
	return NULL;
}

static void a_handler_reads(void **state)
{
	struct sigaction action = {.sa_handler = handler}, before;
	enum form form;

	(void)state;
	watchdog("handler");
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	for (form = GATED; form < FORMS; form++) {
		pthread_t thread;

		shape(&in_handler, form);
		pawl_store_release(&done, 0);
		assert_int_equal(pthread_create(&thread, NULL, interrupted_run, NULL), 0);
		while (pawl_load_acquire(&done) == 0) {
			uint64_t seen = pawl_load_acquire(&handled);

			if (seen < pawl_load_acquire(&wanted)) {
				pthread_kill(thread, SIGUSR1);
				while (pawl_load_acquire(&handled) == seen)
					breathe();
			} else {
				breathe();
			}
		}
		pthread_join(thread, NULL);
		assert_free(&in_handler);
	}
	sigaction(SIGUSR1, &before, NULL);
	watchdog(NULL);
}

/* At each instruction of an unlock. TSan would be interrupted inside its own locks, which
 * the handler needs. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
static volatile int steps;

static void step_handler(int number)
{
	handler(number);
	steps++;
}

/* The processor's trap flag: a signal after each instruction. */
static void trap(bool on)
{
	if (on)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "cc", "memory");
	else
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::
					 : "cc", "memory");
}

static void a_handler_reads_at_each_instruction_of_an_unlock(void **state)
{
	struct sigaction action = {.sa_handler = step_handler}, before;
	struct pawl_rwlock filling[1 << PAWL_READS_BITS];
	enum form form;
	int depth, full, i;

	(void)state;
	watchdog("unlock, step by step");
	assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
	for (form = GATED; form < FORMS; form++)
		for (full = 0; full < 2; full++)
			for (depth = 1; depth <= 3; depth++) {
				shape(&in_handler, form);
				/* With a record that is full, too: it is then counted. */
				for (i = 0; i < full << PAWL_READS_BITS; i++) {
					shape(&filling[i], FENCED);
					pawl_rwlock_read_lock(&filling[i]);
				}
				for (i = 0; i < depth; i++)
					pawl_rwlock_read_lock(&in_handler);
				steps = 0;
				for (i = 0; i < depth; i++) {
					trap(true);
					pawl_rwlock_read_unlock(&in_handler);
					trap(false);
				}
				assert_true(steps > 5 * depth);
				for (i = 0; i < full << PAWL_READS_BITS; i++)
					pawl_rwlock_read_unlock(&filling[i]);
				assert_free(&in_handler);
			}
	sigaction(SIGTRAP, &before, NULL);
	watchdog(NULL);
}
#else
static void a_handler_reads_at_each_instruction_of_an_unlock(void **state)
{
	(void)state;
	skip_because("needs x86-64 and no TSan");
}
#endif

/* Where membarrier is refused, locks are fenced, and never biased. */
static int without_membarrier(void)
{
	static struct shared s;
	pthread_t threads[3];
	int i;

	if (membarrier_works())
		return CHILD_SKIPS;
	s.writes_in = 10;
	s.rounds = 5000;
	for (i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, stress_run, &s) != 0)
			return 2;
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < 1000; i++) {
		pawl_rwlock_read_lock(&s.l);
		pawl_rwlock_read_unlock(&s.l);
		if ((word_of(&s.l) & PAWL_RWLOCK_BIASED) != 0)
			return 3;
	}
	return 0;
}

static void a_system_without_membarrier_has_no_bias(void **state)
{
	(void)state;
	child_again("without-membarrier", true);
}

/* A writer comes to a biased lock when the system has just come to refuse. */
static int refused_later(void)
{
	static struct shared s;
	int i;

	for (i = 0; i < 1000 && (word_of(&s.l) & PAWL_RWLOCK_BIASED) == 0; i++) {
		pawl_rwlock_read_lock(&s.l);
		pawl_rwlock_read_unlock(&s.l);
	}
	if ((word_of(&s.l) & PAWL_RWLOCK_BIASED) == 0 || refuse_membarrier() != 0)
		return CHILD_SKIPS;
	pawl_rwlock_write_lock(&s.l);
	pawl_rwlock_write_unlock(&s.l);
	for (i = 0; i < 1000; i++) {
		pawl_rwlock_read_lock(&s.l);
		pawl_rwlock_read_unlock(&s.l);
	}
	return (word_of(&s.l) & PAWL_RWLOCK_BIASED) != 0 ? 1 : 0;
}

static void a_system_that_comes_to_refuse_ends_the_bias(void **state)
{
	(void)state;
	child_again("refused-later", false);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test(sections_are_whole),
		cmocka_unit_test(threads_come_and_go),
		cmocka_unit_test(a_thread_reads_while_it_exits),
		cmocka_unit_test(a_child_has_what_its_thread_had),
		cmocka_unit_test(a_child_of_a_writer_has_no_reader_that_was_just_trying),
		cmocka_unit_test(a_handler_reads),
		cmocka_unit_test(a_handler_reads_at_each_instruction_of_an_unlock),
		cmocka_unit_test(a_system_without_membarrier_has_no_bias),
		cmocka_unit_test(a_system_that_comes_to_refuse_ends_the_bias),
	};

	if (argc > 1 && strcmp(argv[1], "without-membarrier") == 0)
		return without_membarrier();
	if (argc > 1 && strcmp(argv[1], "refused-later") == 0)
		return refused_later();
	return cmocka_run_group_tests_name("rwlock life", cases, NULL, NULL);
}
