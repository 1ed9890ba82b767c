/* SPDX-License-Identifier: MIT */
/* Threads that stay inside a section, for long or for ever, and what others get
 * meanwhile. */
#define _GNU_SOURCE
#include "shards.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Progress: a thread that stops for ever inside a section. */

struct stopped {
	struct pawl_shards *shards;
	pawl_atomic64 inside, go;
};

static void *stop_inside(void *argument)
{
	struct stopped *stopped = argument;
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_shard *s;

	move(pthread_self(), 0);
	pawl_pool_put(&arena.pool, pawl_pool_get(&arena.pool)); /* fills the shard */
	s = pawl_shards_enter(stopped->shards, h);
	pawl_store_release(&stopped->inside, s != NULL ? 1 : 2);
	while (pawl_load_acquire(&stopped->go) == 0)
		breathe();
	if (s != NULL)
		pawl_shards_exit(stopped->shards, s, h);
	return NULL;
}

static void *work_beside(void *argument)
{
	int i;

	(void)argument;
	move(pthread_self(), 0); /* where the stopped one is */
	for (i = 0; i < 3000; i++) {
		void *object = pawl_pool_get(&arena.pool);

		if (object == NULL)
			return NULL;
		pawl_pool_put(&arena.pool, object);
	}
	pawl_fetch_add_release(&arena.done, 1);
	return NULL;
}

static void others_go_on_beside(unsigned chain)
{
	struct crew stuck = {.size = 0}, crew = {.size = 0};
	struct pawl_shards_stats stats;
	struct stopped stopped;
	int i;

	arena_open(PAWL_SHARDS_LEASED);
	if (chain > 1) { /* plans of pools have none: it is made with one */
		struct pawl_shards_plan plan = arena.pool.slots.shards.plan;

		pawl_shards_destroy(&arena.pool.slots.shards);
		plan.chain = chain;
		assert_int_equal(pawl_shards_create(&arena.pool.slots.shards, &plan), 0);
	}
	memset(&stopped, 0, sizeof(stopped));
	stopped.shards = &arena.pool.slots.shards;
	crew_start(&stuck, stop_inside, &stopped);
	while (pawl_load_acquire(&stopped.inside) == 0)
		breathe();
	assert_int_equal(pawl_load_acquire(&stopped.inside), 1);
	for (i = 0; i < 3; i++)
		crew_start(&crew, work_beside, NULL);
	crew_join(&crew);
	assert_int_equal(pawl_load_acquire(&arena.done), 3);
	pawl_shards_get_stats(&arena.pool.slots.shards, &stats);
	if (bound_to_cpus()) {
		assert_true(stats.hostages > 0);
		assert_true(stats.overflows > 0);
		/* Each of the three yields so often, before one makes the detour. */
		assert_true(stats.yields <=
			    (uint64_t)3 * PAWL_SHARDS_YIELDS * (stats.hostages + 100));
	}
	/* The home is taken: what was done in a section was done in the spare one. */
	if (bound_to_cpus())
		assert_int_equal(pawl_load_relaxed(&stopped.shards->births) > 1,
				 chain > 1);
	/* Maintenance does not wait for it either, nor do exhausted pools. */
	pawl_shards_maintain(&arena.pool.slots.shards);
	assert_int_equal(pawl_shards_reclaim(&arena.pool.slots.shards), EBUSY);
	pawl_store_release(&stopped.go, 1);
	crew_join(&stuck);
	/* The lease is in limbo, where the others left it, and seen from afar. */
	move(pthread_self(), 1);
	expect_all(&arena.pool);
	pawl_pool_destroy(&arena.pool);
}

void a_thread_stopped_inside_stops_nobody(void **state)
{
	(void)state;
	others_go_on_beside(1);
}

void a_spare_shard_serves_beside_a_hostage(void **state)
{
	(void)state;
	others_go_on_beside(2);
}

/* Slots that nobody holds, but that somebody has: he trims, or is inside the shard
 * where they are. Who needs one waits until he is done, for as long as promised. */

static const uint64_t patience = (uint64_t)PAWL_SLOTS_PATIENCE_MS * 1000000;
static pawl_atomic64 somebody_has_them, the_get_ended;

static uint64_t hostages(void)
{
	struct pawl_lease_stats stats;

	pawl_lease_get_stats(&stats);
	return stats.hostages;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Until the other thread's get has met us. */
static void linger(void)
{
	uint64_t before = hostages();

	pawl_store_release(&somebody_has_them, 1);
	/* Ends: the get meets us and counts it, or is over. */
	while (hostages() == before && pawl_load_acquire(&the_get_ended) == 0)
		breathe();
}

static void idle_for_long(uint64_t first, uint64_t slots, void *unused)
{
	(void)first, (void)slots, (void)unused;
	linger();
}

/* These note when they have left, by the clock. */
static void *trim_for_long(void *left)
{
	pawl_slots_each_idle(&arena.pool.slots, idle_for_long, NULL);
	*(uint64_t *)left = now_ns();
	return NULL;
}

static void *stay_inside_for_long(void *left)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_shard *s;

	move(pthread_self(), 0);
	pawl_pool_put(&arena.pool, pawl_pool_get(&arena.pool)); /* fills the shard */
	s = pawl_shards_enter(&arena.pool.slots.shards, h);
	linger();
	if (s != NULL)
		pawl_shards_exit(&arena.pool.slots.shards, s, h);
	*(uint64_t *)left = now_ns();
	return NULL;
}

/* The pool has as many objects as one thread can have like that. */
static void get_one_while(void *(*other)(void *), uint64_t limit)
{
	const struct pawl_pool_plan plan = {
		.kind = PAWL_SHARDS_LEASED, .size = 48, .limit = limit};
	struct crew crew = {.size = 0};
	uint64_t i, wanted, left;
	void *all[64], *object;

	memset(&arena, 0, sizeof(arena));
	assert_int_equal(pawl_pool_create(&arena.pool, &plan), 0);
	/* All are made, and in the depot. */
	for (i = 0; i < limit; i++)
		all[i] = pawl_pool_get(&arena.pool);
	for (i = 0; i < limit; i++)
		pawl_pool_put(&arena.pool, all[i]);
	assert_int_equal(pawl_shards_reclaim(&arena.pool.slots.shards), 0);
	pawl_store_release(&somebody_has_them, 0);
	pawl_store_release(&the_get_ended, 0);
	crew_start(&crew, other, &left);
	while (pawl_load_acquire(&somebody_has_them) == 0)
		breathe();
	wanted = now_ns();
	object = pawl_pool_get(&arena.pool);
	pawl_store_release(&the_get_ended, 1);
	crew_join(&crew);
	/* What came back within its patience it must have found; a machine that is
	 * busy may keep the other one from leaving for longer. */
	if (object == NULL) {
		assert_true(left - wanted >= patience);
		object = pawl_pool_get(&arena.pool);
	}
	assert_non_null(object);
	pawl_pool_put(&arena.pool, object);
	pawl_pool_destroy(&arena.pool);
}

void what_nobody_holds_can_be_had(void **state)
{
	int i;

	(void)state;
	move(pthread_self(), 1);
	for (i = 0; i < 20; i++) {
		get_one_while(trim_for_long, 64);
		get_one_while(stay_inside_for_long, 32);
	}
	pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
}

/*
 * A get that is off the CPU while its patience ends, and the other one leaves, looks
 * again: wherever that happens. It happens where the clock is read; before, the clock
 * of the getting thread hardly moves.
 */

enum { SLOW = 64, MANY_LOOKS = 80, READS = 16 };
static struct {
	pawl_atomic64 armed, leave, left;
	uint64_t begun, reads, fatal; /* the getting thread's own */
} away;
static __thread bool goes_away;

uint64_t __real_pawl_os_now(void);
uint64_t __wrap_pawl_os_now(void);

uint64_t __wrap_pawl_os_now(void)
{
	uint64_t now = __real_pawl_os_now();

	if (!goes_away)
		return now;
	now = away.begun + (now - away.begun) / SLOW;
	if (pawl_load_acquire(&away.armed) == 0)
		return now;
	if (away.reads++ == away.fatal) {
		pawl_store_release(&away.leave, 1);
		while (pawl_load_acquire(&away.left) == 0)
			breathe();
	}
	return away.reads > away.fatal ? now + 2 * patience : now;
}

static void *leave_when_told(void *unused)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	uint64_t before = hostages();
	struct pawl_shard *s;

	move(pthread_self(), 0);
	pawl_pool_put(&arena.pool, pawl_pool_get(&arena.pool)); /* fills the shard */
	s = pawl_shards_enter(&arena.pool.slots.shards, h);
	pawl_store_release(&somebody_has_them, 1);
	/* Both end: the get looks again and again, and reads the clock. */
	while (hostages() < before + MANY_LOOKS)
		breathe();
	pawl_store_release(&away.armed, 1);
	while (pawl_load_acquire(&away.leave) == 0)
		breathe();
	if (s != NULL)
		pawl_shards_exit(&arena.pool.slots.shards, s, h);
	pawl_store_release(&away.left, 1);
	return unused;
}

void what_came_back_in_time_is_found(void **state)
{
	const struct pawl_pool_plan plan = {
		.kind = PAWL_SHARDS_LEASED, .size = 48, .limit = 32};
	uint64_t fatal;

	(void)state;
	move(pthread_self(), 1);
	for (fatal = 0; fatal < READS; fatal++) {
		struct crew crew = {.size = 0};
		void *object;

		memset(&arena, 0, sizeof(arena));
		assert_int_equal(pawl_pool_create(&arena.pool, &plan), 0);
		memset(&away, 0, sizeof(away));
		away.fatal = fatal;
		pawl_store_release(&somebody_has_them, 0);
		crew_start(&crew, leave_when_told, NULL);
		while (pawl_load_acquire(&somebody_has_them) == 0)
			breathe();
		away.begun = now_ns();
		goes_away = true;
		object = pawl_pool_get(&arena.pool);
		goes_away = false;
		crew_join(&crew);
		assert_non_null(object);
		pawl_pool_put(&arena.pool, object);
		pawl_pool_destroy(&arena.pool);
	}
	pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
}

/* One that stays for ever is not waited for: the get ends, without. */
void what_a_stopped_thread_has_counts_as_held(void **state)
{
	const struct pawl_pool_plan plan = {
		.kind = PAWL_SHARDS_LEASED, .size = 48, .limit = 32};
	struct crew crew = {.size = 0};
	struct stopped stopped;
	void *object;

	(void)state;
	memset(&arena, 0, sizeof(arena));
	assert_int_equal(pawl_pool_create(&arena.pool, &plan), 0);
	memset(&stopped, 0, sizeof(stopped));
	stopped.shards = &arena.pool.slots.shards;
	crew_start(&crew, stop_inside, &stopped);
	while (pawl_load_acquire(&stopped.inside) == 0)
		breathe();
	assert_null(pawl_pool_get(&arena.pool));
	pawl_store_release(&stopped.go, 1);
	crew_join(&crew);
	object = pawl_pool_get(&arena.pool);
	assert_non_null(object);
	pawl_pool_put(&arena.pool, object);
	pawl_pool_destroy(&arena.pool);
}
