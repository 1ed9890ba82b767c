/* SPDX-License-Identifier: MIT */
/*
 * Stores of slots, numbers that are taken and returned, for the workloads idalloc and
 * pool: pawl's own, and what programs use without it. A loop gets a slot, uses it, and
 * puts it back. Each store is a pair of inline functions, so that the compiler inlines it
 * into the loop.
 */
#ifndef PAWL_BENCH_STORES_H
#define PAWL_BENCH_STORES_H

#include "episodes.h"
#include "rseq.h"

#include <pawl/idalloc.h>
#include <pawl/pool.h>
#include <pawl/tas.h>

#include <pthread.h>

enum {
	STORE_SLOTS = 1 << 16,
	STACK_SLOTS = 4096, /* capacity of a stack */
	STORE_CPUS = 512,   /* CPUs beyond share stacks; rseq is left out then */
	STORE_OBJECT = 64,  /* bytes of a slot's object */
};

struct stack {
	PAWL_SEQUESTER uint64_t count;
	uint64_t slot[STACK_SLOTS - 1];
};

/* All stores; a run uses one of them. */
struct stores {
	PAWL_SEQUESTER pthread_mutex_t mutex;
	PAWL_SEQUESTER struct pawl_tas tas;
	struct stack one; /* under either lock */
	PAWL_SEQUESTER struct {
		PAWL_SEQUESTER struct pawl_tas tas;
	} locks[STORE_CPUS];
	struct stack *cpu; /* one per CPU, under these locks, or by rseq */
	uint64_t cpus;
	struct pawl_pool pool; /* pawl's, of one kind */
	struct pawl_idalloc ids;
	/* Overflow behind the stacks: takes from full ones, refills empty ones. */
	PAWL_SEQUESTER struct pawl_tas behind;
	uint64_t spilled, made; /* slots here; all slots */
	uint32_t spill[STORE_SLOTS];
};
extern struct stores stores;

struct store_thread {
	struct episodes episodes;
	uint64_t got_twice; /* objects that another thread wrote to */
	struct stack own;   /* of the store `thread` */
};

static inline uint64_t stack_pop(struct stack *stack)
{
	uint64_t n = stack->count;

	if (__builtin_expect(n == 0, false))
		return PAWL_SLOTS_NONE;
	stack->count = n - 1;
	return stack->slot[n - 1];
}

void store_spill(uint64_t slot);

/* Gets a slot for a thread whose stack is empty while others have slots; waits until one
 * is returned. NONE at the end of the run. */
uint64_t store_more(struct store_thread *me, uint64_t (*get)(struct store_thread *me))
	__attribute__((cold, noinline));

static inline void stack_push(struct stack *stack, uint64_t slot)
{
	uint64_t n = stack->count;

	if (__builtin_expect(n == STACK_SLOTS - 1, false)) {
		store_spill(slot);
		return;
	}
	stack->slot[n] = slot;
	stack->count = n + 1;
}

/* A stack per thread: nothing shared, nothing locked. */

static inline uint64_t thread_get(struct store_thread *me)
{
	return stack_pop(&me->own);
}

static inline void thread_put(struct store_thread *me, uint64_t slot)
{
	stack_push(&me->own, slot);
}

/* One stack under one lock. */

static inline uint64_t mutex_get(struct store_thread *me)
{
	uint64_t slot;

	(void)me;
	pthread_mutex_lock(&stores.mutex);
	slot = stack_pop(&stores.one);
	pthread_mutex_unlock(&stores.mutex);
	return slot;
}

static inline void mutex_put(struct store_thread *me, uint64_t slot)
{
	(void)me;
	pthread_mutex_lock(&stores.mutex);
	stack_push(&stores.one, slot);
	pthread_mutex_unlock(&stores.mutex);
}

static inline uint64_t tas_get(struct store_thread *me)
{
	uint64_t slot;

	(void)me;
	pawl_tas_lock(&stores.tas);
	slot = stack_pop(&stores.one);
	pawl_tas_unlock(&stores.tas);
	return slot;
}

static inline void tas_put(struct store_thread *me, uint64_t slot)
{
	(void)me;
	pawl_tas_lock(&stores.tas);
	stack_push(&stores.one, slot);
	pawl_tas_unlock(&stores.tas);
}

/* A stack per CPU, under a lock, because a thread may migrate at any time. */

static inline uint64_t cpu_tas_get(struct store_thread *me)
{
	uint64_t cpu = pawl_lease_id() & (STORE_CPUS - 1), slot;

	(void)me;
	pawl_tas_lock(&stores.locks[cpu].tas);
	slot = stack_pop(&stores.cpu[cpu]);
	pawl_tas_unlock(&stores.locks[cpu].tas);
	return slot;
}

static inline void cpu_tas_put(struct store_thread *me, uint64_t slot)
{
	uint64_t cpu = pawl_lease_id() & (STORE_CPUS - 1);

	(void)me;
	pawl_tas_lock(&stores.locks[cpu].tas);
	stack_push(&stores.cpu[cpu], slot);
	pawl_tas_unlock(&stores.locks[cpu].tas);
}

/* The same without a lock: restartable sequences. */

static inline uint64_t rseq_get(struct store_thread *me)
{
	uint64_t slot;

	(void)me;
	return rseq_pop(stores.cpu, sizeof(stores.cpu[0]), &slot) ? slot
								  : PAWL_SLOTS_NONE;
}

static inline void rseq_put(struct store_thread *me, uint64_t slot)
{
	(void)me;
	if (!rseq_push(stores.cpu, sizeof(stores.cpu[0]), slot, STACK_SLOTS - 1))
		store_spill(slot);
}

/* pawl's; `cas` is its lock-free list, with a single shard. */

static inline uint64_t pawl_get(struct store_thread *me)
{
	(void)me;
	return pawl_idalloc_get(&stores.ids);
}

static inline void pawl_put(struct store_thread *me, uint64_t slot)
{
	(void)me;
	pawl_idalloc_put(&stores.ids, (uint32_t)slot);
}

/* The variants of a workload. */

struct store_variant {
	struct bench_subject subject; /* its loop takes a struct store_thread */
	enum { STORE_THREAD, STORE_ONE, STORE_CPU, STORE_RSEQ, STORE_PAWL } where;
	enum pawl_shards_kind kind; /* of STORE_PAWL */
	bool only_one;		    /* STORE_PAWL: a single shard */
};

/* Runs the variant of the subject, which is its first field. STORE_RSEQ requires
 * rseq_there(STORE_CPUS). */
workload_run store_run;

/* Fills a workload's list of subjects from its variants; the last, rseq, is left out
 * where it is not available. */
void store_subjects(const struct bench_subject **subjects,
		    const struct store_variant *variants, size_t count);

#endif /* PAWL_BENCH_STORES_H */
