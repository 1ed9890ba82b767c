/* SPDX-License-Identifier: MIT */
/* The supply of hapax values: one counter of blocks for the process. */
#include <pawl/runtime.h>

static struct {
	PAWL_SEQUESTER pawl_atomic64 used; /* blocks given out so far */
} blocks;

uint64_t pawl_hapax_block(void)
{
	const uint64_t last = UINT64_MAX >> PAWL_HAPAX_BLOCK_BITS;
	/* Relaxed: a block need only be nobody else's. Block 0 is left out,
	 * for 0 is no value. */
	uint64_t block = pawl_fetch_add_relaxed(&blocks.used, 1) + 1;

	if (block >= last)
		pawl_die("the supply of hapax values is exhausted: more than "
			 "2^64 were drawn in the life of this process");
	return block << PAWL_HAPAX_BLOCK_BITS;
}
