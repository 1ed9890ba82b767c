/* SPDX-License-Identifier: MIT */
/*
 * The world of the scenarios in heirs.c: a few slots, on leases that are bound to threads,
 * and a process that forks.
 *
 * Ghosts, which are plain, say who holds what. The child's memory is of two moments: at the
 * first, some parts of it are copied, and at the second, when the others have gone on, the
 * rest. A part is what is on one page at least.
 */
#ifndef CHECK_HEIRS_WORLD_H
#define CHECK_HEIRS_WORLD_H

#include "outside.h"

#include <sim/cores/cores.h>
#include <sim/runtime.h>
#include <src/lease/depot.h>
#include <src/lease/heirs.h>
#include <src/lease/leases.h>

#include <pawl/runtime.h>
#include <pawl/slots.h>

#include <string.h>

enum { THREADS = 3, IDS = 2, MOST_SLOTS = 72, PARTS = 8, SHADOW = 512 };
enum { FORKER = 0, FEW_SLOTS = 8 };

#define NEVER ((uint64_t)1 << 62)

/* What makes a scenario. */
struct scene {
	struct core_scenario core;
	enum pawl_shards_kind kind;
	uint64_t limit;
	void (*before)(int thread); /* what it did before the others came; or NULL */
	/* What each does; thread 0 forks if that is nothing. */
	void (*does[THREADS])(int thread);
	void (*heir_does)(int thread); /* first, or not; or NULL */
	bool at_once;		       /* the child's memory is of one moment */
	bool sequences;		       /* threads may use them */
};

struct part {
	uint64_t *start;
	size_t words;
};

static struct world {
	struct pawl_slots slots;
	struct pawl_slots other; /* made or destroyed meanwhile */
	struct pawl_slots third; /* the child's own */
	uint32_t homes[THREADS];
	pawl_atomic64 copied; /* a step */
	/* Ghosts. */
	uint8_t holder[MOST_SLOTS];  /* 0: nobody, else the thread's number + 1 */
	uint8_t earlier[MOST_SLOTS]; /* the same when the fork began */
	uint8_t touched[MOST_SLOTS]; /* not 0: somebody has held it since */
	uint8_t getting;	     /* threads that are in the middle of a get; a set */
	bool is_child, forks, late;
	int yields; /* of the child */
	uint64_t now;
	uint8_t places[MOST_SLOTS]; /* see find_all */
	uint32_t mine[THREADS];	    /* a slot that the thread has */
	unsigned early; /* parts that were copied at the first moment; a set */
	uint64_t shadow[SHADOW];
} * world;

static const struct scene *scene;

/* The system. */

/* Who forks looks once whether somebody is in the middle of something, if it is late;
 * otherwise time stands still, and it looks until nobody is. */
static uint64_t tell_time(void)
{
	const uint64_t long_time = 1000000000;

	if (world->forks && world->late && cores_thread() == FORKER)
		world->now += long_time;
	return world->now;
}

static void wait_for_others(void)
{
	/* A few are for a lease that was drained, until somebody keeps house. */
	if (world->is_child && world->yields++ == PAWL_SHARDS_YIELDS)
		cores_fail(VERDICT_ASSERTION, "the child waits for who is not there");
	if (!world->is_child && (!world->forks || cores_thread() != FORKER))
		cores_await_quiet();
}

/* Slots. */

/* Until it is back, it may be given out, or not. */
enum { BEING_PUT = 0x80 };

static void hold(int thread, uint32_t slot)
{
	if (slot >= world->slots.limit)
		cores_fail(VERDICT_ASSERTION, "slot %u is none", slot);
	if (world->holder[slot] != 0 && world->holder[slot] != BEING_PUT)
		cores_fail(VERDICT_EXCLUSION,
			   "thread %d gets slot %u, which thread %d has", thread, slot,
			   world->holder[slot] - 1);
	world->holder[slot] = world->touched[slot] = (uint8_t)(thread + 1);
}

static uint32_t get(int thread)
{
	uint32_t slot;

	world->getting |= (uint8_t)(1u << thread);
	slot = pawl_slots_get(&world->slots);
	world->getting &= (uint8_t) ~(1u << thread);
	if (slot == PAWL_SLOTS_NONE)
		cores_fail(VERDICT_ASSERTION, "thread %d misses a slot that is free",
			   thread);
	hold(thread, slot);
	return slot;
}

static void put(int thread, uint32_t slot)
{
	world->holder[slot] = BEING_PUT;
	world->mine[thread] = slot;
	pawl_slots_put(&world->slots, slot);
	if (world->holder[slot] == BEING_PUT)
		world->holder[slot] = 0;
}

static struct pawl_slots_shard *own_shard(uint64_t id)
{
	return (struct pawl_slots_shard *)pawl_shards_own(&world->slots.shards, id);
}

static struct pawl_slots_shard *shared_shard(uint64_t i)
{
	return (struct pawl_slots_shard *)(void *)(world->slots.shards.shared +
						   i * world->slots.shards.stride);
}

/* How often each slot is in a shard, in the depot, or new. (Not on a stack: at the end that
 * is the checker's own.) */
static void find_all(bool lists)
{
	const struct pawl_slots *a = &world->slots;
	uint8_t *places = world->places;
	uint64_t i, k, top;

	for (i = 0; i < a->limit; i++)
		places[i] = i / 64 >= a->fresh.raw || a->words[i / 64].raw >> i % 64 & 1;
	for (i = 0; i < IDS; i++)
		for (k = 0; k < own_shard(i)->state.raw; k++)
			places[own_shard(i)->slot[k]]++;
	for (i = 0; lists && !a->shards.leased && i <= a->shards.most; i++) {
		top = shared_shard(i)->state.raw & PAWL_SLOTS_TOP;
		for (k = 0; top != 0 && k < a->limit; top = a->links[top - 1].raw, k++)
			places[top - 1]++;
	}
}

/* Fork. */

static struct part part(int number)
{
	struct pawl_slots *a = &world->slots;
	size_t stride = a->shards.stride / 8, words = (a->limit + 63) / 64;
	uint64_t *own = (uint64_t *)(void *)(a->shards.own - 128);

	switch (number) {
	case 0: /* top, keeper, and so on */
		return (struct part){(uint64_t *)(void *)a,
				     offsetof(struct pawl_slots, limit) / 8};
	case 1: /* fresh, trim, and so on */
		return (struct part){
			&a->limit, (sizeof(*a) - offsetof(struct pawl_slots, limit)) / 8};
	case 2:
		return (struct part){own, stride};
	case 3:
		return (struct part){own + stride, stride};
	case 4:
		return (struct part){own + 2 * stride, (a->shards.most + 1) * stride};
	case 5:
		return (struct part){(uint64_t *)(void *)pawl_heir_of(a),
				     sizeof(struct pawl_heir) / 8 + words};
	case 6:
		return (struct part){&a->summary[0].raw, (words + 63) / 64};
	default:
		return (struct part){&a->links[0].raw, a->shards.leased ? 0 : a->limit};
	}
}

/* What is the same already is not written: it would be one more word to follow. */
static void copy(uint64_t *to, const uint64_t *from, size_t words)
{
	size_t i;

	for (i = 0; i < words; i++)
		if (to[i] != from[i])
			to[i] = from[i];
}

static void for_early_parts(void (*what)(struct part p, uint64_t *shadow))
{
	uint64_t *shadow = world->shadow;
	int i;

	for (i = 0; i < PARTS; i++) {
		struct part p = part(i);

		if (shadow + p.words > world->shadow + SHADOW)
			cores_fail(VERDICT_ASSERTION, "no room for a copy");
		if (world->early >> i & 1)
			what(p, shadow);
		shadow += p.words;
	}
}

static void copy_away(struct part p, uint64_t *shadow)
{
	copy(shadow, p.start, p.words);
}

static void clear(struct part p, uint64_t *shadow)
{
	size_t i;

	for (i = 0; i < p.words; i++)
		if (shadow[i] != 0)
			shadow[i] = 0;
}

static void copy_back(struct part p, uint64_t *shadow)
{
	copy(p.start, shadow, p.words);
	clear(p, shadow);
}

/* The first moment: so many parts, from the first one on, or from the last. */
static void copy_early(void)
{
	bool upwards;
	int i;

	if (scene->at_once)
		return;
	upwards = sim_one_in(2);
	for (i = 0; i < PARTS && sim_one_in(2); i++)
		world->early |= 1u << (upwards ? i : PARTS - 1 - i);
	for_early_parts(copy_away);
}

#endif /* CHECK_HEIRS_WORLD_H */
