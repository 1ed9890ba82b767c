/* SPDX-License-Identifier: MIT */
/*
 * Objects of 64 bytes: every thread gets one, writes to it, looks whether that is
 * still there, and puts it back (Khuong's notes on contention management).
 */
#include "stores.h"

/* Writes to the object, which nobody else does meanwhile. */
static inline void use(struct store_thread *me, void *object)
{
	volatile uint64_t *word = object;

	*word = pawl_address(me);
	me->got_twice += *word != pawl_address(me);
}

/* Of a store of slots, whose objects are those of pawl's pool. */
static inline __attribute__((always_inline)) void loop(
	void *member, uint64_t (*get)(struct store_thread *me),
	void (*put)(struct store_thread *me, uint64_t slot))
{
	struct store_thread *me = member;
	uint64_t count = 0;

	do {
		uint64_t slot = get(me);

		if (__builtin_expect(slot == PAWL_SLOTS_NONE, false) &&
		    (slot = store_more(me, get)) == PAWL_SLOTS_NONE)
			break;
		use(me, stores.pool.objects + slot * STORE_OBJECT);
		put(me, slot);
	} while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

static __attribute__((flatten)) void thread_loop(void *m)
{
	loop(m, thread_get, thread_put);
}

static __attribute__((flatten)) void one_mutex_loop(void *m)
{
	loop(m, mutex_get, mutex_put);
}

static __attribute__((flatten)) void tas_loop(void *m)
{
	loop(m, tas_get, tas_put);
}

static __attribute__((flatten)) void cpu_tas_loop(void *m)
{
	loop(m, cpu_tas_get, cpu_tas_put);
}

static __attribute__((flatten)) void rseq_loop(void *m)
{
	loop(m, rseq_get, rseq_put);
}

static __attribute__((flatten)) void pawl_loop(void *m)
{
	struct store_thread *me = m;
	uint64_t count = 0;

	do {
		void *object = pawl_pool_get(&stores.pool);

		use(me, object);
		pawl_pool_put(&stores.pool, object);
	} while (episode_again(&me->episodes, &count));
	me->episodes.count = count;
}

static const struct store_variant variants[] = {
	{{.name = "lease", .loop = pawl_loop}, STORE_PAWL, PAWL_SHARDS_LEASED, false},
	{{.name = "atomic", .loop = pawl_loop}, STORE_PAWL, PAWL_SHARDS_ATOMIC, false},
	{{.name = "random", .loop = pawl_loop}, STORE_PAWL, PAWL_SHARDS_RANDOM, false},
	{{.name = "cas", .loop = pawl_loop}, STORE_PAWL, PAWL_SHARDS_ATOMIC, true},
	{{.name = "mutex", .loop = one_mutex_loop}, STORE_ONE, 0, false},
	{{.name = "tas", .loop = tas_loop}, STORE_ONE, 0, false},
	{{.name = "cpu-tas", .loop = cpu_tas_loop}, STORE_CPU, 0, false},
	{{.name = "thread", .loop = thread_loop}, STORE_THREAD, 0, false},
	{{.name = "rseq", .loop = rseq_loop}, STORE_RSEQ, 0, false},
};

static const struct bench_subject *subjects[sizeof(variants) / sizeof(variants[0]) + 1];

__attribute__((constructor)) static void list_subjects(void)
{
	store_subjects(subjects, variants, sizeof(variants) / sizeof(variants[0]));
}

const struct workload workload_pool = {
	.name = "pool",
	.about = "get an object of 64 bytes, write to it and put it back",
	.source = "Khuong, lock-free dynamic contention management",
	.unit = "ops/s",
	.run = store_run,
	.subjects = subjects,
	.reference = "mutex",
	.figures = EPISODE_FIGURES,
};
