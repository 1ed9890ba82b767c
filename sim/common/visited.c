/* SPDX-License-Identifier: MIT */
#include "visited.h"

#include <stddef.h>
#include <sys/mman.h>

/* Open addressing, doubled when two thirds full; 0 is an empty slot. */
static uint64_t *slots;
static uint64_t size, count;

static const uint64_t first_size = 1 << 14, last_size = 1 << 28; /* 2 GB */

static uint64_t *new_slots(uint64_t n)
{
	uint64_t *p = mmap(NULL, n * sizeof(*p), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, n * sizeof(*p), MADV_HUGEPAGE); /* huge pages: a probe is one cache
						    * miss, without a TLB miss */
	return p;
}

void visited_clear(void)
{
	if (slots != NULL)
		munmap(slots, size * sizeof(*slots));
	slots = NULL;
	size = count = 0;
}

static uint64_t *find(uint64_t *in, uint64_t n, uint64_t fingerprint)
{
	uint64_t i = fingerprint & (n - 1);

	while (in[i] != 0 && in[i] != fingerprint)
		i = (i + 1) & (n - 1);
	return &in[i];
}

static bool grow(void)
{
	uint64_t *larger, i, n = size == 0 ? first_size : 2 * size;

	if (size == last_size)
		return false;
	larger = new_slots(n);
	if (larger == NULL)
		return false;
	for (i = 0; i < size; i++)
		if (slots[i] != 0)
			*find(larger, n, slots[i]) = slots[i];
	if (slots != NULL)
		munmap(slots, size * sizeof(*slots));
	slots = larger;
	size = n;
	return true;
}

bool visited_add(uint64_t fingerprint, bool *is_new)
{
	uint64_t *slot;

	if (fingerprint == 0)
		fingerprint = 1;
	if (count >= size / 3 * 2 && !grow())
		return false;
	slot = find(slots, size, fingerprint);
	*is_new = *slot == 0;
	*slot = fingerprint;
	count += *is_new;
	return true;
}

uint64_t visited_count(void)
{
	return count;
}
