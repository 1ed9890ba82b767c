/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences as the simulators see them: as many steps as there are loads,
 * and a store that happens if the thread stayed on its CPU all the while, and no barrier
 * came by. The contract is in pawl/shards.h.
 */
#ifndef PAWL_BACKEND_SEQUENCE_H
#define PAWL_BACKEND_SEQUENCE_H

#define PAWL_SEQUENCES 1

/* In a part of the thread's storage that is empty otherwise. */
#define pawl_sequence_where_ (*(pawl_atomic64 *)(void *)pawl_self()->behind)

static inline uint64_t pawl_sequence_place_(void)
{
	return pawl_load_relaxed(&pawl_sequence_where_);
}

static inline bool pawl_sequence_granted_(void)
{
	return pawl_sequence_place_() != 0;
}

/* The first word of this CPU's shard; NULL if that is not anybody's. */
static inline pawl_atomic64 *pawl_sequence_begin_(char *const *own, unsigned shift)
{
	char *shard;
	uint64_t word;

	sim_sequence_begin();
	shard = *own + ((uint64_t)sim_cpu() << shift);
	word = pawl_load_acquire((pawl_atomic64 *)(void *)shard); /* as ldar */
	if ((word & PAWL_LEASE_WHOSE) != PAWL_LEASE_ANYBODYS)
		return NULL;
	return (pawl_atomic64 *)(void *)(shard + PAWL_SHARD_FIRST);
}

static inline bool pawl_sequence_add_(uint64_t where, char *const *own, uint64_t n)
{
	pawl_atomic64 *first = pawl_sequence_begin_(own, PAWL_COUNTER_SHIFT);

	(void)where;
	return first != NULL &&
	       sim_sequence_end(&first->raw, pawl_load_relaxed(first) + n, SIM_RELAXED);
}

static inline uint32_t pawl_sequence_pop_(uint64_t where, char *const *own)
{
	pawl_atomic64 *first = pawl_sequence_begin_(own, PAWL_SLOTS_SHIFT);
	const uint32_t *slots = (const uint32_t *)(first + 1);
	uint64_t n = first != NULL ? pawl_load_relaxed(first) : 0;
	uint32_t slot;

	(void)where;
	if (n == 0)
		return UINT32_MAX;
	slot = slots[n - 1];
	return sim_sequence_end(&first->raw, n - 1, SIM_RELEASE) ? slot : UINT32_MAX;
}

static inline bool pawl_sequence_push_(uint64_t where, char *const *own, uint32_t slot)
{
	pawl_atomic64 *first = pawl_sequence_begin_(own, PAWL_SLOTS_SHIFT);
	uint64_t n = first != NULL ? pawl_load_relaxed(first) : PAWL_SLOTS_ROOM;

	(void)where;
	if (n == PAWL_SLOTS_ROOM)
		return false;
	((uint32_t *)(first + 1))[n] = slot;
	return sim_sequence_end(&first->raw, n + 1, SIM_RELEASE);
}

#endif /* PAWL_BACKEND_SEQUENCE_H */
