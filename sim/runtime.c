/* SPDX-License-Identifier: MIT */
/*
 * The runtime of simulated locks: the contracts of pawl/runtime.h, kept by the
 * engine. Built against backend/sim, which redirects the names. sim_reset puts
 * everything back to the state of a new process.
 */
#include <sim/runtime.h>

#include "../src/lease/leases.h"
#include "../src/sync/queues.h"

#include <pawl/runtime.h>

#define SITE __builtin_return_address(0)

/* Aligned so that the loader does not decide which bucket a slot falls into. */
__attribute__((aligned(4096))) pawl_atomic64 sim_twa_slots[SIM_MAX_WAITING_SLOTS];
__attribute__((aligned(4096))) pawl_atomic64 sim_hapax_slots[SIM_MAX_WAITING_SLOTS];
__attribute__((aligned(4096))) pawl_atomic64 sim_hapax_vw_slots[SIM_MAX_WAITING_SLOTS];

size_t sim_waiting_slots = SIM_MAX_WAITING_SLOTS;
unsigned sim_hapax_block_bits = 16;
uint64_t sim_mutex_bypass = 1 << 20;
bool sim_mutex_polls;
bool sim_impatient;

bool sim_barriers_aimed = true;
bool sim_leases_by_thread;

static uint64_t blocks_used;

void sim_reset(void)
{
	size_t used = sim_waiting_slots * sizeof(pawl_atomic64);

	/* The compiler's own: memset is an access that engines see. */
	__builtin_memset(sim_twa_slots, 0, used);
	__builtin_memset(sim_hapax_slots, 0, used);
	__builtin_memset(sim_hapax_vw_slots, 0, used);
	__builtin_memset(pawl_buckets, 0, sizeof(*pawl_buckets) << PAWL_BUCKET_BITS);
	__builtin_memset(pawl_hapax_gone, 0, sizeof(*pawl_hapax_gone) << PAWL_GONE_BITS);
	blocks_used = 0;
	pawl_lease_generation = 0;
	pawl_lease_forget();
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
	/* A caller's deadline may pass at any moment; one moment will do for all,
	 * for what comes after may be delayed at will. Deadlines of the runtime's
	 * own, which are near 0, pass only when nothing else moves. */
	if (deadline != NULL && deadline->time.tv_sec > 0 && sim_one_in(2))
		return false;
	return sim_sleep(&word->raw, expected, deadline != NULL);
}

/* A caller's deadline may have passed whenever the caller looks. */
uint64_t pawl_os_until(const struct pawl_deadline *deadline)
{
	(void)deadline;
	return sim_one_in(2) ? 0 : 1;
}

void pawl_os_wake(const pawl_atomic64 *word)
{
	sim_wake(&word->raw);
}

bool pawl_os_barrier(void)
{
	return sim_heavy_fence();
}

bool pawl_os_barrier_cpu(unsigned cpu)
{
	return sim_heavy_fence_cpu(cpu);
}

void pawl_os_yield(void)
{
}

uint64_t (*sim_clock)(void);

/* Time stands still: only engines decide when a timed sleep ends. */
uint64_t pawl_os_now(void)
{
	return sim_clock != NULL ? sim_clock() : 0;
}

/* What handle.c wants to know of the mode. */
void pawl_lease_bind(struct pawl_lease_handle *h)
{
	static const uint32_t nowhere = LEASE_NOWHERE;

	h->fenced = !sim_membarrier_works;
	h->told = h->fenced || sim_leases_by_thread ? &nowhere : NULL;
}

void pawl_lease_mode_forget(void)
{
}

/* No signal comes but where a scenario has one, and those handlers only acquire. */
uint64_t pawl_os_block_signals(void)
{
	return 0;
}

void pawl_os_restore_signals(uint64_t signals)
{
	(void)signals;
}

void *pawl_os_reserve(size_t size)
{
	return sim_engine->allocate(size, _Alignof(struct pawl_lease_handle));
}

/* Nobody forks but in scenarios, which call what others would register. */
int sim_atfork(void (*before)(void), void (*parent)(void), void (*child)(void));
int sim_atfork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
	(void)before, (void)parent, (void)child;
	return 0;
}

/* Counts are nobody's business here, and each would be a step. */
void pawl_lease_count(struct pawl_lease_handle *h, enum lease_count what)
{
	(void)h, (void)what;
}

bool pawl_lease_barrier(uint64_t cpu)
{
	return cpu < LEASE_CPUS && sim_barriers_aimed ? sim_heavy_fence_cpu((unsigned)cpu)
						      : sim_heavy_fence();
}

bool pawl_lease_barrier_all(void)
{
	return sim_heavy_fence();
}

/* A bucket's lock, in place of src/sleep/guard.c, which is checked by itself. */
void pawl_guard_lock(pawl_atomic64 *guard)
{
	pawl_await_cas_acquire(guard, 0, 1, PAWL_SPIN); /* [A] pairs with [R] */
}

/* Nobody stops for long here. */
bool pawl_guard_lock_for(pawl_atomic64 *guard, uint64_t ns)
{
	(void)ns;
	pawl_guard_lock(guard);
	return true;
}

void pawl_guard_unlock(pawl_atomic64 *guard)
{
	pawl_store_release(guard, 0); /* [R] pairs with [A] */
}
