/* SPDX-License-Identifier: MIT */
/*
 * A cache behind one mutex: every thread looks up random keys, which is short; one
 * look-up in a few hundred finds a stale entry and refills it, --cs steps with the mutex
 * held. Between two look-ups a thread works, --ncs steps.
 *
 * A refill marks the entry when it begins and when it ends; a look-up must find both
 * marks equal. No refill may be lost.
 */
#include "monitor.h"

enum { ENTRIES = 64, LOOK_UPS_PER_FILL = 256 };

struct entry {
	uint64_t begun, value, ended; /* the marks count the refills */
};

struct readers {
	struct monitor_bench bench;
	PAWL_SEQUESTER struct entry entries[ENTRIES]; /* under the lock */
};

static void fill(struct monitor_thread *me, struct entry *entry)
{
	uint64_t mark = entry->begun + 1;

	entry->begun = mark;
	monitor_section(me);
	entry->value = me->bench->shared;
	entry->ended = mark;
}

static void work(void *member)
{
	struct monitor_thread *me = member;
	struct readers *cache = (struct readers *)me->bench;
	struct monitor *monitor = &cache->bench.monitor;
	uint64_t random = me->own;

	do {
		struct entry *entry;
		uint64_t since;

		random = lcg_next(random);
		entry = &cache->entries[lcg_below(random, ENTRIES)];
		random = lcg_next(random);
		since = monitor_clock(me);
		monitor_enter(monitor);
		monitor_waited(me, since);
		me->wrong |= entry->begun != entry->ended;
		if (lcg_below(random, LOOK_UPS_PER_FILL) == 0)
			fill(me, entry);
		else
			me->sum += entry->value;
		monitor_leave(monitor);
		monitor_work(me);
		me->jobs++;
	} while (!monitor_over(&cache->bench));
}

static bool right(const struct monitor_bench *bench, const struct monitor_thread *threads,
		  int count)
{
	const struct readers *cache = (const struct readers *)bench;
	uint64_t fills = 0;
	int i;

	for (i = 0; i < ENTRIES; i++)
		fills += cache->entries[i].ended;
	for (i = 0; i < count; i++)
		fills -= threads[i].sections;
	return fills == 0;
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct readers cache; /* outlives a hung thread */

	cache = (struct readers){.bench.helpers = 0};
	return monitor_run(&cache.bench, subject, shape, work, right, outcome);
}

const struct workload workload_readers = {
	.name = "readers",
	.about = "a cache behind one mutex: short look-ups, now and then a long fill",
	.cs = 5000,
	.ncs = 200,
	MONITOR_WORKLOAD,
};
