/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences for the simulators: one step per load, and a store that happens
 * only if the thread stayed on its CPU from the start and no barrier hit it. A thread
 * that is interrupted leaves the sequence at once, as in the kernel: later steps do not
 * happen. The contract is in pawl/shards.h.
 */
#ifndef PAWL_BACKEND_SEQUENCE_H
#define PAWL_BACKEND_SEQUENCE_H

#define PAWL_SEQUENCES 1

/* Unused: a sequence asks the simulator. */
static inline uint64_t pawl_sequence_place_(void)
{
	return 0;
}

/* The first word of this CPU's shard, and its value; NULL if the shard is not
 * LEASED(c, anybody), or if the sequence was interrupted. */
static inline pawl_atomic64 *pawl_sequence_begin_(char *const *own, unsigned shift,
						  uint64_t *value)
{
	pawl_atomic64 *first;
	uint64_t word;
	char *shard;

	sim_sequence_begin();
	shard = *own + ((uint64_t)sim_cpu() << shift);
	if (!sim_sequence_whole())
		return NULL;
	word = pawl_load_acquire((pawl_atomic64 *)(void *)shard); /* as ldar */
	if ((word & 0xffff) != PAWL_LEASE_ANYBODY || !sim_sequence_whole())
		return NULL;
	first = (pawl_atomic64 *)(void *)(shard + PAWL_SHARD_FIRST);
	*value = pawl_load_relaxed(first);
	return sim_sequence_whole() ? first : NULL;
}

static inline bool pawl_sequence_add_(uint64_t place, char *const *own, uint64_t n)
{
	uint64_t sum;
	pawl_atomic64 *first = pawl_sequence_begin_(own, PAWL_COUNTER_SHIFT, &sum);

	(void)place;
	return first != NULL && sim_sequence_end(&first->raw, sum + n, SIM_RELAXED);
}

/* The word that has slot n, and the slot's position in it: two slots share a word, behind
 * their count. */
static inline pawl_atomic64 *pawl_sequence_slot_(pawl_atomic64 *first, uint64_t n,
						 unsigned *shift)
{
	*shift = (unsigned)(n % 2 * 32);
	return first + 1 + n / 2;
}

static inline uint32_t pawl_sequence_pop_(uint64_t place, char *const *own)
{
	uint64_t n, word;
	pawl_atomic64 *first = pawl_sequence_begin_(own, PAWL_SLOTS_SHIFT, &n);
	unsigned shift;

	(void)place;
	if (first == NULL || n == 0)
		return UINT32_MAX;
	word = pawl_load_relaxed(pawl_sequence_slot_(first, n - 1, &shift));
	if (!sim_sequence_whole() || !sim_sequence_end(&first->raw, n - 1, SIM_RELEASE))
		return UINT32_MAX;
	return (uint32_t)(word >> shift);
}

static inline bool pawl_sequence_push_(uint64_t place, char *const *own, uint32_t slot)
{
	uint64_t n, word;
	pawl_atomic64 *first = pawl_sequence_begin_(own, PAWL_SLOTS_SHIFT, &n), *at;
	unsigned shift;

	(void)place;
	if (first == NULL || n == PAWL_SLOTS_ROOM)
		return false;
	at = pawl_sequence_slot_(first, n, &shift);
	word = pawl_load_relaxed(at);
	word = (word & ~((uint64_t)UINT32_MAX << shift)) | (uint64_t)slot << shift;
	return sim_sequence_whole() && sim_sequence_store(&at->raw, word, SIM_RELAXED) &&
	       sim_sequence_end(&first->raw, n + 1, SIM_RELEASE);
}

#endif /* PAWL_BACKEND_SEQUENCE_H */
