/* SPDX-License-Identifier: MIT */
/*
 * pawl/idalloc.h - unique small integers: get one, put it back.
 *
 * Ids are dense: a new one is made only if none that was put back can be had,
 * and the lowest of those come first. No id is ever as great as the most ids held
 * at a time + 64 for each shard that was in use, + 64 for each thread that was in
 * a slow path then. get and put, also of batches, are async-signal-safe, also as a
 * thread's first use of this library; safe across fork (the child has ids of its own,
 * like its memory) and whenever threads end.
 *
 * The kind (see shards.h) is PAWL_SHARDS_LEASED, unless to compare: no atomic
 * operations in get and put, and no more shards than busy CPUs.
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

/* Nobody may use it any more. */
static inline void pawl_idalloc_destroy(struct pawl_idalloc *a)
{
	pawl_slots_destroy(&a->slots);
}

/* An id that nobody else has, or PAWL_IDALLOC_NONE if none is left: see
 * pawl_slots_get for who counts as holding one. */
PAWL_FAST_ uint32_t pawl_idalloc_get(struct pawl_idalloc *a)
{
	return pawl_slots_get(&a->slots);
}

/* The caller has the id, and no longer afterwards. */
PAWL_FAST_ void pawl_idalloc_put(struct pawl_idalloc *a, uint32_t id)
{
	pawl_slots_put(&a->slots, id);
}

/* Up to n ids at once; returns how many: less only if no more are left. */
static inline size_t pawl_idalloc_get_batch(struct pawl_idalloc *a, uint32_t *ids,
					    size_t n)
{
	return pawl_slots_get_batch(&a->slots, ids, n);
}

/* The caller has these ids, and no longer afterwards. */
static inline void pawl_idalloc_put_batch(struct pawl_idalloc *a, const uint32_t *ids,
					  size_t n)
{
	pawl_slots_put_batch(&a->slots, ids, n);
}

/* No id has been as great as this. */
static inline uint64_t pawl_idalloc_peak(const struct pawl_idalloc *a)
{
	return pawl_slots_peak(&a->slots);
}

#endif /* PAWL_IDALLOC_H */
