/* SPDX-License-Identifier: MIT */
/*
 * The runtime of simulated locks: the contracts of pawl/runtime.h, kept by the
 * engine. Built against backend/sim, which redirects the names. sim_reset puts
 * everything back to the state of a new process.
 */
#include <sim/runtime.h>

#include "../src/runtime/os.h"

#include <pawl/runtime.h>

#include <string.h>

#define SITE __builtin_return_address(0)

pawl_atomic64 sim_twa_slots[SIM_MAX_WAITING_SLOTS];
pawl_atomic64 sim_hapax_slots[SIM_MAX_WAITING_SLOTS];
pawl_atomic64 sim_hapax_vw_slots[SIM_MAX_WAITING_SLOTS];

size_t sim_waiting_slots = SIM_MAX_WAITING_SLOTS;
unsigned sim_hapax_block_bits = 16;

static uint64_t blocks_used;

void sim_reset(void)
{
	size_t used = sim_waiting_slots * sizeof(pawl_atomic64);

	memset(sim_twa_slots, 0, used);
	memset(sim_hapax_slots, 0, used);
	memset(sim_hapax_vw_slots, 0, used);
	memset(pawl_buckets, 0, sizeof(*pawl_buckets) << PAWL_BUCKET_BITS);
	blocks_used = 0;
}

size_t sim_thread_size(void)
{
	return sizeof(struct pawl_thread);
}

bool sim_thread_wants_exit(const void *thread)
{
	return ((const struct pawl_thread *)thread)->exit_arranged;
}

/*
 * No order between threads hangs on a block, so this is no seam operation; and
 * no engine may switch threads in the middle of it, hence the attribute.
 */
__attribute__((no_sanitize_thread)) uint64_t sim_hapax_block(void)
{
	uint64_t block = sim_engine->serial != NULL ? sim_engine->serial()
						    : ++blocks_used;

	return block << PAWL_HAPAX_BLOCK_BITS;
}

struct pawl_node *sim_node_new(void)
{
	pawl_at_thread_exit();
	return sim_engine->allocate(sizeof(struct pawl_node), _Alignof(struct pawl_node));
}

void sim_node_free(struct pawl_node *node)
{
	sim_engine->release(node, SITE);
}

void sim_die(const char *sentence)
{
	sim_engine->die(sentence, SITE);
}

bool pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
		   const struct pawl_deadline *deadline)
{
	return sim_sleep(&word->raw, expected, deadline != NULL);
}

void pawl_os_wake(const pawl_atomic64 *word)
{
	sim_wake(&word->raw);
}

/* Time stands still: only engines decide when a timed sleep ends. */
uint64_t pawl_os_now(void)
{
	return 0;
}
