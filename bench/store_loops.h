/* SPDX-License-Identifier: MIT */
/*
 * The loops over every store of slots, and the table of them. Included by a workload's
 * file, which first defines
 *
 *     static inline void use(struct store_thread *me, uint64_t slot);
 *
 * what it does with a slot, and then defines pawl_loop. The loops are compiled for each
 * workload and store, because the store is all that they do.
 */
#include "stores.h"

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
		use(me, slot);
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

static void pawl_loop(void *m);

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

/* Common part of these workloads' descriptions. */
/* clang-format off */
#define STORE_WORKLOAD                                                         \
	.source = "Khuong, lock-free dynamic contention management",           \
	.unit = "ops/s", .run = store_run, .subjects = subjects,               \
	.reference = "mutex", .figures = EPISODE_FIGURES
/* clang-format on */
