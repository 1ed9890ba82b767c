/* SPDX-License-Identifier: MIT */
/*
 * The supply of hapax values: every thread draws them as fast as it can. With blocks of
 * one value each draw is a block; with larger blocks, draws from the lanes are rarer.
 * docs/design/hapax.md has the results.
 */
#include "workload.h"

#include <pawl/hapax_value.h>

#include <stdlib.h>

struct lanes_variant {
	struct bench_subject subject;
	enum pawl_lanes from;
	unsigned size;
};

struct lanes_thread {
	PAWL_SEQUESTER pawl_atomic64 *stop;
	uint64_t episodes;
	bool repeated; /* a value was repeated, or 0 */
};

static void draw(void *member)
{
	struct lanes_thread *me = member;
	uint64_t last = 0, episodes = 0;

	pawl_self()->next_hapax = 0; /* so that the next block has this run's size */
	do {
		uint64_t now = pawl_hapax_draw();

		me->repeated |= now == last || now == 0;
		last = now;
		episodes++;
		/* Relaxed: only ends the loop. */
	} while (pawl_load_relaxed(me->stop) == 0);
	me->episodes = episodes;
}

enum { WHOLE = 1 << PAWL_HAPAX_BLOCK_BITS };

/* clang-format off */
#define VARIANT(called, from, block) {{.name = called, .loop = draw}, from, block}
/* clang-format on */

static const struct lanes_variant variants[] = {
	VARIANT("one-1", PAWL_LANES_ONE, 1),
	VARIANT("cpu-1", PAWL_LANES_CPU, 1),
	VARIANT("node-1", PAWL_LANES_NODE, 1),
	VARIANT("random-1", PAWL_LANES_RANDOM, 1),
	VARIANT("one-64", PAWL_LANES_ONE, 64),
	VARIANT("cpu-64", PAWL_LANES_CPU, 64),
	VARIANT("one-65536", PAWL_LANES_ONE, WHOLE),
	VARIANT("cpu-65536", PAWL_LANES_CPU, WHOLE),
};

static const struct bench_subject *const subjects[] = {
	&variants[0].subject, &variants[1].subject, &variants[2].subject,
	&variants[3].subject, &variants[4].subject, &variants[5].subject,
	&variants[6].subject, &variants[7].subject, NULL,
};

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	/* The subject is the first field of its variant. */
	const struct lanes_variant *variant = (const struct lanes_variant *)subject;
	static pawl_atomic64 stop; /* outlives a hung thread */
	struct lanes_thread *threads = workload_members(shape->threads, sizeof(*threads));
	struct tally tally = {0};
	bool repeated = false;
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	pawl_hapax_supply(variant->from, variant->size);
	pawl_store_relaxed(&stop, 0); /* Relaxed: no thread runs yet */
	for (i = 0; i < shape->threads; i++)
		threads[i].stop = &stop;
	elapsed = workload_crew(shape, subject->loop, threads, sizeof(*threads), &stop,
				outcome);
	pawl_hapax_supply(PAWL_LANES_ONE, WHOLE);
	if (elapsed < 0)
		return false; /* threads may still use their members */
	for (i = 0; i < shape->threads; i++) {
		tally_add(&tally, threads[i].episodes);
		repeated |= threads[i].repeated;
	}
	tally_report(&tally, elapsed, outcome);
	outcome->exclusive = !repeated;
	free(threads);
	return true;
}

const struct workload workload_hapax_lanes = {
	.name = "hapax-lanes",
	.about = "draw hapax values: lane-block size; a block of 1 is drawn each time",
	.source = "Hapax paper, appendix D, listing 4",
	.unit = "ops/s",
	.run = run,
	.subjects = subjects,
	.reference = "one-1",
};
