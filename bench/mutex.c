/* SPDX-License-Identifier: MIT */
/* One run of MutexBench, which mutex.h describes. */
#include "mutex.h"

#include "workload.h"

#include <stdlib.h>

bool mutex_run(const struct bench_subject *subject, const struct bench_shape *shape,
	       struct bench_outcome *outcome)
{
	static struct mutex_bench bench; /* outlives a hung thread */
	struct mutex_thread *threads = workload_members(shape->threads, sizeof(*threads));
	struct tally tally = {0};
	uint64_t seed = shape->seed, episodes = 0;
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	bench = (struct mutex_bench){
		.shared = shape->seed, .cs = shape->cs, .ncs = shape->ncs};
	begin_lock(subject, &bench.lock);
	for (i = 0; i < shape->threads; i++) {
		seed = lcg_next(seed);
		threads[i].bench = &bench;
		threads[i].own = seed;
	}
	elapsed = workload_crew(shape,
				shape->time_waits ? subject->timed_loop : subject->loop,
				threads, sizeof(*threads), &bench.stop, outcome);
	if (elapsed < 0)
		return false; /* threads may still use their members */
	for (i = 0; i < shape->threads; i++) {
		const struct mutex_thread *t = &threads[i];
		/* A thread may have made no progress since the warm-up. */
		bool counts = shape->warm_up == 0 || t->seen == CREW_WARM;

		episodes += t->episodes;
		tally_add(&tally, counts ? t->episodes - t->unheeded : 0);
		waits_merge(&outcome->waits, &t->waits);
	}
	tally_report(&tally, elapsed, outcome);
	outcome->episodes = episodes; /* CPU time includes the warm-up */
	/* The replay: as many steps as the threads report, from the same start. */
	outcome->exclusive = bench.shared == lcg_jump(shape->seed, episodes * shape->cs);
	end_lock(subject, &bench.lock);
	free(threads);
	return true;
}

const struct workload workload_mutex = {
	.name = "mutex",
	.about = "one central lock, a shared random number generator under it",
	.source = "MutexBench: Reciprocating paper 7.1, Hemlock paper 5.1",
	.unit = "ops/s",
	.run = mutex_run,
	.cs = 1,
	.times_waits = true,
	.warms_up = true,
};
