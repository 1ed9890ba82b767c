/* SPDX-License-Identifier: MIT */
/*
 * The supply of hapax values: blocks, counted in lanes.
 *
 * A lane is a counter that has its cache lines to itself. Which lane a thread
 * asks is a matter of speed alone: a lane and a count of it make a number that
 * no other pair makes. docs/design/hapax.md has the measurements. The process has one
 * supply, whichever copy of the library draws.
 */
#include "os/os.h"

#include <pawl/runtime.h>

#include <errno.h>

enum { LANES = 64 };

struct lane {
	PAWL_SEQUESTER pawl_atomic64 used; /* blocks given out so far */
};

static struct lane *find_lanes(void)
{
	return pawl_os_part(PAWL_PART_HAPAX, LANES * sizeof(struct lane));
}

static pawl_atomic64 policy; /* an enum pawl_lanes */
static pawl_atomic64 unused; /* values at the start of each block to leave out */

/*
 * A number for this count of this lane, each once: row `count` of a table that is
 * LANES wide. Rows are turned against each other so that a lane which is used
 * alone fills the waiting array (pawl_hapax_index_) before it meets itself, and
 * neighbouring lanes keep apart for long.
 */
static uint64_t number(unsigned lane, uint64_t count)
{
	return count * LANES + (lane + 37 * (count / LANES)) % LANES;
}

static unsigned choose(void)
{
	/* Relaxed: any lane will do. */
	switch ((enum pawl_lanes)pawl_load_relaxed(&policy)) {
	case PAWL_LANES_CPU:
		return pawl_current_cpu();
	case PAWL_LANES_NODE:
		return pawl_current_node();
	case PAWL_LANES_RANDOM:
		return (unsigned)(pawl_random_native_() >> 32);
	case PAWL_LANES_ONE:
		break;
	}
	return 0;
}

uint64_t pawl_hapax_block_(void)
{
	const uint64_t rows = (UINT64_MAX >> PAWL_HAPAX_BLOCK_BITS) / LANES;
	struct lane *lanes = find_lanes();
	unsigned first = choose(), i;

	/* A lane that is used up passes its askers on to the next. */
	for (i = 0; i < LANES; i++) {
		unsigned lane = (first + i) % LANES;
		/* Relaxed: a block need only be nobody else's. */
		uint64_t count = pawl_fetch_add_relaxed(&lanes[lane].used, 1);

		/* Block 0 is left out, for 0 is no value. */
		if (__builtin_expect(count < rows, true))
			return ((number(lane, count) + 1) << PAWL_HAPAX_BLOCK_BITS) +
			       pawl_load_relaxed(&unused); /* Relaxed: any will do */
	}
	pawl_die_("the supply of hapax values is exhausted: more than "
		  "2^64 were drawn in the life of this process");
}

int pawl_hapax_supply(enum pawl_lanes from, unsigned size)
{
	const unsigned block = 1u << PAWL_HAPAX_BLOCK_BITS;

	if (from > PAWL_LANES_RANDOM || size == 0 || size > block)
		return EINVAL;
	/* Relaxed: whoever draws meanwhile does so in either way. */
	pawl_store_relaxed(&policy, from);
	pawl_store_relaxed(&unused, block - size);
	return 0;
}
