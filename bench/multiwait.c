/* SPDX-License-Identifier: MIT */
/*
 * Multi-waiting: ten locks. The leader takes all of them in ascending order and releases
 * them in descending order; every other thread takes and releases a random one. So
 * several threads may wait for locks that the leader holds, the worst case of Hemlock,
 * where they all poll one word (Hemlock paper, section 5.6). As there, the result is the
 * leader's rate; that of the others is a further figure.
 *
 * Departs: under each lock a random number generator is advanced by a step, where the
 * paper's sections are empty; replaying it shows whether the locks excluded.
 */
#include "lcg.h"
#include "workload.h"

#include <math.h>
#include <stdlib.h>

enum { LOCKS = 10 };

struct guarded {
	struct bench_lock lock;
	PAWL_SEQUESTER uint64_t shared; /* under the lock */
};

struct multiwait {
	struct guarded locks[LOCKS];
	PAWL_SEQUESTER pawl_atomic64 stop;
	const struct bench_subject *subject;
};

struct multiwait_thread {
	PAWL_SEQUESTER struct multiwait *bench;
	uint64_t own;
	uint64_t episodes;
	uint64_t taken[LOCKS]; /* how often a follower took it */
	bool leader;
};

static void lead(struct multiwait *bench)
{
	const struct bench_subject *subject = bench->subject;
	int i;

	for (i = 0; i < LOCKS; i++) {
		subject->lock(&bench->locks[i].lock);
		bench->locks[i].shared = lcg_next(bench->locks[i].shared);
	}
	while (i-- > 0)
		subject->unlock(&bench->locks[i].lock);
}

static void follow(struct multiwait *bench, struct multiwait_thread *me)
{
	struct guarded *one;
	uint32_t i;

	me->own = lcg_next(me->own);
	i = lcg_below(me->own, LOCKS);
	one = &bench->locks[i];
	bench->subject->lock(&one->lock);
	one->shared = lcg_next(one->shared);
	bench->subject->unlock(&one->lock);
	me->taken[i]++;
}

/* No deadlock: a follower holds one lock at a time and waits for nothing while it
 * does. */
static void work(void *member)
{
	struct multiwait_thread *me = member;

	do {
		if (me->leader)
			lead(me->bench);
		else
			follow(me->bench, me);
		me->episodes++;
		/* Relaxed: only ends the loop. */
	} while (pawl_load_relaxed(&me->bench->stop) == 0);
}

/* Replays the sections under one lock. */
static bool excluded(const struct multiwait *bench,
		     const struct multiwait_thread *threads, int count, int lock)
{
	uint64_t steps = threads[0].episodes;
	int i;

	for (i = 1; i < count; i++)
		steps += threads[i].taken[lock];
	return bench->locks[lock].shared == lcg_jump(0, steps);
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct multiwait bench; /* outlives a hung thread */
	struct multiwait_thread *threads = workload_members(shape->threads,
							    sizeof(*threads));
	uint64_t followed = 0;
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	bench = (struct multiwait){.subject = subject};
	for (i = 0; i < LOCKS; i++)
		begin_lock(subject, &bench.locks[i].lock);
	for (i = 0; i < shape->threads; i++) {
		threads[i].bench = &bench;
		threads[i].own = shape->seed + (uint64_t)i;
		threads[i].leader = i == 0;
	}
	elapsed = workload_crew(shape, work, threads, sizeof(*threads), &bench.stop,
				outcome);
	if (elapsed < 0)
		return false;
	for (i = 1; i < shape->threads; i++)
		followed += threads[i].episodes;
	outcome->exclusive = true;
	for (i = 0; i < LOCKS; i++) {
		outcome->exclusive &= excluded(&bench, threads, shape->threads, i);
		end_lock(subject, &bench.locks[i].lock);
	}
	outcome->episodes = threads[0].episodes;
	outcome->ops_per_s = outcome->value = (double)threads[0].episodes / elapsed;
	outcome->fairness = NAN; /* the threads have different roles */
	outcome->figures[0] = (double)followed / elapsed;
	free(threads);
	return true;
}

const struct workload workload_multiwait = {
	.name = "multiwait",
	.about = "ten locks, a leader that takes them all, others that take one",
	.source = "Hemlock paper 5.6",
	.unit = "ops/s",
	.run = run,
	.many_locks = true,
	.least_threads = 2,
	.figures = {"others_per_s"},
};
