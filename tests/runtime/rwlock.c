/* SPDX-License-Identifier: MIT */
/* pawl_rwlock in each of its forms: who is let in, who waits, what is left behind. */
#define _GNU_SOURCE
#include "harness/harness.h"
#include "rwlock_forms.h"
#include "sync/reads.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(struct pawl_rwlock) == 32, "two in a cache line");

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
	for (form = GATED; form < FORMS; form++) {
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
	for (form = GATED; form < FORMS; form++) {
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
	for (form = GATED; form < FORMS; form++) {
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
	for (form = GATED; form < FORMS; form++) {
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
	for (form = GATED; form < FORMS; form++)
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
	for (form = GATED; form < FORMS; form++)
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
	struct line q = {.stop = {0}};
	pthread_t readers[READERS], writer;
	int i;

	(void)state;
	watchdog("the line");
	pawl_rwlock_write_lock(&q.l);
	for (i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, line_reader, &q), 0);
	/* All in line, by the count of the parking table. */
	while (pawl_load_acquire(&pawl_filter_of_(&q.l.gate)->wanted) <
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

static void *writer_in_vain(void *argument)
{
	struct line *q = argument;

	while (pawl_load_acquire(&q->stop) == 0)
		assert_false(pawl_rwlock_write_trylock(&q->l));
	return NULL;
}

/* Others read all the time: each try to read succeeds. */
static void *reader_beside(void *argument)
{
	struct line *q = argument;
	long i, refused = 0;

	for (i = 0; i < 300000; i++)
		if (pawl_rwlock_read_trylock(&q->l))
			pawl_rwlock_read_unlock(&q->l);
		else
			refused++;
	pawl_store_release(&q->stop, 1);
	assert_int_equal(refused, 0);
	return NULL;
}

static void a_try_to_write_in_vain_turns_no_reader_away(void **state)
{
	enum form form;
	int downgraded;

	(void)state;
	watchdog("a try in vain");
	for (form = GATED; form < FORMS; form++)
		for (downgraded = 0; downgraded < 2; downgraded++) {
			struct line q = {.stop = {0}};
			pthread_t reader, writer;

			shape(&q.l, form);
			if (downgraded != 0) {
				pawl_rwlock_write_lock(&q.l);
				pawl_rwlock_downgrade(&q.l);
			} else {
				pawl_rwlock_read_lock(&q.l);
			}
			assert_int_equal(
				pthread_create(&writer, NULL, writer_in_vain, &q), 0);
			assert_int_equal(pthread_create(&reader, NULL, reader_beside, &q),
					 0);
			pthread_join(reader, NULL);
			pthread_join(writer, NULL);
			pawl_rwlock_read_unlock(&q.l);
			assert_free(&q.l);
		}
	watchdog(NULL);
}

static void *late_writer(void *argument)
{
	struct line *q = argument;
	struct timespec then = in_ms(CLOCK_MONOTONIC, 300);

	assert_int_equal(pawl_rwlock_write_timedlock(&q->l, CLOCK_MONOTONIC, &then),
			 ETIMEDOUT);
	return NULL;
}

/* While a reader is inside: the lock does not become free, and nothing else wakes them. */
static void a_writer_that_gives_up_lets_queued_readers_join(void **state)
{
	enum form form;

	(void)state;
	watchdog("a writer that gives up");
	for (form = GATED; form < FORMS; form++) {
		struct line q = {.stop = {0}};
		pthread_t reader, writer;

		shape(&q.l, form);
		pawl_rwlock_read_lock(&q.l);
		assert_int_equal(pthread_create(&writer, NULL, late_writer, &q), 0);
		while (pawl_load_acquire(&q.l.gate.due) == 0 &&
		       (form == GATED || pawl_load_acquire(&q.l.gate.word) == 0))
			breathe();
		assert_int_equal(pthread_create(&reader, NULL, line_reader, &q), 0);
		pthread_join(reader, NULL);
		pthread_join(writer, NULL);
		pawl_rwlock_read_unlock(&q.l);
		assert_free(&q.l);
	}
	watchdog(NULL);
}

/* A thread that waits for a lock whose memory becomes a new one; timed. */
struct dropped {
	struct pawl_rwlock l;
	bool writes;
	int error;
	pawl_atomic64 id; /* of the thread that waits */
};

static void *wait_and_be_dropped(void *argument)
{
	struct dropped *d = argument;
	struct timespec then = in_ms(CLOCK_MONOTONIC, 300);

	pawl_store_release(&d->id, (uint64_t)gettid());
	if (d->writes)
		d->error = pawl_rwlock_write_timedlock(&d->l, CLOCK_MONOTONIC, &then);
	else
		d->error = pawl_rwlock_read_timedlock(&d->l, CLOCK_MONOTONIC, &then);
	return NULL;
}

/* Whether the thread sleeps: only then is the lock's memory the program's to use anew. */
static bool is_asleep(uint64_t id)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%u/stat", (unsigned)id);
	assert_non_null(file = fopen(path, "r"));
	assert_int_equal(fscanf(file, "%*d %*s %c", &state), 1);
	fclose(file);
	return state == 'S';
}

/* The sleeper looks at the new lock when its time is up. */
static void make_new(struct pawl_rwlock *l)
{
	/* Relaxed, here and below: as plain stores would be, but no data race. */
	pawl_store_relaxed(&l->word, 0);
	pawl_store_relaxed(&l->barred, 0);
	pawl_store_relaxed(&l->gate.word, 0);
	pawl_store_relaxed(&l->gate.due, 0);
}

static void a_new_lock_drops_the_waiters_of_the_old_one(void **state)
{
	enum form form;
	int writes;

	(void)state;
	watchdog("a new lock");
	for (form = GATED; form < FORMS; form++)
		for (writes = 0; writes < 2; writes++) {
			struct dropped d = {.writes = writes != 0};
			uint64_t none = membarrier_works() ? 0 : 1;
			const void *place = writes != 0 && form != GATED ? (void *)&d.l
									 : &d.l.gate;
			pthread_t thread;

			shape(&d.l, form);
			if (d.writes)
				pawl_rwlock_read_lock(&d.l);
			else
				pawl_rwlock_write_lock(&d.l);
			assert_int_equal(
				pthread_create(&thread, NULL, wait_and_be_dropped, &d),
				0);
			while (pawl_load_acquire(&pawl_filter_of_(place)->wanted) ==
				       none ||
			       !is_asleep(pawl_load_acquire(&d.id)))
				breathe();
			pawl_rwlock_forget(&d.l, true);
			assert_int_equal(
				pawl_load_acquire(&pawl_filter_of_(place)->wanted), none);
			make_new(&d.l);
			pthread_join(thread, NULL);
			/* Late, or in the new lock, which was free. */
			if (d.error == 0)
				pawl_store_relaxed(&d.l.gate.word,
						   0); /* Relaxed: joined */
			else
				assert_int_equal(d.error, ETIMEDOUT);
			assert_free(&d.l);
		}
	watchdog(NULL);
}

static void one_reader_gets_in_among_writers(void **state)
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
	assert_int_equal(word_of(&l) & PAWL_RWLOCK_BIASED, 0);
	until = pawl_load_acquire(&l.barred);
	for (i = 0; (word_of(&l) & PAWL_RWLOCK_BIASED) == 0; i++) {
		pawl_rwlock_read_lock(&l);
		pawl_rwlock_read_unlock(&l);
	}
	/* It says since when it is biased. */
	assert_true(pawl_load_acquire(&l.barred) >= until - until % 64);
}

int main(void)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test(readers_share_and_writers_do_not),
		cmocka_unit_test(a_downgraded_lock_is_read),
		cmocka_unit_test(a_failed_try_leaves_the_form),
		cmocka_unit_test(a_thread_reads_more_locks_than_its_record_has_room_for),
		cmocka_unit_test(recursive_reading_does_not_wait_for_a_writer),
		cmocka_unit_test(timed_waits_end_and_leave_nothing_behind),
		cmocka_unit_test(a_queued_reader_is_let_in_by_the_writer_that_leaves),
		cmocka_unit_test(a_try_to_write_in_vain_turns_no_reader_away),
		cmocka_unit_test(a_writer_that_gives_up_lets_queued_readers_join),
		cmocka_unit_test(a_new_lock_drops_the_waiters_of_the_old_one),
		cmocka_unit_test(one_reader_gets_in_among_writers),
		cmocka_unit_test(a_writer_gets_in_among_readers_that_overlap),
		cmocka_unit_test(a_bias_that_was_withdrawn_is_barred_for_a_while),
	};

	return cmocka_run_group_tests_name("rwlock", cases, NULL, NULL);
}
