/* SPDX-License-Identifier: MIT */
/* What the tests of shards under disturbance share: see shards.c. */
#ifndef PAWL_TESTS_SHARDS_H
#define PAWL_TESTS_SHARDS_H

#include "harness/child.h"
#include "harness/harness.h"

#include <pawl/idalloc.h>
#include <pawl/pool.h>

enum { WORKERS = 6, LIMIT = 512, HOLD = 40, ROUNDS = 20000 };

/* A pool, and who has what of it. */
struct arena {
	struct pawl_pool pool;
	pawl_atomic64 holder[LIMIT]; /* who has the object, 0: nobody */
	pawl_atomic64 done;	     /* workers that are */
	pawl_atomic64 doubles;	     /* objects that two had at once */
	uint64_t rounds;
};

extern struct arena arena;
extern cpu_set_t all; /* the CPUs this process may use */

void arena_open(enum pawl_shards_kind kind);
/* All objects can be had, each once. */
void expect_all(struct pawl_pool *pool);
/* Moves a thread to one of the CPUs. */
void move(pthread_t thread, unsigned which);
bool bound_to_cpus(void);

/* hostages.c */
void a_thread_stopped_inside_stops_nobody(void **state);
void a_spare_shard_serves_beside_a_hostage(void **state);
void what_nobody_holds_can_be_had(void **state);
void what_came_back_in_time_is_found(void **state);
void what_a_stopped_thread_has_counts_as_held(void **state);

#endif /* PAWL_TESTS_SHARDS_H */
