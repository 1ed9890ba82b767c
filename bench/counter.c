/* SPDX-License-Identifier: MIT */
/* A counter that every thread increments in a loop. */
#include "episodes.h"
#include "rseq.h"

#include <pawl/counter.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { LINES = 512 }; /* CPUs beyond share lines; rseq is left out then */

struct line {
	PAWL_SEQUESTER pawl_atomic64 value;
};

static struct line lines[LINES]; /* for each CPU; or the first alone */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pawl_counter counter;

struct adder {
	struct episodes episodes;
	uint64_t own;
};

/* Relaxed throughout: the sum is read after all threads are joined. */

static void thread_loop(void *member)
{
	struct adder *me = member;
	uint64_t count = 0;

	do
		me->own++;
	while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

static void mutex_loop_one(void *member)
{
	struct adder *me = member;
	uint64_t count = 0;

	do {
		pthread_mutex_lock(&mutex);
		lines[0].value.raw++;
		pthread_mutex_unlock(&mutex);
	} while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

static void add_loop(void *member)
{
	struct adder *me = member;
	uint64_t count = 0;

	do
		pawl_fetch_add_relaxed(&lines[0].value, 1);
	while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

static void cpu_add_loop(void *member)
{
	struct adder *me = member;
	uint64_t count = 0;

	do
		pawl_fetch_add_relaxed(&lines[pawl_lease_id() & (LINES - 1)].value, 1);
	while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

static void rseq_loop(void *member)
{
	struct adder *me = member;
	uint64_t count = 0;

	do
		rseq_add(lines, sizeof(lines[0]), 1);
	while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

/* As rseq, with the array behind a pointer, as in pawl's counters. */
static struct line *behind = lines;

static void rseq_pointer_loop(void *member)
{
	struct adder *me = member;
	uint64_t count = 0;

	do
		rseq_add(*(struct line *volatile *)&behind, sizeof(lines[0]), 1);
	while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

static void pawl_loop(void *member)
{
	struct adder *me = member;
	uint64_t count = 0;

	do
		pawl_counter_add(&counter, 1);
	while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

struct variant {
	struct bench_subject subject;
	enum pawl_shards_kind kind;
};

static const struct variant variants[] = {
	{{.name = "lease", .loop = pawl_loop}, PAWL_SHARDS_LEASED},
	{{.name = "atomic", .loop = pawl_loop}, PAWL_SHARDS_ATOMIC},
	{{.name = "random", .loop = pawl_loop}, PAWL_SHARDS_RANDOM},
	{{.name = "mutex", .loop = mutex_loop_one}, PAWL_SHARDS_LEASED},
	{{.name = "add", .loop = add_loop}, PAWL_SHARDS_LEASED},
	{{.name = "cpu-add", .loop = cpu_add_loop}, PAWL_SHARDS_LEASED},
	{{.name = "thread", .loop = thread_loop}, PAWL_SHARDS_LEASED},
	/* The rest needs rseq. */
	{{.name = "rseq", .loop = rseq_loop}, PAWL_SHARDS_LEASED},
	{{.name = "rseq-pointer", .loop = rseq_pointer_loop}, PAWL_SHARDS_LEASED},
};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), BY_RSEQ = 2 };

static const struct bench_subject *subjects[VARIANTS + 1];

__attribute__((constructor)) static void list_subjects(void)
{
	size_t i;

	for (i = 0; i < (size_t)VARIANTS - (rseq_there(LINES) ? 0 : BY_RSEQ); i++)
		subjects[i] = &variants[i].subject;
}

static void figures(struct bench_outcome *outcome)
{
	struct pawl_shards_stats stats;

	pawl_shards_get_stats(&counter.shards, &stats);
	outcome->figures[0] = stats.shards > 0 ? (double)stats.shards : NAN;
	outcome->figures[1] = 100 * (double)stats.overflows / (double)outcome->episodes;
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	struct adder *adders = workload_members(shape->threads, sizeof(*adders));
	uint64_t sum;
	int i;

	if (adders == NULL)
		return false;
	memset(lines, 0, sizeof(lines));
	errno = pawl_counter_create(&counter, ((const struct variant *)subject)->kind);
	if (errno != 0 || !episodes_run(shape, subject->loop, adders, sizeof(*adders),
					figures, outcome))
		return false;
	sum = (uint64_t)pawl_counter_sum(&counter);
	for (i = 0; i < shape->threads; i++)
		sum += adders[i].own;
	for (i = 0; i < LINES; i++)
		sum += pawl_load_relaxed(&lines[i].value);
	outcome->exclusive = sum == outcome->episodes;
	pawl_counter_destroy(&counter);
	free(adders);
	return true;
}

const struct workload workload_counter = {
	.name = "counter",
	.about = "add 1 to a count that all threads share",
	.source = "Khuong, lock-free dynamic contention management",
	.unit = "ops/s",
	.run = run,
	.subjects = subjects,
	.reference = "mutex",
	.figures = EPISODE_FIGURES,
};
