/* SPDX-License-Identifier: MIT */
/*
 * pawl/idalloc.h - unique small integers: get one, put it back.
 *
 * Ids are dense: a new one is made only if no free one can be reached, and the lowest
 * free ones come first. No id is ever as great as the most ids held at a time + 64 for
 * each shard that was in use, + 64 for each thread that was in a slow path then. get and
 * put, also of batches, are async-signal-safe, also as a thread's first use of this
 * library; safe across fork (the child has ids of its own, like its memory) and whenever
 * threads end.
 *
 * Use the kind PAWL_SHARDS_LEASED (see shards.h): no atomic operations in get and put,
 * and no more shards than busy CPUs. The other kinds are for comparison.
 */
#ifndef PAWL_IDALLOC_H
#define PAWL_IDALLOC_H

#include <pawl/slots.h>

#define PAWL_IDALLOC_NONE PAWL_SLOTS_NONE

struct pawl_idalloc {
	struct pawl_slots slots;
};

/* Ids are below limit, which is below 2^26. Returns 0, EINVAL or ENOMEM. */
static inline int pawl_idalloc_create(struct pawl_idalloc *a, enum pawl_shards_kind kind,
				      uint64_t limit)
{
	return pawl_slots_create(&a->slots, kind, limit);
}

/* Requires that no thread uses it any more. */
static inline void pawl_idalloc_destroy(struct pawl_idalloc *a)
{
	pawl_slots_destroy(&a->slots);
}

/* Returns an id that no other thread has, or PAWL_IDALLOC_NONE if none is left: see
 * pawl_slots_get for which ids count as held. */
PAWL_FAST_ uint32_t pawl_idalloc_get(struct pawl_idalloc *a)
{
	return pawl_slots_get(&a->slots);
}

/* Frees an id that the caller holds. */
PAWL_FAST_ void pawl_idalloc_put(struct pawl_idalloc *a, uint32_t id)
{
	pawl_slots_put(&a->slots, id);
}

/* Gets up to n ids at once; returns how many: fewer only if no more are left. */
static inline size_t pawl_idalloc_get_batch(struct pawl_idalloc *a, uint32_t *ids,
					    size_t n)
{
	return pawl_slots_get_batch(&a->slots, ids, n);
}

/* Frees n ids that the caller holds. */
static inline void pawl_idalloc_put_batch(struct pawl_idalloc *a, const uint32_t *ids,
					  size_t n)
{
	pawl_slots_put_batch(&a->slots, ids, n);
}

/* A number that no id has reached so far. */
static inline uint64_t pawl_idalloc_peak(const struct pawl_idalloc *a)
{
	return pawl_slots_peak(&a->slots);
}

#endif /* PAWL_IDALLOC_H */
