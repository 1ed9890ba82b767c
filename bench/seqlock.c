/* SPDX-License-Identifier: MIT */
/*
 * Readers of a record of 64 bytes without writers: with the seqlock, and under glibc's
 * read-write lock. Each read copies the record and checks it.
 */
#define _GNU_SOURCE
#include "workload.h"

#include <pawl/seqlock.h>

#include <pthread.h>
#include <stdlib.h>

struct record {
	uint64_t numbers[8]; /* all equal */
};

static struct {
	PAWL_SEQUESTER struct pawl_seqlock seq;
	pawl_atomic64 words[PAWL_SEQLOCK_WORDS(sizeof(struct record))];
	PAWL_SEQUESTER pthread_rwlock_t lock;
	struct record record;
} shared = {.lock = PTHREAD_RWLOCK_INITIALIZER};

struct seqlock_thread {
	PAWL_SEQUESTER pawl_atomic64 *stop;
	uint64_t episodes;
	bool torn;
};

static bool is_torn(const struct record *record)
{
	uint64_t differing = 0;
	size_t i;

	for (i = 1; i < 8; i++)
		differing |= record->numbers[i] ^ record->numbers[0];
	return differing != 0;
}

static void read_seqlock(void *member)
{
	struct seqlock_thread *me = member;
	uint64_t episodes = 0;
	bool torn = false;
	struct record copy;

	do {
		pawl_seqlock_read(&shared.seq, shared.words, &copy, sizeof(copy));
		torn |= is_torn(&copy);
		episodes++;
		/* Relaxed: only ends the loop. */
	} while (pawl_load_relaxed(me->stop) == 0);
	me->torn = torn;
	me->episodes = episodes;
}

static void read_rwlock(void *member)
{
	struct seqlock_thread *me = member;
	uint64_t episodes = 0;
	bool torn = false;
	struct record copy;

	do {
		pthread_rwlock_rdlock(&shared.lock);
		copy = shared.record;
		pthread_rwlock_unlock(&shared.lock);
		torn |= is_torn(&copy);
		episodes++;
		/* Relaxed: only ends the loop. */
	} while (pawl_load_relaxed(me->stop) == 0);
	me->torn = torn;
	me->episodes = episodes;
}

static const struct bench_subject seqlock = {.name = "seqlock", .loop = read_seqlock};
static const struct bench_subject rwlock = {.name = "pthread-rwlock",
					    .loop = read_rwlock};
static const struct bench_subject *const subjects[] = {&seqlock, &rwlock, NULL};

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static pawl_atomic64 stop; /* outlives a hung thread */
	struct seqlock_thread *threads = workload_members(shape->threads,
							  sizeof(*threads));
	struct record full;
	struct tally tally = {0};
	bool torn = false;
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	for (i = 0; i < 8; i++)
		full.numbers[i] = shape->seed;
	shared.record = full;
	pawl_seqlock_write(&shared.seq, shared.words, &full, sizeof(full));
	pawl_store_relaxed(&stop, 0); /* Relaxed: no thread runs yet */
	for (i = 0; i < shape->threads; i++)
		threads[i].stop = &stop;
	elapsed = workload_crew(shape, subject->loop, threads, sizeof(*threads), &stop,
				outcome);
	if (elapsed < 0)
		return false; /* threads may still use their members */
	for (i = 0; i < shape->threads; i++) {
		tally_add(&tally, threads[i].episodes);
		torn |= threads[i].torn;
	}
	tally_report(&tally, elapsed, outcome);
	outcome->exclusive = !torn;
	free(threads);
	return true;
}

const struct workload workload_seqlock = {
	.name = "seqlock",
	.about = "threads read 64 bytes that nobody writes: seqlock, read-write lock",
	.source = "Hapax paper, appendix B",
	.unit = "ops/s",
	.run = run,
	.subjects = subjects,
	.reference = "pthread-rwlock",
};
