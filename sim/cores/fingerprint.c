/* SPDX-License-Identifier: MIT */
/*
 * Fingerprints: a sum of terms, each hashed with its address, so that the order of first
 * writes does not matter.
 */
#include "machine.h"

static uint64_t mix(uint64_t a, uint64_t place)
{
	unsigned __int128 product = (unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) *
				    (place * 0xd6e8feb86659fd93u ^ 0xa0761d6478bd642fu);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t machine_hash_words(uint64_t seed, const uint64_t *words, size_t count)
{
	uint64_t sum = seed;
	size_t i;

	/* Indexed from the end, because stacks grow down. */
	for (i = 0; i < count; i++)
		sum += mix(words[i], seed + count - i);
	return mix(sum, seed);
}

uint64_t machine_hash(uint64_t seed)
{
	uint64_t sum = seed, place = 1u << 20;
	size_t i;
	int t, c;

	for (i = 0; i < tracked_count; i++)
		if (*tracked[i].word != tracked[i].first && !tracked[i].ignored)
			sum += mix(*tracked[i].word, i);
	for (t = 0; t < CORES_MAX_THREADS; t++) {
		const struct task *task = &machine.tasks[t];

		sum += mix((uint64_t)(uint8_t)task->core |
				   (uint64_t)task->interrupted << 8 |
				   (uint64_t)task->whole << 9,
			   place++);
		sum += machine_hash_words(place++, (const uint64_t *)&task->request,
					  sizeof(task->request) / sizeof(uint64_t));
		sum += mix(task->serial, place++);
		sum += mix((uint64_t)task->arena, place++);
	}
	for (c = 0; c < CORES_MAX_CPUS; c++) {
		const struct core *core = &machine.cores[c];

		sum += mix((uint64_t)(uint8_t)core->thread | (uint64_t)core->count << 8,
			   place);
		for (i = 0; i < core->count; i++)
			sum += mix((uint64_t)core->buffer[i].word ^
					   mix(core->buffer[i].value, place + i),
				   place + BUFFER_SIZE + i);
		place += 2 * BUFFER_SIZE;
	}
	if (machine_model == MODEL_WEAK)
		sum += views_hash(seed);
	return mix(sum, seed);
}
