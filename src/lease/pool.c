/* SPDX-License-Identifier: MIT */
/* The memory behind a pool's slots. */
#include "lease/depot.h"
#include "os/os.h"

#include <pawl/pool.h>

#include <errno.h>
#include <string.h>

struct trimming {
	struct pawl_pool *pool;
	size_t bytes;
};

static void discard(uint64_t first, uint64_t slots, void *argument)
{
	struct trimming *trimming = argument;
	struct pawl_pool *pool = trimming->pool;

	trimming->bytes += pawl_os_discard(pool->objects + first * pool->size,
					   slots * pool->size);
}

static size_t give_back(struct pawl_pool *pool)
{
	struct trimming trimming = {pool, 0};

	if (!pool->type_stable)
		pawl_slots_each_idle(&pool->slots, discard, &trimming);
	return trimming.bytes;
}

static void drained(void *pool)
{
	give_back(pool);
}

/*
 * If a slot's 32 bits suffice, a slot is its object's offset in units, so that get and put
 * do not multiply, and the next get does not wait for a multiplication. The lists of ATOMIC
 * have too few bits, and so have pools of 32 GiB and more: there a slot is an object's
 * number, and sequences, which assume offsets, are not used.
 */
static bool counts_units(const struct pawl_pool_plan *plan, uint64_t units)
{
	return plan->kind == PAWL_SHARDS_LEASED && plan->limit < PAWL_SLOTS_NONE / units;
}

int pawl_pool_create(struct pawl_pool *pool, const struct pawl_pool_plan *plan)
{
	const size_t aligned = 16;
	uint64_t size = (plan->size + aligned - 1) / aligned * aligned;
	uint64_t units = size / PAWL_POOL_UNIT;
	bool counted;
	int error;

	memset(pool, 0, sizeof(*pool));
	if (plan->size == 0 || plan->size > UINT32_MAX)
		return EINVAL;
	counted = counts_units(plan, units);
	error = pawl_slots_create_by(&pool->slots, plan->kind, plan->limit,
				     counted ? units : 1);
	if (error != 0)
		return error;
	pool->size = size;
	pool->unit = counted ? PAWL_POOL_UNIT : pool->size;
	pool->slots.without_sequences = !counted;
	pool->type_stable = plan->type_stable;
	pool->slots.shards.plan.drained = drained;
	pool->objects = pawl_os_reserve(plan->limit * pool->size);
	if (pool->objects == NULL) {
		pawl_slots_destroy(&pool->slots);
		return ENOMEM;
	}
	return 0;
}

void pawl_pool_destroy(struct pawl_pool *pool)
{
	pawl_os_release(pool->objects, pool->slots.limit * pool->size);
	pawl_slots_destroy(&pool->slots);
}

size_t pawl_pool_trim(struct pawl_pool *pool)
{
	pawl_shards_maintain(&pool->slots.shards);
	return give_back(pool);
}

void *pawl_pool_get_otherwise_(struct pawl_pool *pool)
{
	uint32_t slot = pawl_slots_get_otherwise_(&pool->slots);

	return slot == PAWL_SLOTS_NONE ? NULL : pool->objects + slot * pool->unit;
}

void pawl_pool_put_otherwise_(struct pawl_pool *pool, void *object)
{
	size_t offset = (size_t)((char *)object - pool->objects);

	pawl_slots_put_otherwise_(&pool->slots, (uint32_t)(offset / pool->unit));
}
