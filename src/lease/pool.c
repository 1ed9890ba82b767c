/* SPDX-License-Identifier: MIT */
/* The memory behind a pool's slots. */
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

int pawl_pool_create(struct pawl_pool *pool, const struct pawl_pool_plan *plan)
{
	const size_t unit = 16;
	int error;

	memset(pool, 0, sizeof(*pool));
	if (plan->size == 0 || plan->size > UINT32_MAX)
		return EINVAL;
	error = pawl_slots_create(&pool->slots, plan->kind, plan->limit);
	if (error != 0)
		return error;
	pool->size = (plan->size + unit - 1) / unit * unit;
	pool->reciprocal = UINT64_MAX / pool->size + 1;
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
