/* SPDX-License-Identifier: MIT */
/*
 * pawl/pool.h - objects of one size: get one, put it back.
 *
 * An object is a slot of slots.h with memory behind it. Each CPU caches at most
 * PAWL_SLOTS_CACHE of them. Memory is allocated when objects are first used, and
 * returned to the system, in whole pages, when shards are idle: by slow paths of
 * the threads that still use the pool, or by pawl_pool_trim. The content of an
 * object that get returns is undefined.
 *
 * With type_stable no memory is returned before destroy. A freed object then keeps
 * its content until get returns it again, and a late reader finds an object of the
 * same type there.
 *
 * get and put are async-signal-safe, also where they are a thread's first use of this
 * library; safe across fork, and whenever threads end. create, destroy and trim are
 * not for signal handlers.
 */
#ifndef PAWL_POOL_H
#define PAWL_POOL_H

#include <pawl/slots.h>

/* Slots are multiples of this many bytes: a factor that address modes can apply. */
#define PAWL_POOL_UNIT ((size_t)8)

struct pawl_pool_plan {
	enum pawl_shards_kind kind; /* PAWL_SHARDS_LEASED; others for comparison */
	size_t size;		    /* of an object; rounded up to 16 */
	uint64_t limit;		    /* objects at most; below 2^26 */
	bool type_stable;
};

struct pawl_pool {
	struct pawl_slots slots;
	char *objects;
	size_t size;
	size_t unit; /* bytes per slot number: PAWL_POOL_UNIT, or the object's size */
	bool type_stable;
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Reserves address space for all objects. Returns 0, EINVAL or ENOMEM. */
int pawl_pool_create(struct pawl_pool *pool, const struct pawl_pool_plan *plan);
/* Frees the pool and all objects. */
void pawl_pool_destroy(struct pawl_pool *pool);

/* Does a round of maintenance (see shards.h), then returns whole pages of free objects
 * to the system. Returns how many bytes. */
size_t pawl_pool_trim(struct pawl_pool *pool);

/* Slow paths of the functions below. */
void *pawl_pool_get_otherwise_(struct pawl_pool *pool) __attribute__((cold, noinline));
void pawl_pool_put_otherwise_(struct pawl_pool *pool, void *object)
	__attribute__((cold, noinline));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Returns an object that no other thread has, aligned to 16; NULL if the limit is
 * reached: see pawl_slots_get for which objects count as held. */
PAWL_FAST_ void *pawl_pool_get(struct pawl_pool *pool)
{
	bool leased = !PAWL_SEQUENCES && pool->unit == PAWL_POOL_UNIT;
	uint64_t slot = leased ? pawl_slots_get_leased_(&pool->slots)
			       : pawl_sequence_pop_(pawl_sequence_place_(),
						    &pool->slots.shards.own);

	if (__builtin_expect((uint32_t)slot != PAWL_SLOTS_NONE, true))
		return pool->objects + slot * PAWL_POOL_UNIT;
	return leased ? NULL : pawl_pool_get_otherwise_(pool);
}

/* Frees an object that the caller got from this pool. */
PAWL_FAST_ void pawl_pool_put(struct pawl_pool *pool, void *object)
{
	uint32_t slot = (uint32_t)((uint64_t)((char *)object - pool->objects) /
				   PAWL_POOL_UNIT);

	if (__builtin_expect(pawl_sequence_push_(pawl_sequence_place_(),
						 &pool->slots.shards.own, slot),
			     true))
		return;
	if (!PAWL_SEQUENCES && pool->unit == PAWL_POOL_UNIT)
		pawl_slots_put_leased_(&pool->slots, slot);
	else
		pawl_pool_put_otherwise_(pool, object);
}

#endif /* PAWL_POOL_H */
