/* SPDX-License-Identifier: MIT */
/*
 * Atomic exchange: each thread swaps its own five integers with the shared ones
 * (Reciprocating paper, section 7.2, Figure 2a; quintet.h says how this departs).
 *
 * At the end every initial quintet must exist exactly once and untorn.
 */
#include "quintet.h"

#include <stdlib.h>

static struct quintet numbered(uint32_t n)
{
	return (struct quintet){{n, ~n, n, ~n, n}};
}

static bool in_one_piece(const struct quintet *q)
{
	struct quintet whole = numbered(q->words[0]);

	return memcmp(q, &whole, sizeof(whole)) == 0;
}

static void work(void *member)
{
	struct quintet_thread *me = member;
	struct quintet_bench *bench = me->bench;
	const struct bench_subject *subject = bench->subject;

	do {
		struct quintet taken;

		subject->lock(&bench->lock);
		taken = bench->shared;
		bench->shared = me->local;
		subject->unlock(&bench->lock);
		me->local = taken;
		me->episodes++;
		/* Relaxed: only ends the loop. */
	} while (pawl_load_relaxed(&bench->stop) == 0);
}

/* Marks q as seen; false if it is torn, unknown or a duplicate. */
static bool tick_off(const struct quintet *q, bool *seen, int threads)
{
	uint32_t n = q->words[0];

	if (!in_one_piece(q) || n > (uint32_t)threads || seen[n])
		return false;
	seen[n] = true;
	return true;
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct quintet_bench bench; /* outlives a hung thread */
	struct quintet_thread *threads = workload_members(shape->threads,
							  sizeof(*threads));
	bool *seen = calloc((size_t)shape->threads + 1, sizeof(*seen));
	struct tally tally = {0};
	double elapsed;
	int i;

	if (threads == NULL || seen == NULL)
		return false;
	bench = (struct quintet_bench){.subject = subject, .shared = numbered(0)};
	begin_lock(subject, &bench.lock);
	for (i = 0; i < shape->threads; i++) {
		threads[i].bench = &bench;
		threads[i].local = numbered((uint32_t)i + 1);
	}
	elapsed = workload_crew(shape, work, threads, sizeof(*threads), &bench.stop,
				outcome);
	if (elapsed < 0)
		return false;
	outcome->exclusive = tick_off(&bench.shared, seen, shape->threads);
	for (i = 0; i < shape->threads; i++) {
		tally_add(&tally, threads[i].episodes);
		outcome->exclusive &= tick_off(&threads[i].local, seen, shape->threads);
	}
	tally_report(&tally, elapsed, outcome);
	end_lock(subject, &bench.lock);
	free(seen);
	free(threads);
	return true;
}

const struct workload workload_atomic_exchange = {
	.name = "atomic-exchange",
	.about = "threads swap 20 bytes with shared ones, under a lock",
	.source = "Reciprocating paper 7.2, Figure 2a",
	.unit = "ops/s",
	.run = run,
};
