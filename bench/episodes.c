/* SPDX-License-Identifier: MIT */
#include "episodes.h"

/* Steps of the generator, at about 1.2 ns each, that take 90 ns. */
enum { WORK = 76 };

static bool one_part(const struct bench_shape *shape, crew_work *loop, void *members,
		     size_t size, uint32_t work, struct bench_outcome *outcome)
{
	static pawl_atomic64 stop; /* outlives a hung thread */
	struct tally tally = {0};
	double elapsed;
	int i;

	pawl_store_relaxed(&stop, 0); /* Relaxed: no thread runs yet. */
	for (i = 0; i < shape->threads; i++)
		*(struct episodes *)((char *)members + (size_t)i * size) =
			(struct episodes){&stop, shape->seed + (uint64_t)i, 0, work};
	elapsed = workload_crew(shape, loop, members, size, &stop, outcome);
	if (elapsed < 0)
		return false;
	for (i = 0; i < shape->threads; i++)
		tally_add(
			&tally,
			((struct episodes *)((char *)members + (size_t)i * size))->count);
	tally_report(&tally, elapsed, outcome);
	outcome->exclusive = true;
	return true;
}

bool episodes_run(const struct bench_shape *shape, crew_work *loop, void *members,
		  size_t size, void (*between)(struct bench_outcome *outcome),
		  struct bench_outcome *outcome)
{
	struct bench_shape shorter = *shape;
	struct bench_outcome with_work;

	shorter.seconds /= 2;
	if (!one_part(shape, loop, members, size, 0, outcome))
		return false;
	between(outcome);
	if (!one_part(&shorter, loop, members, size, WORK, &with_work))
		return false;
	outcome->figures[2] = 1e9 * outcome->cpu_seconds / (double)outcome->episodes;
	outcome->figures[3] = 1e9 * with_work.cpu_seconds / (double)with_work.episodes;
	outcome->episodes += with_work.episodes;
	return true;
}
