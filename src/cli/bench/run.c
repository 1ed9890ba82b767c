/* SPDX-License-Identifier: MIT */
/* pawl bench: the measurement. */
#include "cli/bench/bench.h"
#include "lcg.h"
#include "cli/common/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void measure_cell(const struct bench_part *part, struct bench_cell *cell,
			 uint64_t seed, bool time_waits)
{
	struct bench_shape shape = part->shape;
	struct cpu_ticks before = cpu_ticks_now();
	struct bench_outcome outcome;
	struct bench_sample *sample;

	shape.threads = cell->threads;
	shape.seed = seed;
	shape.time_waits = time_waits;
	if (!part->workload->run(cell->subject, &shape, &outcome)) {
		if (errno == ETIMEDOUT)
			give_up("'%s' hangs with %d thread(s), workload %s: a thread "
				"waits for a lock or a signal that never arrives; do not "
				"use it, and report it",
				cell->subject->name, cell->threads, part->workload->name);
		give_up("cannot start %d threads: %s; lower --threads", cell->threads,
			strerror(errno));
	}
	if (!outcome.exclusive)
		give_up("EXCLUSION VIOLATED by '%s' with %d thread(s), workload %s: the "
			"shared data do not match the threads' counts; do not use this "
			"lock, and report it",
			cell->subject->name, cell->threads, part->workload->name);
	if (crew_interrupted())
		return; /* interrupted: no sample */
	cpu_ticks_add(&cell->ticks, before, cpu_ticks_now());
	if (time_waits) {
		cell->timed = true;
		cell->waits = outcome.waits;
		return;
	}
	sample = &cell->samples[cell->runs++];
	sample->value = outcome.value;
	sample->ops_per_s = outcome.ops_per_s;
	sample->fairness = outcome.fairness;
	sample->cpu_ns = 1e9 * outcome.cpu_seconds / (double)outcome.episodes;
	sample->switches = (double)outcome.context_switches /
			   (shape.warm_up + shape.seconds);
	memcpy(sample->figures, outcome.figures, sizeof(sample->figures));
}

struct progress {
	size_t done, total;
};

static size_t cells_of(const struct bench_part *parts, size_t count)
{
	size_t i, cells = 0;

	for (i = 0; i < count; i++)
		cells += parts[i].count;
	return cells;
}

/* Every round measures every cell once, in random order, so that disturbances affect all
 * of them alike. The last round is the one that times waits, if there is one, because
 * timing would slow the others down. */
static uint64_t measure_parts(struct bench_part *parts, size_t count, size_t runs,
			      bool time_waits, uint64_t seed, struct progress *progress)
{
	size_t cells = cells_of(parts, count);
	size_t *order = calloc(cells, sizeof(*order));
	size_t rounds = runs + time_waits, i, round;

	if (order == NULL)
		give_up("out of memory");
	for (i = 0; i < cells; i++)
		order[i] = i;
	for (round = 0; round < rounds; round++) {
		seed = lcg_shuffle(order, cells, seed);
		for (i = 0; i < cells && !crew_interrupted(); i++) {
			size_t n = order[i];
			struct bench_part *part = parts;
			struct bench_cell *cell;

			for (; n >= part->count; part++)
				n -= part->count;
			cell = &part->cells[n];

			show_progress(progress->done, progress->total,
				      "run %zu of %zu: %s, %s, %d thread%s",
				      progress->done + 1, progress->total,
				      part->workload->name, cell->subject->name,
				      cell->threads, cell->threads == 1 ? "" : "s");
			seed = lcg_next(seed);
			measure_cell(part, cell, seed, round == runs);
			progress->done++;
		}
	}
	free(order);
	return seed;
}

static bool times_waits(const struct bench_plan *plan, const struct bench_part *part)
{
	return plan->time_waits && part->workload->times_waits;
}

/* The number of parts from here on of one workload. */
static size_t kin_of(const struct bench_plan *plan, size_t first)
{
	size_t n = 1;

	while (first + n < plan->count &&
	       plan->parts[first + n].workload == plan->parts[first].workload)
		n++;
	return n;
}

/* One workload after the other: their figures are not compared. */
void measure_plan(struct bench_plan *plan)
{
	struct progress progress = {0};
	uint64_t seed = plan->seed;
	size_t i, kin;

	for (i = 0; i < plan->count; i++)
		progress.total += plan->parts[i].count *
				  (plan->runs + times_waits(plan, &plan->parts[i]));
	expect_seconds(plan_length(plan));
	for (i = 0; i < plan->count; i += kin) {
		kin = kin_of(plan, i);
		seed = measure_parts(&plan->parts[i], kin, plan->runs,
				     times_waits(plan, &plan->parts[i]), seed, &progress);
	}
	end_progress();
}
