/* SPDX-License-Identifier: MIT */
/* Initialises the stores of slots, and checks at the end that all slots are there. */
#include "stores.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>

struct stores stores;

void store_spill(uint64_t slot)
{
	pawl_tas_lock(&stores.behind);
	stores.spill[stores.spilled++] = (uint32_t)slot;
	pawl_tas_unlock(&stores.behind);
}

static uint64_t take_from_behind(void)
{
	uint64_t slot = PAWL_SLOTS_NONE;

	pawl_tas_lock(&stores.behind);
	if (stores.spilled > 0)
		slot = stores.spill[--stores.spilled];
	else if (stores.made < STORE_SLOTS)
		slot = stores.made++;
	pawl_tas_unlock(&stores.behind);
	return slot;
}

uint64_t store_more(struct store_thread *me, uint64_t (*get)(struct store_thread *me))
{
	uint64_t slot;

	/* Ends with the run, if no other thread puts a slot back before. */
	while ((slot = take_from_behind()) == PAWL_SLOTS_NONE &&
	       (slot = get(me)) == PAWL_SLOTS_NONE &&
	       pawl_load_relaxed(me->episodes.stop) == 0) /* Relaxed: ends the loop */
		sched_yield();
	return slot;
}

static void fill(struct stack *stack, uint64_t *next, uint64_t n)
{
	for (stack->count = 0; stack->count < n; stack->count++)
		stack->slot[stack->count] = (*next)++;
}

/* Counts a stack's slots in seen[]; false on a duplicate. */
static bool account(const struct stack *stack, unsigned char *seen, uint64_t *found)
{
	uint64_t i;

	for (i = 0; i < stack->count; i++) {
		if (seen[stack->slot[i]]++ != 0)
			return false;
		(*found)++;
	}
	return true;
}

/* All slots, one by one, each once. */
static bool drain_pawl(struct pawl_slots *slots)
{
	static uint32_t all[STORE_SLOTS];
	static unsigned char seen[STORE_SLOTS];
	size_t n = pawl_slots_get_batch(slots, all, STORE_SLOTS), i;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < n; i++)
		if (seen[all[i] / slots->step]++ != 0)
			return false;
	return n == slots->limit;
}

/* Fills the variant's store. */
static void begin(const struct store_variant *variant, struct store_thread *threads,
		  int count)
{
	uint64_t most = STORE_SLOTS / (uint64_t)count, next = 0, i;

	stores.spilled = 0;
	stores.one.count = 0;
	for (i = 0; i < stores.cpus; i++)
		stores.cpu[i].count = 0;
	/* Not a multiple of a page: the top of a stack must not alias its count in the
	 * CPU's store-to-load check (4 KiB aliasing). */
	if (variant->where == STORE_ONE)
		fill(&stores.one, &next, 1500);
	if (variant->where == STORE_CPU || variant->where == STORE_RSEQ)
		for (i = 0; i < stores.cpus; i++)
			fill(&stores.cpu[i], &next, 100);
	for (i = 0; i < (uint64_t)count; i++)
		fill(&threads[i].own, &next,
		     variant->where != STORE_THREAD ? 0
		     : most < 32		    ? most
						    : 32);
	stores.made = next;
}

/* Whether every slot is in one of the stacks, once. */
static bool all_there(struct store_thread *threads, int count)
{
	static unsigned char seen[STORE_SLOTS];
	uint64_t found = stores.spilled, i;
	bool once = true;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < found; i++)
		once &= seen[stores.spill[i]]++ == 0;
	once &= account(&stores.one, seen, &found);
	for (i = 0; i < stores.cpus; i++)
		once &= account(&stores.cpu[i], seen, &found);
	for (i = 0; i < (uint64_t)count; i++)
		once &= account(&threads[i].own, seen, &found);
	return once && found == stores.made;
}

static const struct store_variant *running;

static void figures(struct bench_outcome *outcome)
{
	struct pawl_shards_stats stats, ids;

	switch (running->where) {
	case STORE_THREAD:
		outcome->figures[0] = NAN; /* one per thread */
		break;
	case STORE_ONE:
		outcome->figures[0] = 1;
		break;
	case STORE_CPU:
	case STORE_RSEQ:
		outcome->figures[0] = (double)stores.cpus;
		break;
	case STORE_PAWL:
		/* One of the two was not used. */
		pawl_shards_get_stats(&stores.pool.slots.shards, &stats);
		pawl_shards_get_stats(&stores.ids.slots.shards, &ids);
		outcome->figures[0] = (double)(stats.shards + ids.shards);
		/* An episode is two operations. */
		outcome->figures[1] = 100 * (double)(stats.overflows + ids.overflows) /
				      (2 * (double)outcome->episodes);
	}
}

bool store_run(const struct bench_subject *subject, const struct bench_shape *shape,
	       struct bench_outcome *outcome)
{
	const struct store_variant *variant = (const struct store_variant *)subject;
	const struct pawl_pool_plan plan = {
		.kind = variant->kind, .size = STORE_OBJECT, .limit = STORE_SLOTS};
	struct store_thread *threads = workload_members(shape->threads, sizeof(*threads));
	int i;

	running = variant;
	stores.cpus = pawl_lease_ids() < STORE_CPUS ? pawl_lease_ids() : STORE_CPUS;
	if (stores.cpu == NULL)
		stores.cpu = aligned_alloc(_Alignof(struct stack),
					   STORE_CPUS * sizeof(struct stack));
	if (threads == NULL || stores.cpu == NULL)
		return false;
	errno = pawl_pool_create(&stores.pool, &plan);
	if (errno == 0)
		errno = pawl_idalloc_create(&stores.ids, variant->kind, STORE_SLOTS);
	if (errno != 0)
		return false;
	if (variant->only_one)
		stores.pool.slots.shards.most = stores.ids.slots.shards.most = 0;
	pthread_mutex_init(&stores.mutex, NULL);
	begin(variant, threads, shape->threads);
	if (!episodes_run(shape, subject->loop, threads, sizeof(*threads), figures,
			  outcome))
		return false; /* threads may still use their members */
	for (i = 0; i < shape->threads; i++)
		outcome->exclusive &= threads[i].got_twice == 0;
	outcome->exclusive &= variant->where == STORE_PAWL
				      ? drain_pawl(&stores.pool.slots) &&
						drain_pawl(&stores.ids.slots)
				      : all_there(threads, shape->threads);
	pawl_idalloc_destroy(&stores.ids);
	pawl_pool_destroy(&stores.pool);
	free(threads);
	return true;
}

/* rseq is the last variant, and left out where it is not available. */
void store_subjects(const struct bench_subject **subjects,
		    const struct store_variant *variants, size_t count)
{
	size_t i;

	for (i = 0;
	     i < count && (variants[i].where != STORE_RSEQ || rseq_there(STORE_CPUS));
	     i++)
		subjects[i] = &variants[i].subject;
	subjects[i] = NULL;
}
