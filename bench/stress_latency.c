/* SPDX-License-Identifier: MIT */
/*
 * Stress latency: each thread takes a central lock, loops 200 times, releases it, and
 * loops 5000 times (TWA paper, section 4.3, which took it from liblock). With few threads
 * the lock is mostly free; when it saturates depends on the lock.
 *
 * Departs: a loop is a step of a random number generator, the shared one inside and the
 * thread's own outside, as in MutexBench, so that replaying it shows a lost step. --cs
 * and --ncs change the two lengths.
 */
#include "lcg.h"
#include "workload.h"

#include <stdlib.h>

struct stress {
	struct bench_lock lock;
	PAWL_SEQUESTER uint64_t shared; /* under the lock */
	PAWL_SEQUESTER pawl_atomic64 stop;
	const struct bench_subject *subject;
	uint32_t cs, ncs;
};

struct stress_thread {
	PAWL_SEQUESTER struct stress *stress;
	uint64_t own; /* stored lest it be optimised away */
	uint64_t episodes;
};

static void work(void *member)
{
	struct stress_thread *me = member;
	struct stress *stress = me->stress;
	const struct bench_subject *subject = stress->subject;

	do {
		subject->lock(&stress->lock);
		stress->shared = lcg_walk(stress->shared, stress->cs);
		subject->unlock(&stress->lock);
		me->own = lcg_walk(me->own, stress->ncs);
		me->episodes++;
		/* Relaxed: only ends the loop. */
	} while (pawl_load_relaxed(&stress->stop) == 0);
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct stress stress; /* outlives a hung thread */
	struct stress_thread *threads = workload_members(shape->threads,
							 sizeof(*threads));
	struct tally tally = {0};
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	stress = (struct stress){.shared = shape->seed,
				 .subject = subject,
				 .cs = shape->cs,
				 .ncs = shape->ncs};
	begin_lock(subject, &stress.lock);
	for (i = 0; i < shape->threads; i++) {
		threads[i].stress = &stress;
		threads[i].own = shape->seed + (uint64_t)i;
	}
	elapsed = workload_crew(shape, work, threads, sizeof(*threads), &stress.stop,
				outcome);
	if (elapsed < 0)
		return false;
	for (i = 0; i < shape->threads; i++)
		tally_add(&tally, threads[i].episodes);
	tally_report(&tally, elapsed, outcome);
	outcome->exclusive = stress.shared ==
			     lcg_jump(shape->seed, tally.total * shape->cs);
	end_lock(subject, &stress.lock);
	free(threads);
	return true;
}

const struct workload workload_stress_latency = {
	.name = "stress-latency",
	.about = "one central lock, 200 steps under it and 5000 outside",
	.source = "TWA paper 4.3",
	.unit = "ops/s",
	.run = run,
	.cs = 200,
	.ncs = 5000,
};
