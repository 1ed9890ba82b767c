/* SPDX-License-Identifier: MIT */
/*
 * The runtime of simulated locks: the contracts of pawl/runtime.h, kept by the
 * engine. Built against backend/sim, which redirects the names. sim_reset puts
 * everything back to the state of a new process.
 */
#include <sim/runtime.h>

#include "../src/lease/leases.h"
#include "../src/sync/queues.h"
#include "../src/sync/reads.h"

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
uint64_t sim_rwlock_fenced_after = 1, sim_rwlock_biased_after = 1;
bool sim_impatient;

bool sim_barriers_aimed = true;

static uint64_t blocks_used;

/* Handles, in the order of their threads' first use. */
static struct pawl_lease_handle lease_handles[SIM_MAX_LEASE_HANDLES];
static uint32_t lease_handles_used;

/* Records of who reads. That of a thread without one has no room. */
__attribute__((aligned(4096))) static struct pawl_reads reads[SIM_MAX_READS];
static struct pawl_reads no_room = {.slots = {{2}, {2}}};

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
	__builtin_memset(lease_handles, 0, sizeof(lease_handles));
	lease_handles_used = 0;
	pawl_lease_forget();
	__builtin_memset(reads, 0, sizeof(reads));
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

/* Time stands still: only engines decide when a timed sleep ends. */
uint64_t pawl_os_now(void)
{
	return 0;
}

struct pawl_lease_handle *pawl_lease_handle_of(uint64_t id)
{
	if (id >= SIM_MAX_LEASE_HANDLES)
		pawl_die("somebody looks for the handle of nobody");
	return &lease_handles[id];
}

__attribute__((no_sanitize_thread)) struct pawl_lease_handle *pawl_lease_self_slow(void)
{
	struct pawl_lease_handle *h = &lease_handles[lease_handles_used];

	if (lease_handles_used == SIM_MAX_LEASE_HANDLES)
		pawl_die("more threads with leases than the simulator has room for");
	pawl_at_thread_exit();
	h->id = lease_handles_used++;
	h->claim.raw = (uint64_t)PAWL_LEASE_LEASED << PAWL_LEASE_STATE_SHIFT | h->id;
	return pawl_self()->lease = h;
}

/* No signal comes but where a scenario has one, and those handlers only acquire. */
uint64_t pawl_lease_lock(pawl_atomic64 *guard)
{
	pawl_guard_lock(guard);
	return 0;
}

void pawl_lease_unlock(pawl_atomic64 *guard, uint64_t signals)
{
	(void)signals;
	pawl_guard_unlock(guard);
}

void pawl_lease_handle_free(struct pawl_lease_handle *h)
{
	(void)h;
}

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

void sim_give_reads(int thread)
{
	if (thread >= SIM_MAX_READS)
		pawl_die("more threads that read than the simulator has room for");
	pawl_self()->reads = &reads[thread];
}

struct pawl_reads *pawl_reads_first(void)
{
	return pawl_self()->reads = &no_room;
}

struct pawl_reads *pawl_reads_at(unsigned i)
{
	return i < SIM_MAX_READS ? &reads[i] : NULL;
}

void pawl_reads_exit(struct pawl_thread *self)
{
	self->reads = &no_room;
}

bool pawl_heavy_fence_works(void)
{
	return sim_membarrier_works;
}

/* A bucket's lock, in place of src/sleep/guard.c, which is checked by itself. */
void pawl_guard_lock(pawl_atomic64 *guard)
{
	pawl_await_cas_acquire(guard, 0, 1, PAWL_SPIN); /* [A] pairs with [R] */
}

void pawl_guard_unlock(pawl_atomic64 *guard)
{
	pawl_store_release(guard, 0); /* [R] pairs with [A] */
}
