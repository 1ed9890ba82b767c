/* SPDX-License-Identifier: MIT */
/*
 * An LRU cache in shards with a lock each: every thread looks up random keys. A hit moves
 * its entry to the front; a miss fetches the value, which takes a while, and replaces the
 * oldest entry (after the RocksDB experiment of the TWA paper, section 4.5, where the
 * contended locks are those of LRUShard::lookup()).
 *
 * Departs: there is no database around the cache, and no writer, because it does not use
 * the cache; there are four shards, where the paper's command line asks for one to
 * increase contention; half of the keys fit.
 *
 * At the end every list and chain must be consistent. Links are indices and walks are
 * bounded, so that a lock that fails corrupts the data, not the process.
 */
#include "lcg.h"
#include "workload.h"

#include <stdlib.h>

enum {
	SHARDS = 4,
	ENTRIES = 1024, /* per shard; index 0 is not an entry */
	BUCKETS = 1024,
	KEYS = 2 * SHARDS * ENTRIES,
	FETCH_STEPS = 200 /* cost of a miss outside the lock */
};

struct entry {
	uint64_t key, value;
	uint32_t chain; /* next in its bucket; 0 ends the chain */
	uint32_t newer, older;
};

struct shard {
	struct bench_lock lock;
	/* All under the lock. Entry 0 is the head of the LRU ring. */
	PAWL_SEQUESTER struct entry entries[ENTRIES + 1];
	uint32_t buckets[BUCKETS];
};

struct cache {
	struct shard shards[SHARDS];
	PAWL_SEQUESTER pawl_atomic64 stop;
	const struct bench_subject *subject;
};

struct lru_thread {
	PAWL_SEQUESTER struct cache *cache;
	uint64_t own;
	uint64_t episodes, hits;
	bool disorder; /* found an endless walk, or a wrong value */
};

/* The value of a key. */
static uint64_t value_of(uint64_t key)
{
	return lcg_next(key);
}

static uint32_t *bucket_of(struct shard *shard, uint64_t key)
{
	return &shard->buckets[lcg_below(lcg_next(key), BUCKETS)];
}

/* The ring: entry 0's `older` is the newest, its `newer` the oldest. */

static void unlink_entry(struct shard *shard, uint32_t i)
{
	const struct entry *e = &shard->entries[i];

	shard->entries[e->newer].older = e->older;
	shard->entries[e->older].newer = e->newer;
}

static void push_newest(struct shard *shard, uint32_t i)
{
	struct entry *ring = shard->entries;

	ring[i].newer = 0;
	ring[i].older = ring[0].older;
	ring[ring[0].older].newer = i;
	ring[0].older = i;
}

static void push_chain(struct shard *shard, uint32_t i, uint64_t key)
{
	uint32_t *bucket = bucket_of(shard, key);

	shard->entries[i].key = key;
	shard->entries[i].value = value_of(key);
	shard->entries[i].chain = *bucket;
	*bucket = i;
}

/* The link to the entry of a key, or the 0 that ends its chain; NULL if the chain is
 * endless. */
static uint32_t *find_link(struct shard *shard, uint64_t key)
{
	uint32_t *link = bucket_of(shard, key);
	int steps;

	for (steps = 0; steps <= ENTRIES; steps++) {
		if (*link == 0 || shard->entries[*link].key == key)
			return link;
		link = &shard->entries[*link].chain;
	}
	return NULL;
}

/* Whether the key is present; makes it the newest. With the lock held. */
static bool look_up(struct lru_thread *me, struct shard *shard, uint64_t key)
{
	const uint32_t *link = find_link(shard, key);
	uint32_t i = link == NULL ? 0 : *link;

	me->disorder |= link == NULL;
	if (i == 0)
		return false;
	me->disorder |= shard->entries[i].value != value_of(key);
	unlink_entry(shard, i);
	push_newest(shard, i);
	return true;
}

/* Replaces the oldest entry by the key. With the lock held. */
static void replace_oldest(struct lru_thread *me, struct shard *shard, uint64_t key)
{
	uint32_t oldest = shard->entries[0].newer;
	uint32_t *link = find_link(shard, shard->entries[oldest].key);

	if (oldest == 0 || link == NULL || *link != oldest) {
		me->disorder = true;
		return;
	}
	*link = shard->entries[oldest].chain;
	unlink_entry(shard, oldest);
	push_chain(shard, oldest, key);
	push_newest(shard, oldest);
}

static void get(struct lru_thread *me, uint64_t key)
{
	struct shard *shard = &me->cache->shards[key % SHARDS];
	const struct bench_subject *subject = me->cache->subject;
	bool hit;

	subject->lock(&shard->lock);
	hit = look_up(me, shard, key);
	subject->unlock(&shard->lock);
	me->hits += hit;
	if (hit)
		return;
	me->own = lcg_walk(me->own, FETCH_STEPS);
	subject->lock(&shard->lock);
	if (!look_up(me, shard, key)) /* another thread may have fetched it */
		replace_oldest(me, shard, key);
	subject->unlock(&shard->lock);
}

static void work(void *member)
{
	struct lru_thread *me = member;

	do {
		me->own = lcg_next(me->own);
		get(me, lcg_below(me->own, KEYS));
		me->episodes++;
		/* Relaxed: only ends the loop. */
	} while (pawl_load_relaxed(&me->cache->stop) == 0);
}

/* Full from the start: the shard's first keys. */
static void fill(struct shard *shard, uint64_t number)
{
	uint32_t i;

	for (i = 1; i <= ENTRIES; i++) {
		push_chain(shard, i, number + (uint64_t)(i - 1) * SHARDS);
		push_newest(shard, i);
	}
}

/* Whether every entry is once in the ring and can be found by its key. */
static bool in_order(struct shard *shard)
{
	const struct entry *ring = shard->entries;
	uint32_t i = 0, count;

	for (count = 0; count <= ENTRIES; count++) {
		const uint32_t *link;

		if (ring[ring[i].older].newer != i)
			return false;
		i = ring[i].older;
		if (i == 0)
			break;
		link = find_link(shard, ring[i].key);
		if (link == NULL || *link != i || ring[i].value != value_of(ring[i].key))
			return false;
	}
	return count == ENTRIES;
}

static bool run(const struct bench_subject *subject, const struct bench_shape *shape,
		struct bench_outcome *outcome)
{
	static struct cache cache; /* outlives a hung thread */
	struct lru_thread *threads = workload_members(shape->threads, sizeof(*threads));
	struct tally tally = {0};
	uint64_t hits = 0;
	double elapsed;
	int i;

	if (threads == NULL)
		return false;
	memset(&cache, 0, sizeof(cache));
	cache.subject = subject;
	for (i = 0; i < SHARDS; i++) {
		begin_lock(subject, &cache.shards[i].lock);
		fill(&cache.shards[i], (uint64_t)i);
	}
	for (i = 0; i < shape->threads; i++) {
		threads[i].cache = &cache;
		threads[i].own = lcg_next(shape->seed + (uint64_t)i);
	}
	elapsed = workload_crew(shape, work, threads, sizeof(*threads), &cache.stop,
				outcome);
	if (elapsed < 0)
		return false;
	outcome->exclusive = true;
	for (i = 0; i < shape->threads; i++) {
		tally_add(&tally, threads[i].episodes);
		hits += threads[i].hits;
		outcome->exclusive &= !threads[i].disorder;
	}
	tally_report(&tally, elapsed, outcome);
	outcome->figures[0] = 100 * (double)hits / (double)tally.total;
	for (i = 0; i < SHARDS; i++) {
		outcome->exclusive &= in_order(&cache.shards[i]);
		end_lock(subject, &cache.shards[i].lock);
	}
	free(threads);
	return true;
}

const struct workload workload_lru = {
	.name = "lru",
	.about = "look-ups in a cache of four shards, each under a lock",
	.source = "TWA paper 4.5",
	.unit = "ops/s",
	.run = run,
	.many_locks = true,
	.figures = {"hit_percent"},
};
