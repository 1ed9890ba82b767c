/* SPDX-License-Identifier: MIT */
/*
 * Shards under disturbance, in whatever mode leases are: threads that are moved,
 * stopped, killed and forked inside their sections. Each id and each object is in
 * exactly one place all the while.
 */
#define _GNU_SOURCE
#include "shards.h"
#include "harness/hang.h"

#include "lease/leases.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms)
{
	const struct timespec t = {0, ms * 1000000};

	nanosleep(&t, NULL);
}

cpu_set_t all; /* the CPUs this process may use */

/* Moves a thread to one of them. */
void move(pthread_t thread, unsigned which)
{
	cpu_set_t one;
	size_t cpu;

	which %= (unsigned)CPU_COUNT(&all);
	for (cpu = 0; !CPU_ISSET(cpu, &all) || which-- > 0; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_setaffinity_np(thread, sizeof(one), &one);
}

bool bound_to_cpus(void)
{
	return pawl_lease_mode() != PAWL_LEASE_THREAD &&
	       pawl_lease_mode() != PAWL_LEASE_FENCED;
}

/* Conservation. */

struct arena arena;

static uint64_t number_of(const void *object)
{
	return (uint64_t)((const char *)object - arena.pool.objects) / arena.pool.size;
}

static void *circulate_objects(void *argument)
{
	uint64_t me = (uint64_t)(uintptr_t)argument, round;
	void *held[HOLD] = {NULL};

	for (round = 0; round < arena.rounds; round++) {
		void **place = &held[pawl_one_in(3) ? round % 7 : round % HOLD];

		if (*place != NULL) {
			pawl_atomic64 *holder = &arena.holder[number_of(*place)];

			*(volatile uint64_t *)*place = me; /* ours alone */
			if (pawl_exchange_acq_rel(holder, 0) != me)
				pawl_fetch_add_relaxed(&arena.doubles, 1);
			pawl_pool_put(&arena.pool, *place);
			*place = NULL;
		} else if ((*place = pawl_pool_get(&arena.pool)) != NULL) {
			pawl_atomic64 *holder = &arena.holder[number_of(*place)];

			*(volatile uint64_t *)*place = me;
			if (pawl_exchange_acq_rel(holder, me) != 0)
				pawl_fetch_add_relaxed(&arena.doubles, 1);
		}
		if (pawl_one_in(512))
			sched_yield();
	}
	for (round = 0; round < HOLD; round++)
		if (held[round] != NULL) {
			pawl_exchange_acq_rel(&arena.holder[number_of(held[round])], 0);
			pawl_pool_put(&arena.pool, held[round]);
		}
	pawl_fetch_add_release(&arena.done, 1);
	return NULL;
}

/* All objects can be had, each once. */
void expect_all(struct pawl_pool *pool)
{
	bool seen[LIMIT] = {false};
	void *objects[LIMIT];
	int i;

	for (i = 0; i < LIMIT; i++) {
		uint64_t number;

		objects[i] = pawl_pool_get(pool);
		assert_non_null(objects[i]);
		number = (uint64_t)((char *)objects[i] - pool->objects) / pool->size;
		assert_false(seen[number]);
		seen[number] = true;
	}
	assert_null(pawl_pool_get(pool));
	for (i = 0; i < LIMIT; i++)
		pawl_pool_put(pool, objects[i]);
}

void arena_open(enum pawl_shards_kind kind)
{
	const struct pawl_pool_plan plan = {
		.kind = kind, .size = 48, .limit = LIMIT, .type_stable = false};

	memset(&arena, 0, sizeof(arena));
	arena.rounds = ROUNDS;
	assert_int_equal(pawl_pool_create(&arena.pool, &plan), 0);
}

static void circulate_while_disturbed(enum pawl_shards_kind kind)
{
	struct crew crew = {.size = 0};
	unsigned turn = 0;
	uintptr_t i;

	arena_open(kind);
	for (i = 1; i <= WORKERS; i++)
		crew_start(&crew, circulate_objects, (void *)i);
	/* Ends: the workers have so many rounds to do and wait for nobody. */
	while (pawl_load_acquire(&arena.done) < WORKERS) {
		const struct timespec nap = {0, 50000};

		turn++;
		if (pawl_load_acquire(&arena.done) == 0)
			move(crew.threads[turn % WORKERS], turn / WORKERS);
		for (i = 0; i < pawl_shards_used(&arena.pool.slots.shards); i++)
			if (pawl_one_in(2))
				pawl_lease_break(
					&pawl_shards_own(&arena.pool.slots.shards, i)
						 ->lease);
		if (turn % 4 == 0)
			pawl_lease_poll();
		if (turn % 8 == 0)
			pawl_pool_trim(&arena.pool);
		if (turn % 16 == 0)
			pawl_shards_reclaim(&arena.pool.slots.shards);
		nanosleep(&nap, NULL);
	}
	crew_join(&crew);
	assert_int_equal(pawl_load_relaxed(&arena.doubles), 0);
	expect_all(&arena.pool);
	pawl_pool_destroy(&arena.pool);
}

static void objects_are_conserved_under_moves_and_breaks(void **state)
{
	(void)state;
	circulate_while_disturbed(PAWL_SHARDS_LEASED);
	circulate_while_disturbed(PAWL_SHARDS_ATOMIC);
	circulate_while_disturbed(PAWL_SHARDS_RANDOM);
}

/* Signal handlers. */

static void *volatile from_handler;

static void get_in_handler(int signal)
{
	void *object = pawl_pool_get(&arena.pool);

	(void)signal;
	from_handler = pawl_pool_get(&arena.pool);
	if (object != NULL)
		pawl_pool_put(&arena.pool, object);
}

static void a_signal_handler_goes_to_the_shared_side(void **state)
{
	struct pawl_lease_handle *h = pawl_lease_self();
	struct pawl_shards_stats stats;
	struct pawl_shard *s;

	(void)state;
	arena_open(PAWL_SHARDS_LEASED);
	pawl_pool_put(&arena.pool, pawl_pool_get(&arena.pool));
	s = pawl_shards_enter(&arena.pool.slots.shards, h);
	assert_non_null(s);
	signal(SIGUSR2, get_in_handler);
	from_handler = NULL;
	raise(SIGUSR2);
	assert_non_null(from_handler);
	pawl_shards_exit(&arena.pool.slots.shards, s, h);
	pawl_shards_get_stats(&arena.pool.slots.shards, &stats);
	assert_int_equal(stats.overflows, 3);
	pawl_pool_put(&arena.pool, from_handler);
	expect_all(&arena.pool);
	pawl_pool_destroy(&arena.pool);
}

/* Threads that die inside. */

static void *die_inside(void *argument)
{
	(void)argument;
	move(pthread_self(), 0);
	pawl_pool_put(&arena.pool, pawl_pool_get(&arena.pool));
	if (pawl_shards_enter(&arena.pool.slots.shards, pawl_lease_self()) != NULL)
		pthread_exit((void *)1);
	return NULL;
}

static void a_thread_that_dies_inside_loses_nothing(void **state)
{
	int i, died = 0;

	(void)state;
	arena_open(PAWL_SHARDS_LEASED);
	for (i = 0; i < 20; i++) {
		pthread_t thread;
		void *result;

		assert_int_equal(pthread_create(&thread, NULL, die_inside, NULL), 0);
		assert_int_equal(pthread_join(thread, &result), 0);
		died += result != NULL;
	}
	assert_true(died > 0);
	expect_all(&arena.pool);
	pawl_pool_destroy(&arena.pool);
}

/* Fork. */

/* Or, if somebody was stuck inside for longer than a fork waits, nothing twice. */
static bool child_has_all_but(int missing)
{
	bool stuck = pawl_lease_stuck_in((char *)1, (char *)UINTPTR_MAX);
	bool seen[LIMIT] = {false};
	void *object;
	int n = 0;

	alarm(HANG_GUARD_S);
	while ((object = pawl_pool_get(&arena.pool)) != NULL) {
		uint64_t number = number_of(object);

		if (seen[number])
			return false;
		seen[number] = true;
		n++;
	}
	return stuck || n >= LIMIT - missing;
}

static void forks_while_others_circulate(enum pawl_shards_kind kind)
{
	/* What a worker holds, or is about to. */
	const int missing = WORKERS * (HOLD + 1);
	struct crew crew = {.size = 0};
	int forks, good = 0;
	uintptr_t i;

	arena_open(kind);
	arena.rounds *= 4;
	for (i = 1; i <= WORKERS; i++)
		crew_start(&crew, circulate_objects, (void *)i);
	for (forks = 0; forks < 32; forks++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(child_has_all_but(missing) ? 0 : 1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
		sleep_ms(1);
	}
	crew_join(&crew);
	assert_int_equal(good, forks);
	assert_int_equal(pawl_load_relaxed(&arena.doubles), 0);
	expect_all(&arena.pool);
	pawl_pool_destroy(&arena.pool);
}

static void a_forked_child_has_a_whole_pool(void **state)
{
	(void)state;
	forks_while_others_circulate(PAWL_SHARDS_LEASED);
	forks_while_others_circulate(PAWL_SHARDS_ATOMIC);
	forks_while_others_circulate(PAWL_SHARDS_RANDOM);
}

/* Growing and shrinking. */

enum { CROWD = 64 };
static pthread_barrier_t everybody;

static void touch(void)
{
	void *object = pawl_pool_get(&arena.pool);

	if (object == NULL) /* LIMIT is more than they hold */
		abort();
	pawl_pool_put(&arena.pool, object);
}

static void *use_once_together(void *argument)
{
	int i;

	(void)argument;
	pthread_barrier_wait(&everybody);
	for (i = 0; i < 100; i++) {
		touch();
		if (i % 10 == 0)
			sched_yield();
	}
	pthread_barrier_wait(&everybody);
	return NULL;
}

static uint64_t shards_in_use(void)
{
	struct pawl_shards_stats stats;

	pawl_shards_get_stats(&arena.pool.slots.shards, &stats);
	return stats.shards;
}

static void shards_go_when_the_crowd_has_gone(void **state)
{
	struct crew crew = {.size = 0};
	uint64_t most = bound_to_cpus() ? (uint64_t)sysconf(_SC_NPROCESSORS_CONF) : CROWD;
	int i, tick;

	(void)state;
	arena_open(PAWL_SHARDS_LEASED);
	pthread_barrier_init(&everybody, NULL, CROWD);
	for (i = 0; i < CROWD; i++)
		crew_start(&crew, use_once_together, NULL);
	crew_join(&crew);
	pthread_barrier_destroy(&everybody);
	assert_in_range(shards_in_use(), 1, most);
	sleep_ms(PAWL_SHARDS_LIFE_MS);
	/* One thread goes on: in all modes but CPU and RDPID, where it may come to
	 * a second CPU, its shard is the only one after three ticks. */
	if (pawl_lease_mode() == PAWL_LEASE_CPU || pawl_lease_mode() == PAWL_LEASE_RDPID)
		move(pthread_self(), 0);
	for (tick = 0; tick < 3; tick++) {
		for (i = 0; i < 1000; i++)
			touch();
		pawl_shards_maintain(&arena.pool.slots.shards);
	}
	assert_int_equal(shards_in_use(), 1);
	pawl_pool_destroy(&arena.pool);
}

static void nothing_is_asked_of_the_kernel_in_steady_state(void **state)
{
	struct pawl_lease_stats before, after;
	int i;

	(void)state;
	arena_open(PAWL_SHARDS_LEASED);
	move(pthread_self(), 0);
	pawl_pool_put(&arena.pool, pawl_pool_get(&arena.pool));
	pawl_lease_get_stats(&before);
	for (i = 0; i < 100000; i++)
		pawl_pool_put(&arena.pool, pawl_pool_get(&arena.pool));
	pawl_lease_get_stats(&after);
	assert_int_equal(after.barriers, before.barriers);
	assert_int_equal(after.breaks, before.breaks);
	/* A concurrency id may change at any time; no other one does here. */
	if (pawl_lease_mode() != PAWL_LEASE_CID)
		assert_int_equal(shards_in_use(), 1);
	pawl_pool_destroy(&arena.pool);
}

static void failures_make_shared_shards_and_quiet_unmakes_them(void **state)
{
	struct pawl_shards *shards = &arena.pool.slots.shards;
	uint64_t most;
	int i;

	(void)state;
	arena_open(PAWL_SHARDS_ATOMIC);
	most = shards->most + 1;
	assert_int_equal(shards_in_use(), 1);
	for (i = 0; i < 63; i++)
		pawl_shards_contended(shards);
	assert_int_equal(shards_in_use(), 1);
	for (i = 0; i < 64 * 20; i++)
		pawl_shards_contended(shards);
	assert_in_range(shards_in_use(), most > 1 ? 2 : 1, most);
	/* Nobody uses them: two rounds without a sign of life halve their number. */
	for (i = 0; i < 64; i++)
		pawl_shards_maintain(shards);
	assert_int_equal(shards_in_use(), 1);
	expect_all(&arena.pool);
	pawl_pool_destroy(&arena.pool);
}

/* False if PAWL_LEASE_MODE names one that is not to be had here. */
static bool asked_for_mode_is_there(void)
{
	const char *name = getenv("PAWL_LEASE_MODE");
	int mode;

	for (mode = PAWL_LEASE_CPU; name != NULL && mode <= PAWL_LEASE_FENCED; mode++)
		if (strcmp(name, pawl_lease_mode_name((enum pawl_lease_mode)mode)) == 0)
			return pawl_lease_choose((enum pawl_lease_mode)mode) != ENOTSUP;
	return true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_conserved_under_moves_and_breaks),
		cmocka_unit_test(a_thread_stopped_inside_stops_nobody),
		cmocka_unit_test(a_spare_shard_serves_beside_a_hostage),
		cmocka_unit_test(what_nobody_holds_can_be_had),
		cmocka_unit_test(what_came_back_in_time_is_found),
		cmocka_unit_test(what_a_stopped_thread_has_counts_as_held),
		cmocka_unit_test(a_signal_handler_goes_to_the_shared_side),
		cmocka_unit_test(a_thread_that_dies_inside_loses_nothing),
		cmocka_unit_test(a_forked_child_has_a_whole_pool),
		cmocka_unit_test(shards_go_when_the_crowd_has_gone),
		cmocka_unit_test(nothing_is_asked_of_the_kernel_in_steady_state),
		cmocka_unit_test(failures_make_shared_shards_and_quiet_unmakes_them),
	};

	sched_getaffinity(0, sizeof(all), &all);
	if (!asked_for_mode_is_there()) {
		puts("the mode is not to be had here");
		return 77;
	}
	print_message("leases are in mode %s\n", pawl_lease_mode_name(pawl_lease_mode()));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
