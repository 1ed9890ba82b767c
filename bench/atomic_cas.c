/* SPDX-License-Identifier: MIT */
/*
 * Atomic compare-and-swap: each thread loads the five shared integers, increments the
 * first in its copy, and tries to store the copy until it succeeds; each load and each
 * compare takes the lock (Reciprocating paper, section 7.2, Figure 2b; quintet.h says how
 * this departs). The result is the number of successful swaps.
 *
 * The first integer must end as this number, modulo 2^32.
 */
#include "quintet.h"

#include <stdlib.h>

static struct quintet load(struct quintet_bench *bench)
{
	struct quintet q;

	bench->subject->lock(&bench->lock);
	q = bench->shared;
	bench->subject->unlock(&bench->lock);
	return q;
}

/* Stores `wanted` if the shared value is *expected; otherwise copies that value there. */
static bool compare_and_swap(struct quintet_bench *bench, struct quintet *expected,
			     struct quintet wanted)
{
	bool equal;

	bench->subject->lock(&bench->lock);
	equal = memcmp(&bench->shared, expected, sizeof(wanted)) == 0;
	if (equal)
		bench->shared = wanted;
	else
		*expected = bench->shared;
	bench->subject->unlock(&bench->lock);
	return equal;
}

/* A swap fails only if another thread's succeeded, so the system makes progress. */
static void work(void *member)
{
	struct quintet_thread *me = member;
	struct quintet_bench *bench = me->bench;

	do {
		struct quintet seen = load(bench), wanted = seen;

		wanted.words[0]++;
		while (!compare_and_swap(bench, &seen, wanted)) {
			me->failures++;
			wanted = seen;
			wanted.words[0]++;
		}
		me->episodes++;
		/* Relaxed: only ends the loop. */
	} while (pawl_load_relaxed(&bench->stop) == 0);
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct quintet_bench bench; /* outlives a hung thread */
	struct quintet_thread *threads = workload_members(shape->threads,
							  sizeof(*threads));
	struct tally tally = {0};
	uint64_t failures = 0;
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	bench = (struct quintet_bench){.subject = subject};
	begin_lock(subject, &bench.lock);
	for (i = 0; i < shape->threads; i++)
		threads[i].bench = &bench;
	elapsed = workload_crew(shape, work, threads, sizeof(*threads), &bench.stop,
				outcome);
	if (elapsed < 0)
		return false;
	for (i = 0; i < shape->threads; i++) {
		tally_add(&tally, threads[i].episodes);
		failures += threads[i].failures;
	}
	tally_report(&tally, elapsed, outcome);
	outcome->figures[0] = (double)failures / (double)tally.total;
	outcome->exclusive = bench.shared.words[0] == (uint32_t)tally.total;
	end_lock(subject, &bench.lock);
	free(threads);
	return true;
}

const struct workload workload_atomic_cas = {
	.name = "atomic-cas",
	.about = "threads compare and swap 20 shared bytes, under a lock",
	.source = "Reciprocating paper 7.2, Figure 2b",
	.unit = "ops/s",
	.run = run,
	.figures = {"failures_per_op"},
};
