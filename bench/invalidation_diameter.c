/* SPDX-License-Identifier: MIT */
/*
 * Invalidation diameter: one thread increments a shared word by fetch-and-add, all others
 * read it in a loop; the result is the writer's rate. It shows what waiters that poll one
 * word cost the thread that writes it (TWA paper, section 2 and Figure 1). With one
 * thread the writer is alone.
 *
 * Departs: the paper's readers do nothing between two reads (`load`); those of `pause`
 * pause as pawl's waiters do. The paper reports medians of 100 runs of 10 s.
 *
 * The word must end as the number of writes, and no reader may see it decrease.
 */
#include "workload.h"

#include <math.h>
#include <stdlib.h>

struct diameter {
	PAWL_SEQUESTER pawl_atomic64 word;
	PAWL_SEQUESTER pawl_atomic64 stop;
};

struct diameter_thread {
	PAWL_SEQUESTER struct diameter *bench;
	bool writes;
	bool fell; /* a later read returned a smaller number */
	uint64_t episodes;
};

/* Relaxed, all of it: the readers use the number only. */
static inline __attribute__((always_inline)) void loop(struct diameter_thread *me,
						       void (*between)(void))
{
	struct diameter *bench = me->bench;
	uint64_t last = 0, episodes = 0;

	do {
		uint64_t seen;

		if (me->writes) {
			pawl_fetch_add_relaxed(&bench->word, 1);
		} else {
			seen = pawl_load_relaxed(&bench->word);
			me->fell |= seen < last;
			last = seen;
			between();
		}
		episodes++;
	} while (pawl_load_relaxed(&bench->stop) == 0);
	me->episodes = episodes;
}

static void nothing(void)
{
}

static void loop_load(void *member)
{
	loop(member, nothing);
}

static void loop_pause(void *member)
{
	loop(member, pawl_arch_pause);
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct diameter bench; /* outlives a hung thread */
	struct diameter_thread *threads = workload_members(shape->threads,
							   sizeof(*threads));
	uint64_t reads = 0;
	bool fell = false;
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	bench = (struct diameter){.word = {0}};
	for (i = 0; i < shape->threads; i++) {
		threads[i].bench = &bench;
		threads[i].writes = i == 0;
	}
	elapsed = workload_crew(shape, subject->loop, threads, sizeof(*threads),
				&bench.stop, outcome);
	if (elapsed < 0)
		return false;
	for (i = 1; i < shape->threads; i++) {
		reads += threads[i].episodes;
		fell |= threads[i].fell;
	}
	outcome->episodes = threads[0].episodes;
	outcome->ops_per_s = outcome->value = (double)threads[0].episodes / elapsed;
	outcome->fairness = NAN; /* the threads have different roles */
	outcome->figures[0] = (double)reads / elapsed;
	outcome->exclusive = !fell &&
			     pawl_load_relaxed(&bench.word) == threads[0].episodes;
	free(threads);
	return true;
}

static const struct bench_subject load = {.name = "load", .loop = loop_load};
static const struct bench_subject pause = {.name = "pause", .loop = loop_pause};
static const struct bench_subject *const variants[] = {&load, &pause, NULL};

const struct workload workload_invalidation_diameter = {
	.name = "invalidation-diameter",
	.about = "one thread writes a word that all others read",
	.source = "TWA paper 2, Figure 1",
	.unit = "ops/s",
	.run = run,
	.subjects = variants,
	.reference = "load",
	.figures = {"reads_per_s"},
};
