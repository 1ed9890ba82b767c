/* SPDX-License-Identifier: MIT */
#include "waits.h"

void waits_merge(struct waits *into, const struct waits *from)
{
	int i;

	for (i = 0; i < WAITS_BUCKETS; i++)
		into->count[i] += from->count[i];
	if (from->longest > into->longest)
		into->longest = from->longest;
}

/* The longest wait of a bucket. */
static uint64_t upper_end(unsigned bucket)
{
	unsigned power = bucket / 8 + 2;

	if (bucket < 16)
		return bucket;
	return ((uint64_t)(8 + bucket % 8 + 1) << (power - 3)) - 1;
}

uint64_t waits_percentile(const struct waits *waits, double part)
{
	uint64_t total = 0, seen = 0, wanted;
	unsigned i;

	for (i = 0; i < WAITS_BUCKETS; i++)
		total += waits->count[i];
	wanted = (uint64_t)((double)total * part);
	for (i = 0; i < WAITS_BUCKETS; i++) {
		seen += waits->count[i];
		if (seen > wanted || seen == total)
			return upper_end(i) < waits->longest ? upper_end(i)
							     : waits->longest;
	}
	return waits->longest;
}
