/* SPDX-License-Identifier: MIT */
/*
 * The runtime of simulated locks: implements the contracts of pawl/runtime.h with the
 * engine's operations. Built against backend/sim, which renames the functions. sim_reset
 * restores the state of a new process.
 */
#include <sim/runtime.h>

#include "../src/lease/leases.h"
#include "../src/sleep/spin.h"
#include "../src/sync/queues.h"
#include "../src/sync/reads.h"

#include <pawl/runtime.h>

#include <limits.h>
#include <string.h>

#define SITE __builtin_return_address(0)

/* Aligned, so that the bucket of a slot does not depend on where the loader puts the
 * array. */
__attribute__((aligned(4096))) pawl_atomic64 sim_twa_slots[SIM_MAX_WAITING_SLOTS];
__attribute__((aligned(4096))) pawl_atomic64 sim_hapax_slots[SIM_MAX_WAITING_SLOTS];
__attribute__((aligned(4096))) pawl_atomic64 sim_hapax_vw_slots[SIM_MAX_WAITING_SLOTS];

size_t sim_waiting_slots = SIM_MAX_WAITING_SLOTS;
unsigned sim_hapax_block_bits = 16;
uint64_t sim_mutex_bypass = 1 << 20;
bool sim_mutex_polls;
bool sim_mutex_room;
uint64_t sim_rwlock_look = 1;
uint64_t sim_park_crowd;
bool sim_impatient;
bool sim_sleep_sees;

bool sim_barriers_aimed = true;
bool sim_leases_by_thread;

static uint64_t blocks_used;

/* The initial values of src/sleep/spin.c. */
static const struct pawl_costs first_costs = {.transfer = {100}, .wake = {10000}};

/* Read records, one for each thread. A thread without one uses no_room, whose slots are
 * taken. */
__attribute__((aligned(4096))) static struct pawl_reads reads[SIM_MOST_READS];
int sim_reads = 4;
static struct pawl_reads no_room = {.slots = {{2}, {2}}};
const struct sim_records *sim_records;

void sim_reset(void)
{
	size_t used = sim_waiting_slots * sizeof(pawl_atomic64);

	/* The builtin: a call of memset would be an access that engines see. */
	__builtin_memset(sim_twa_slots, 0, used);
	__builtin_memset(sim_hapax_slots, 0, used);
	__builtin_memset(sim_hapax_vw_slots, 0, used);
	__builtin_memset(pawl_filter_, 0, sizeof(*pawl_filter_) << PAWL_FILTER_BITS);
	__builtin_memset(pawl_process_parking->first.buckets, 0,
			 sizeof(struct pawl_bucket) << PAWL_BUCKET_BITS);
	__builtin_memset(pawl_hapax_gone_, 0,
			 sizeof(*pawl_hapax_gone_) << PAWL_GONE_BITS);
	blocks_used = 0;
	pawl_costs = first_costs;
	pawl_lease_generation = 0;
	pawl_lease_forget();
	__builtin_memset(reads, 0, (size_t)sim_reads * sizeof(*reads));
	sim_records = NULL;
}

struct state {
	pawl_atomic64 twa[SIM_MAX_WAITING_SLOTS];
	pawl_atomic64 hapax[SIM_MAX_WAITING_SLOTS];
	pawl_atomic64 hapax_vw[SIM_MAX_WAITING_SLOTS];
	struct pawl_filter filter[1 << PAWL_FILTER_BITS];
	struct pawl_bucket buckets[1 << PAWL_BUCKET_BITS];
	struct pawl_costs costs;
	uint64_t blocks_used;
};

size_t sim_runtime_size(void)
{
	return sizeof(struct state);
}

/* Not instrumented: these accesses are the engine's, not a thread's. */
__attribute__((no_sanitize_thread)) void sim_runtime_save(void *to)
{
	struct state *state = to;

	__builtin_memcpy(state->twa, sim_twa_slots, sizeof(state->twa));
	__builtin_memcpy(state->hapax, sim_hapax_slots, sizeof(state->hapax));
	__builtin_memcpy(state->hapax_vw, sim_hapax_vw_slots, sizeof(state->hapax_vw));
	state->blocks_used = blocks_used;
	state->costs = pawl_costs;
	__builtin_memcpy(state->filter, pawl_filter_, sizeof(state->filter));
	__builtin_memcpy(state->buckets, pawl_process_parking->first.buckets,
			 sizeof(state->buckets));
}

__attribute__((no_sanitize_thread)) void sim_runtime_load(const void *from)
{
	const struct state *state = from;

	__builtin_memcpy(sim_twa_slots, state->twa, sizeof(state->twa));
	__builtin_memcpy(sim_hapax_slots, state->hapax, sizeof(state->hapax));
	__builtin_memcpy(sim_hapax_vw_slots, state->hapax_vw, sizeof(state->hapax_vw));
	blocks_used = state->blocks_used;
	pawl_costs = state->costs;
	__builtin_memcpy(pawl_filter_, state->filter, sizeof(state->filter));
	__builtin_memcpy(pawl_process_parking->first.buckets, state->buckets,
			 sizeof(state->buckets));
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
 * Blocks order nothing between threads, so this is no seam operation. Not instrumented,
 * so that no engine switches threads in the middle of it.
 */
__attribute__((no_sanitize_thread)) uint64_t sim_hapax_block(void)
{
	uint64_t block = sim_engine->serial != NULL ? sim_engine->serial()
						    : ++blocks_used;

	return block << PAWL_HAPAX_BLOCK_BITS;
}

struct pawl_node *sim_node_new(void)
{
	struct pawl_node *node = sim_engine->allocate(sizeof(*node),
						      _Alignof(struct pawl_node));

	pawl_at_thread_exit();
	node->looks = 0;
	return node;
}

void sim_node_free(struct pawl_node *node)
{
	sim_engine->release(node, SITE);
}

void sim_die(const char *sentence)
{
	sim_engine->die(sentence, SITE);
}

/*
 * Models a sleep whose caller checks its word in a loop, as pawl_sleep does: the sleep
 * ends when the word has changed. The real one also polls first and enters the kernel,
 * which only adds ordering; so each of its executions is among those explored here.
 */
static bool see_change(const uint64_t *word, uint64_t expected, bool bounded)
{
	enum sim_await kind = bounded ? SIM_AWAIT_CHANGE : SIM_AWAIT_NE;

	return sim_await(kind, (uint64_t *)word, expected, 0, SIM_RELAXED) != expected;
}

bool pawl_os_sleep(const pawl_atomic64 *word, uint32_t expected,
		   const struct pawl_deadline *deadline)
{
	if (sim_timed())
		return sim_engine->sleep_for(&word->raw, expected,
					     deadline != NULL ? pawl_os_until(deadline)
							      : UINT64_MAX);
	/* A caller's deadline may pass at any moment. One choice before the sleep covers
	 * all moments, because the steps that follow may be delayed at will. The
	 * runtime's own timed sleeps (tv_sec == 0) end only when no other thread can run;
	 * or at any moment, in scenarios where a woken head has no CPU. */
	if (deadline != NULL && (deadline->time.tv_sec > 0 || sim_mutex_room) &&
	    sim_one_in(2))
		return false;
	if (sim_sleep_sees)
		return see_change(&word->raw, expected,
				  deadline != NULL && deadline->time.tv_sec == 0);
	return sim_sleep(&word->raw, expected, deadline != NULL);
}

/* Without a clock, a caller's deadline may have passed at each check. */
uint64_t pawl_os_until(const struct pawl_deadline *deadline)
{
	uint64_t then;

	if (!sim_timed())
		return sim_one_in(2) ? 0 : 1;
	then = (uint64_t)deadline->time.tv_sec * 1000000000u +
	       (uint64_t)deadline->time.tv_nsec;
	return then > pawl_os_now() ? then - pawl_os_now() : 0;
}

void pawl_os_wake(const pawl_atomic64 *word)
{
	if (!sim_sleep_sees)
		sim_wake(&word->raw);
}

bool pawl_os_barrier(void)
{
	return sim_heavy_fence();
}

bool pawl_os_barrier_restart(void)
{
	return sim_heavy_fence();
}

bool pawl_os_barrier_cpu(unsigned cpu)
{
	return sim_heavy_fence_cpu(cpu);
}

unsigned (*sim_priority)(void);

unsigned pawl_os_priority(void)
{
	return sim_priority != NULL ? sim_priority() : 0;
}

void (*sim_yield)(void);

void pawl_os_yield(void)
{
	if (sim_yield != NULL)
		sim_yield();
}

uint64_t (*sim_clock)(void);

unsigned pawl_os_cpus(void)
{
	return 2;
}

/* Without a clock, the engine alone decides when a timed sleep ends. */
uint64_t pawl_os_now(void)
{
	if (sim_timed())
		return sim_engine->now();
	return sim_clock != NULL ? sim_clock() : 0;
}

/* The part of the lease mode that handle.c needs. */
void pawl_lease_bind(struct pawl_lease_handle *h)
{
	static const uint32_t nowhere = LEASE_NOWHERE;

	h->fenced = !sim_membarrier_works;
	h->told = h->fenced || sim_leases_by_thread ? &nowhere : NULL;
}

bool sim_sequences;

void pawl_lease_place(const struct pawl_lease_handle *h)
{
	(void)h;
}

bool pawl_lease_sequences(void)
{
	return sim_sequences;
}

void pawl_lease_mode_forget(void)
{
}

void (*sim_critical)(int change);

/* Scenarios with handlers that jump make sure that none jumps here. */
void pawl_critical_enter(void)
{
	if (sim_critical != NULL)
		sim_critical(1);
}

void pawl_critical_leave(void)
{
	if (sim_critical != NULL)
		sim_critical(-1);
}

const void *pawl_critical_frame(void)
{
	return NULL;
}

void (*sim_signal)(void);

/* Signals occur only in scenarios that raise them, and those handlers only acquire. */
uint64_t pawl_os_block_signals(void)
{
	if (sim_signal != NULL)
		sim_signal();
	return 0;
}

void pawl_os_restore_signals(uint64_t signals)
{
	(void)signals;
}

/* A simulated child inherits all memory. */
bool pawl_os_is_mapped(const volatile void *address)
{
	return address != NULL;
}

bool pawl_os_part_forked(enum pawl_part part)
{
	(void)part;
	return true;
}

/* Constant, so that executions can be repeated. */
uint64_t pawl_os_seed(void)
{
	return PAWL_PARK_SEED;
}

unsigned sim_reserves = UINT_MAX;

/* The parking table always exists; the supply of hapax values exists in the scenarios
 * that include it. */
void *pawl_os_part(enum pawl_part part, size_t bytes)
{
	static __attribute__((aligned(128))) char memory[1 << 14];

	if (part == PAWL_PART_PARKING)
		return pawl_process_parking;
	return bytes <= sizeof(memory) ? memory : NULL;
}

void *pawl_os_reserve(size_t size)
{
	if (sim_reserves == 0)
		return NULL;
	if (sim_reserves != UINT_MAX)
		sim_reserves--;
	return sim_engine->allocate(size, _Alignof(struct pawl_lease_handle));
}

void pawl_os_release(void *start, size_t bytes)
{
	(void)bytes;
	sim_engine->release(start, SITE);
}

void pawl_os_clear(void *start, size_t bytes)
{
	memset(start, 0, bytes);
}

unsigned pawl_lease_ids(void)
{
	return 2;
}

unsigned pawl_os_likely_cpus(void)
{
	return pawl_lease_ids();
}

void pawl_lease_get_stats(struct pawl_lease_stats *stats)
{
	(void)stats;
}

/* Statistics: no scenario reads them, and each increment would be a step. */
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
	if (thread >= sim_reads)
		pawl_die_("more threads that read than the simulator has room for");
	pawl_self()->reads = &reads[thread];
}

struct pawl_reads *pawl_reads_first(void)
{
	if (sim_records != NULL)
		return sim_records->first();
	return pawl_self()->reads = &no_room;
}

struct pawl_reads *pawl_reads_further(void)
{
	struct pawl_reads *r;

	if (sim_records != NULL)
		return sim_records->further();
	pawl_at_thread_exit();
	r = sim_engine->allocate(sizeof(*r), _Alignof(struct pawl_reads));
	r->next = pawl_self()->more_reads;
	pawl_self()->more_reads = r;
	return r;
}

struct pawl_reads *pawl_reads_next(struct pawl_reads_scan *scan)
{
	if (sim_records != NULL)
		return sim_records->next(scan);
	return scan->chunk < (unsigned)sim_reads ? &reads[scan->chunk++] : NULL;
}

void pawl_reads_exit(struct pawl_thread *self)
{
	if (sim_records != NULL) {
		sim_records->exit(self);
		return;
	}
	self->reads = &no_room;
	while (self->more_reads != NULL) {
		struct pawl_reads *r = self->more_reads;

		self->more_reads = r->next;
		sim_engine->release(r, SITE);
	}
}

bool pawl_heavy_fence_works(void)
{
	return sim_membarrier_works;
}

size_t sim_rwlock_size(void)
{
	return sizeof(struct pawl_rwlock);
}

void sim_rwlock_make(void *l, enum sim_rwlock_form form)
{
	static const uint64_t words[] = {0, PAWL_RWLOCK_FENCED,
					 PAWL_RWLOCK_FENCED | PAWL_RWLOCK_BIASED};

	((struct pawl_rwlock *)l)->word.raw = words[form];
	sim_rwlock_look = UINT64_MAX;
}

void sim_rwlock_read(void *l)
{
	pawl_rwlock_read_lock(l);
}

void sim_rwlock_leave(void *l)
{
	pawl_rwlock_read_unlock(l);
}

/* The lock of a bucket, in place of src/sleep/guard.c, which has its own scenarios. */
void pawl_guard_lock(pawl_atomic64 *guard)
{
	pawl_await_cas_acquire(guard, 0, 1, PAWL_SPIN); /* [A] pairs with [R] */
}

/* No holder of a guard stalls in the simulator. */
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
