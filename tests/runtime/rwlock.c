/* SPDX-License-Identifier: MIT */
/* pawl_rwlock in each of its forms: who is let in, who waits, what is left behind. */
#define _GNU_SOURCE
#include "harness/child.h"
#include "harness/harness.h"

#include <pawl/rwlock.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(sizeof(struct pawl_rwlock) == 32, "two in a cache line");

extern uint64_t pawl_light_fence_full;

static bool membarrier_works(void)
{
	return pawl_light_fence_full == 0;
}

static uint64_t word_of(const struct pawl_rwlock *l)
{
	return pawl_load_acquire(&l->word);
}

static uint64_t counted(const struct pawl_rwlock *l)
{
	return word_of(l) / PAWL_RWLOCK_READER;
}

/* The forms: what a reader does. */
enum form { COUNTED, FENCED, BIASED, FORMS };

/* Reads until the lock has the form; skips the case if it cannot have it. */
static void shape(struct pawl_rwlock *l, enum form form)
{
	static const uint64_t wanted[] = {0, PAWL_RWLOCK_FENCED, PAWL_RWLOCK_BIASED};
	int i;

	if (form == BIASED && !membarrier_works())
		skip_because("there is no membarrier here");
	*l = (struct pawl_rwlock)PAWL_RWLOCK_INIT;
	for (i = 0; i < 1000 && (word_of(l) & wanted[form]) != wanted[form]; i++) {
		pawl_rwlock_read_lock(l);
		pawl_rwlock_read_unlock(l);
	}
	assert_int_equal(word_of(l) & wanted[form], wanted[form]);
	if (form == FENCED)
		assert_int_equal(word_of(l) & PAWL_RWLOCK_BIASED, 0);
}

/* Nobody has it, nobody waits, no record names it. */
static void assert_free(struct pawl_rwlock *l)
{
	uint64_t forms = PAWL_RWLOCK_BIASED | PAWL_RWLOCK_FENCED;

	assert_int_equal(word_of(l) & ~forms, 0);
	assert_int_equal(pawl_load_acquire(&l->gate.word), 0);
	assert_null(pawl_bucket_of(l)->first);
	assert_true(pawl_rwlock_write_trylock(l));
	pawl_rwlock_write_unlock(l);
	assert_true(pawl_rwlock_read_trylock(l));
	pawl_rwlock_read_unlock(l);
}

/* What another thread finds, right now. */
struct probe {
	struct pawl_rwlock *l;
	bool reads, writes;
};

static void *probe_run(void *argument)
{
	struct probe *p = argument;

	p->reads = pawl_rwlock_read_trylock(p->l);
	if (p->reads)
		pawl_rwlock_read_unlock(p->l);
	p->writes = pawl_rwlock_write_trylock(p->l);
	if (p->writes)
		pawl_rwlock_write_unlock(p->l);
	return NULL;
}

static void assert_others(struct pawl_rwlock *l, bool read, bool write)
{
	struct probe probe = {.l = l};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, probe_run, &probe), 0);
	pthread_join(thread, NULL);
	assert_int_equal(probe.reads, read);
	assert_int_equal(probe.writes, write);
}

static void readers_share_and_writers_do_not(void **state)
{
	struct pawl_rwlock l;
	enum form form;

	(void)state;
	for (form = COUNTED; form < FORMS; form++) {
		shape(&l, form);
		assert_others(&l, true, true);
		shape(&l, form);
		pawl_rwlock_read_lock(&l);
		assert_others(&l, true, false);
		assert_false(pawl_rwlock_write_trylock(&l));
		pawl_rwlock_read_unlock(&l);
		assert_free(&l);
		shape(&l, form);
		pawl_rwlock_write_lock(&l);
		assert_true(pawl_rwlock_is_writer(&l));
		assert_others(&l, false, false);
		pawl_rwlock_write_unlock(&l);
		assert_false(pawl_rwlock_is_writer(&l));
		assert_free(&l);
	}
}

static void a_downgraded_lock_is_read(void **state)
{
	struct pawl_rwlock l;
	enum form form;

	(void)state;
	for (form = COUNTED; form < FORMS; form++) {
		shape(&l, form);
		pawl_rwlock_write_lock(&l);
		pawl_rwlock_downgrade(&l);
		assert_false(pawl_rwlock_is_writer(&l));
		assert_others(&l, true, false);
		pawl_rwlock_read_unlock(&l);
		assert_free(&l);
	}
}

static void a_failed_try_leaves_the_form(void **state)
{
	struct pawl_rwlock l;
	enum form form;

	(void)state;
	for (form = COUNTED; form < FORMS; form++) {
		uint64_t before;

		shape(&l, form);
		pawl_rwlock_read_lock(&l);
		before = word_of(&l);
		assert_others(&l, true, false);
		assert_int_equal(word_of(&l) & before, before);
		pawl_rwlock_read_unlock(&l);
		assert_free(&l);
	}
}

static void a_thread_reads_more_locks_than_its_record_has_room_for(void **state)
{
	enum { LOCKS = 40 };
	struct pawl_rwlock l[LOCKS];
	enum form form;
	int i, k;

	(void)state;
	for (form = COUNTED; form < FORMS; form++) {
		for (i = 0; i < LOCKS; i++)
			shape(&l[i], form);
		for (i = 0; i < LOCKS; i++)
			pawl_rwlock_read_lock(&l[i]);
		for (i = 0; i < LOCKS; i++)
			assert_others(&l[i], true, false);
		/* In an order that is neither. */
		for (i = 0, k = 0; i < LOCKS; i++, k = (k + 7) % LOCKS)
			pawl_rwlock_read_unlock(&l[k]);
		for (i = 0; i < LOCKS; i++)
			assert_free(&l[i]);
	}
}

/* A writer that waits, and when it got in. */
struct writer {
	struct pawl_rwlock *l;
	pawl_atomic64 inside;
};

static void *writer_run(void *argument)
{
	struct writer *w = argument;

	pawl_rwlock_write_lock(w->l);
	pawl_store_release(&w->inside, 1);
	pawl_rwlock_write_unlock(w->l);
	return NULL;
}

static void await_gate(const struct pawl_rwlock *l)
{
	while (pawl_load_acquire(&l->gate.word) == 0)
		breathe();
}

static void recursive_reading_does_not_wait_for_a_writer(void **state)
{
	enum { DEPTH = 20 };
	struct pawl_rwlock l, others[12];
	struct writer w;
	pthread_t thread;
	enum form form;
	size_t full, i;

	(void)state;
	watchdog("recursion");
	for (form = COUNTED; form < FORMS; form++)
		for (full = 0; full < 2; full++) {
			/* With a record that has room, and one that has not. */
			for (i = 0; i < full * COUNT_OF(others); i++) {
				shape(&others[i], BIASED);
				pawl_rwlock_read_lock(&others[i]);
			}
			shape(&l, form);
			w = (struct writer){.l = &l};
			pawl_rwlock_read_lock(&l);
			assert_int_equal(pthread_create(&thread, NULL, writer_run, &w),
					 0);
			await_gate(&l);
			for (i = 0; i < DEPTH; i++)
				pawl_rwlock_read_lock(&l);
			assert_true(pawl_rwlock_read_trylock(&l));
			pawl_rwlock_read_unlock(&l);
			/* All but the last, and the writer is still outside. */
			for (i = 0; i < DEPTH; i++)
				pawl_rwlock_read_unlock(&l);
			assert_int_equal(pawl_load_acquire(&w.inside), 0);
			pawl_rwlock_read_unlock(&l);
			pthread_join(thread, NULL);
			for (i = 0; i < full * COUNT_OF(others); i++)
				pawl_rwlock_read_unlock(&others[i]);
			assert_free(&l);
		}
	watchdog(NULL);
}

static void timed_waits_end_and_leave_nothing_behind(void **state)
{
	static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
	static const long lengths[] = {-1000, 0, 1, 20};
	struct pawl_rwlock l;
	struct timespec bad = {.tv_sec = 1, .tv_nsec = 1000000000};
	enum form form;
	size_t c, i;

	(void)state;
	watchdog("timed");
	for (form = COUNTED; form < FORMS; form++)
		for (c = 0; c < COUNT_OF(clocks); c++)
			for (i = 0; i < COUNT_OF(lengths); i++) {
				struct timespec then = in_ms(clocks[c], lengths[i]);
				uint64_t before;

				shape(&l, form);
				pawl_rwlock_read_lock(&l);
				before = word_of(&l);
				errno = 42;
				assert_int_equal(
					pawl_rwlock_write_timedlock(&l, clocks[c], &then),
					ETIMEDOUT);
				assert_int_equal(
					pawl_rwlock_write_timedlock(&l, clocks[c], &bad),
					EINVAL);
				assert_int_equal(counted(&l),
						 before / PAWL_RWLOCK_READER);
				if (form == BIASED)
					assert_int_equal(word_of(&l), before); /* I4 */
				pawl_rwlock_read_unlock(&l);
				assert_int_equal(
					pawl_rwlock_write_timedlock(&l, clocks[c], &then),
					0);
				assert_int_equal(
					pawl_rwlock_read_timedlock(&l, clocks[c], &then),
					ETIMEDOUT);
				assert_int_equal(
					pawl_rwlock_read_timedlock(&l, 77, &then),
					EINVAL);
				assert_int_equal(
					pawl_rwlock_write_timedlock(&l, clocks[c], &then),
					ETIMEDOUT);
				pawl_rwlock_write_unlock(&l);
				assert_int_equal(
					pawl_rwlock_read_timedlock(&l, clocks[c], &bad),
					0);
				pawl_rwlock_read_unlock(&l);
				assert_int_equal(errno, 42);
				assert_free(&l);
			}
	watchdog(NULL);
}

/*
 * Bounds. A reader that has queued is let in by the writer under way, or by the next
 * one, however many there are.
 */
struct line {
	struct pawl_rwlock l;
	pawl_atomic64 written; /* sections so far */
	pawl_atomic64 stop;
	uint64_t late; /* by the reader: how many began after it had queued */
};

static void *line_writer(void *argument)
{
	struct line *q = argument;

	while (pawl_load_acquire(&q->stop) == 0) {
		pawl_rwlock_write_lock(&q->l);
		/* Relaxed: under the lock. */
		pawl_store_relaxed(&q->written, pawl_load_relaxed(&q->written) + 1);
		pawl_rwlock_write_unlock(&q->l);
	}
	return NULL;
}

static void *line_reader(void *argument)
{
	struct line *q = argument;

	pawl_rwlock_read_lock(&q->l);
	pawl_store_release(&q->stop, 1);
	pawl_rwlock_read_unlock(&q->l);
	return NULL;
}

static void a_queued_reader_is_let_in_by_the_writer_that_leaves(void **state)
{
	enum { READERS = 5 };
	struct line q = {.late = 0};
	pthread_t readers[READERS], writer;
	int i;

	(void)state;
	watchdog("the line");
	pawl_rwlock_write_lock(&q.l);
	for (i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, line_reader, &q), 0);
	/* All in line, by the count of the parking table. */
	while (pawl_load_acquire(&pawl_bucket_of(&q.l)->wanted) <
	       READERS + (membarrier_works() ? 0 : 1))
		breathe();
	/* Another writer waits for the gate: it must come after all of them. */
	assert_int_equal(pthread_create(&writer, NULL, line_writer, &q), 0);
	while (pawl_load_acquire(&q.l.gate.due) == 0)
		breathe();
	assert_int_equal(counted(&q.l), 0);
	pawl_rwlock_write_unlock(&q.l);
	/* They were counted in before the gate was set free: not one section. */
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	pthread_join(writer, NULL);
	assert_free(&q.l);
	watchdog(NULL);
}

static void one_reader_gets_in_among_writers_and_the_other_way_round(void **state)
{
	enum { CROWD = 4, TIMES = 50 };
	static struct line q;
	pthread_t crowd[CROWD];
	int i;

	(void)state;
	watchdog("among writers");
	memset(&q, 0, sizeof(q));
	for (i = 0; i < CROWD; i++)
		assert_int_equal(pthread_create(&crowd[i], NULL, line_writer, &q), 0);
	for (i = 0; i < TIMES; i++) {
		pawl_rwlock_read_lock(&q.l);
		pawl_rwlock_read_unlock(&q.l);
	}
	pawl_store_release(&q.stop, 1);
	for (i = 0; i < CROWD; i++)
		pthread_join(crowd[i], NULL);
	assert_free(&q.l);
	watchdog(NULL);
}

/* Readers that never pause: each holds the lock until another one has it too. */
struct relay {
	struct pawl_rwlock l;
	pawl_atomic64 readers, stop;
};

static void *relay_run(void *argument)
{
	struct relay *r = argument;

	while (pawl_load_acquire(&r->stop) == 0) {
		pawl_rwlock_read_lock(&r->l);
		pawl_fetch_add_release(&r->readers, 1);
		/* Ends when another comes, or a writer keeps others from coming. */
		while (pawl_load_acquire(&r->readers) < 2 &&
		       pawl_load_acquire(&r->stop) == 0 &&
		       pawl_load_acquire(&r->l.gate.word) == 0)
			breathe();
		pawl_fetch_add_release(&r->readers, (uint64_t)-1);
		pawl_rwlock_read_unlock(&r->l);
	}
	return NULL;
}

static void a_writer_gets_in_among_readers_that_overlap(void **state)
{
	enum { READERS = 4, TIMES = 50 };
	static struct relay r;
	pthread_t threads[READERS];
	int i;

	(void)state;
	watchdog("overlapping readers");
	memset(&r, 0, sizeof(r));
	for (i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, relay_run, &r), 0);
	for (i = 0; i < TIMES; i++) {
		pawl_rwlock_write_lock(&r.l);
		assert_int_equal(pawl_load_acquire(&r.readers), 0);
		pawl_rwlock_write_unlock(&r.l);
	}
	pawl_store_release(&r.stop, 1);
	for (i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	assert_free(&r.l);
	watchdog(NULL);
}

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

/* A key whose destructor comes after the library's, or before: it reads in any case. */
static struct pawl_rwlock at_exit;
static pthread_key_t exit_keys[2];

static void read_at_exit(void *argument)
{
	(void)argument;
	pawl_rwlock_read_lock(&at_exit);
	pawl_rwlock_read_lock(&at_exit);
	pawl_rwlock_read_unlock(&at_exit);
	pawl_rwlock_read_unlock(&at_exit);
}

static void unlock_at_exit(void *argument)
{
	(void)argument;
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
	for (form = COUNTED; form < FORMS; form++)
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
	alarm(20);
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
	for (form = COUNTED; form < FORMS; form++) {
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

/* The bias comes back, but not at once. */
static void a_bias_that_was_withdrawn_is_barred_for_a_while(void **state)
{
	struct pawl_rwlock l;
	uint64_t until;
	int i;

	(void)state;
	shape(&l, BIASED);
	pawl_rwlock_write_lock(&l);
	pawl_rwlock_write_unlock(&l);
	assert_int_equal(word_of(&l), 0);
	until = pawl_load_acquire(&l.barred);
	for (i = 0; (word_of(&l) & PAWL_RWLOCK_BIASED) == 0; i++) {
		pawl_rwlock_read_lock(&l);
		pawl_rwlock_read_unlock(&l);
	}
	/* It says since when it is biased. */
	assert_true(pawl_load_acquire(&l.barred) >= (until & ~(uint64_t)15));
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test(readers_share_and_writers_do_not),
		cmocka_unit_test(a_downgraded_lock_is_read),
		cmocka_unit_test(a_failed_try_leaves_the_form),
		cmocka_unit_test(a_thread_reads_more_locks_than_its_record_has_room_for),
		cmocka_unit_test(recursive_reading_does_not_wait_for_a_writer),
		cmocka_unit_test(timed_waits_end_and_leave_nothing_behind),
		cmocka_unit_test(a_queued_reader_is_let_in_by_the_writer_that_leaves),
		cmocka_unit_test(
			one_reader_gets_in_among_writers_and_the_other_way_round),
		cmocka_unit_test(a_writer_gets_in_among_readers_that_overlap),
		cmocka_unit_test(sections_are_whole),
		cmocka_unit_test(threads_come_and_go),
		cmocka_unit_test(a_thread_reads_while_it_exits),
		cmocka_unit_test(a_child_has_what_its_thread_had),
		cmocka_unit_test(a_handler_reads),
		cmocka_unit_test(a_system_without_membarrier_has_no_bias),
		cmocka_unit_test(a_system_that_comes_to_refuse_ends_the_bias),
		cmocka_unit_test(a_bias_that_was_withdrawn_is_barred_for_a_while),
	};

	if (argc > 1 && strcmp(argv[1], "without-membarrier") == 0)
		return without_membarrier();
	if (argc > 1 && strcmp(argv[1], "refused-later") == 0)
		return refused_later();
	return cmocka_run_group_tests_name("rwlock", cases, NULL, NULL);
}
